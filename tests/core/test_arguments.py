"""A call that does not fit is refused without printing what was passed."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

LOGITS = np.array([[1.2345, 6.789]])
KEYS = np.full((1, 4), 3735928559, np.uint32)

Call = Callable[[ModuleType], Any]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda core: core.dynanoise(LOGITS, KEYS, "1.2345", 2, 1), "base_variance must be a num"),
        (lambda core: core.dynanoise(LOGITS, KEYS, 1, None, 1), "not NoneType"),
        (lambda core: core.dynanoise(LOGITS, KEYS, 1, 2, [6.789]), "temperature must be a number"),
        (lambda core: core.dynanoise(LOGITS, KEYS, 1, 2, 1, LOGITS), "must be True or False"),
        (lambda core: core.dynanoise(LOGITS, KEYS, 1, 2, 1, threads="2"), "threads must be a num"),
        (lambda core: core.dynanoise(LOGITS, KEYS), r"do not fit dynanoise\(logits, row_keys"),
        (lambda core: core.dynanoise(LOGITS, KEYS, 1, 2, 1, False, 2, 3), "do not fit dynanoise"),
        (lambda core: core.dynanoise(LOGITS, KEYS, 1, 2, 1, seed=1), "do not fit dynanoise"),
        (lambda core: core.sensitivity(LOGITS, 2, 3), "do not fit sensitivity"),
        (lambda core: core.rank_template(LOGITS), "do not fit rank_template"),
        (lambda core: core.philox4x32(KEYS), "do not fit philox4x32"),
        (lambda core: core.elementary("exp"), "do not fit elementary"),
    ],
)
def test_a_call_that_does_not_fit(core: ModuleType, call: Call, message: str) -> None:
    with pytest.raises(TypeError, match=message) as refusal:
        call(core)
    for value in ("1.2345", "6.789", "3735928559"):
        assert value not in str(refusal.value)


@pytest.mark.parametrize("logits", [[[1.2345, 6.789], [1.2345]], "1.2345", [["1.2345", "6.789"]]])
def test_what_is_no_array_of_numbers(core: ModuleType, logits: Any) -> None:
    with pytest.raises(ValueError, match="logits") as refusal:
        core.sensitivity(logits)
    assert "1.2345" not in str(refusal.value)


def test_nested_lists_and_numpy_scalars_are_fine(core: ModuleType) -> None:
    released = core.dynanoise(LOGITS.tolist(), KEYS, np.float32(0.5), 2, np.int64(3), np.True_)
    np.testing.assert_array_equal(released, core.dynanoise(LOGITS, KEYS, 0.5, 2.0, 3.0, True))


def test_elementary_reads_native_bytes_only(core: ModuleType) -> None:
    with pytest.raises(ValueError, match="one row of float32"):
        core.elementary("exp", np.ones(3, ">f4"))
