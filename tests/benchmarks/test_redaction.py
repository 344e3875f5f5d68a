from __future__ import annotations

import re

from benchmarks.redaction import SEARCHED, module_of


def test_every_pattern_that_is_timed_is_one() -> None:
    for layers, names in SEARCHED.items():
        for name in names:
            assert isinstance(getattr(module_of(layers), f"_{name}"), re.Pattern)
