"""The oracle against its definition, written as a loop."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dynaserve import _core
from dynaserve.defenses.rank_template.reference import rank_template_reference


def literal(z: list[float], confidence: list[float], w: list[float], tail: float) -> list[float]:
    order = sorted(range(len(z)), key=lambda j: (-z[j], j))
    top = confidence[order[0]]
    p = [0.0] * len(z)
    for rank, j in enumerate(order):
        share = w[rank - 1] if 0 < rank <= len(w) else tail
        if z[j] != -np.inf:
            p[j] = top if rank == 0 else (1 - top) * share
    return [value / sum(p) for value in p]


@given(st.data())
def test_the_release_is_its_definition(data: st.DataObject) -> None:
    classes = data.draw(st.integers(2, 9))
    values = st.one_of(st.integers(-2, 2), st.just(-np.inf), st.floats(-1e4, 1e4))
    z = data.draw(hnp.arrays(np.float64, (3, classes), elements=values))
    z[:, 0] = np.where(np.isneginf(z).all(axis=1), 0, z[:, 0])
    unit = st.floats(0.05, 0.95)
    confidence = data.draw(hnp.arrays(np.float64, classes, elements=unit))
    weights = data.draw(hnp.arrays(np.float64, st.integers(1, classes + 2), elements=unit))
    got = rank_template_reference(z, confidence, weights, 0.01)
    expected = [literal(list(row), list(confidence), list(weights), 0.01) for row in z]
    np.testing.assert_allclose(got, expected, atol=1e-12)
    np.testing.assert_allclose(
        _core.rank_template(z, confidence, weights, 0.01), expected, atol=1e-6
    )


def test_shapes_are_kept_and_bad_rows_named() -> None:
    confidence, weights = np.full(4, 0.6), np.array([0.5])
    z = np.zeros((2, 3, 4), np.float16)
    assert rank_template_reference(z, confidence, weights, 0.25).shape == (2, 3, 4)
    assert rank_template_reference(z[:, :0], confidence, weights, 0.25).shape == (2, 0, 4)
    with pytest.raises(ValueError, match=r"confidence: needs shape \(4,\), got \(3,\)"):
        rank_template_reference(z, confidence[:3], weights, 0.25)
    z[1, 0, 2] = np.nan
    with pytest.raises(ValueError, match="row 1, 0 holds NaN"):
        rank_template_reference(z, confidence, weights, 0.25)
