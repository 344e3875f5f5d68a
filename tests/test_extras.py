from __future__ import annotations

import pytest

from dynaserve.extras import needing


def test_what_is_missing_is_named_with_the_extra_that_has_it() -> None:
    with (
        pytest.raises(
            ImportError, match=r'^a chart needs ink: pip install "dynaserve\[audit\]"$'
        ) as caught,
        needing("a chart needs ink", extra="audit"),
    ):
        import no_such_library  # noqa: F401
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)


def test_what_else_fails_passes() -> None:
    with pytest.raises(ValueError, match=r"^odd$"), needing("a chart needs ink", extra="audit"):
        raise ValueError("odd")
    with needing("a chart needs ink", extra="audit"):
        import json  # noqa: F401
