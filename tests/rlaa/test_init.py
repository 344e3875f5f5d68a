"""What `dynaserve.rlaa` offers is there, and loads when it is first used."""

from __future__ import annotations

import subprocess
import sys

import pytest

from dynaserve import rlaa
from dynaserve.rlaa import spans


def test_every_name_that_is_offered_is_there() -> None:
    assert {name: getattr(rlaa, name) for name in rlaa.__all__}.keys() <= {*dir(rlaa)}
    assert rlaa.utf16 is spans.utf16
    assert rlaa.utf16("🙂 Porto", rlaa.Span(2, 7)) == rlaa.Span(3, 8)


def test_a_name_that_is_not_offered_is_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'utf32'"):
        getattr(rlaa, "utf32")  # noqa: B009 - mypy would find it out


def test_nothing_is_loaded_before_it_is_used() -> None:
    code = "import sys, dynaserve.rlaa; print([m for m in sys.modules if 'rlaa.' in m])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
