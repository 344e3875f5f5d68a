"""The RankTemplate kernel against its plain numpy definition, on every instruction set."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dynaserve.defenses.rank_template.reference import rank_template_reference

CLASSES = [2, 3, 4, 5, 10, 16, 17, 63, 64, 65, 127, 128, 129, 200, 1000]


def template(k: int, ranks: int, seed: int = 0) -> tuple[NDArray[Any], NDArray[Any], float]:
    """Confidence, weights and tail such that every row sums to 1."""
    rng = np.random.default_rng(seed)
    weights = np.sort(rng.random(ranks))[::-1] + 0.5
    tail = 0.3
    below = max(0, k - 1 - ranks)
    total = weights[: k - 1].sum() + tail * below
    return rng.uniform(0.6, 0.95, k), weights / total, tail / total


def batch(rng: np.random.Generator, rows: int, k: int, dtype: Any) -> NDArray[Any]:
    """Rows with many ties, some masked classes, some long runs in order."""
    logits = rng.standard_normal((rows, k)) * 3
    logits[::3] = np.round(logits[::3])
    logits[1::5] = np.sort(logits[1::5], axis=1)
    logits[2::7][rng.random((len(logits[2::7]), k)) < 0.4] = -np.inf
    logits[:, k // 2] = rng.standard_normal(rows)
    return logits.astype(dtype)


@pytest.mark.parametrize("k", CLASSES)
@pytest.mark.parametrize("ranks", [0, 1, 3, 8, 127])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_agrees_with_the_reference(
    core: ModuleType, k: int, ranks: int, dtype: type[np.floating[Any]]
) -> None:
    logits = batch(np.random.default_rng(k + ranks), 37, k, dtype)
    parameters = template(k, ranks)
    released = core.rank_template(logits, *parameters)
    assert released.dtype == np.float32
    np.testing.assert_allclose(released, rank_template_reference(logits, *parameters), atol=1e-7)
    assert np.abs(released.sum(axis=1, dtype=np.float64) - 1).max() <= 1e-6
    assert np.all(released[np.isneginf(logits)] == 0)


@given(
    order=st.permutations(range(40)),
    first=st.lists(st.floats(-1e4, 1e4, width=32), min_size=40, max_size=40, unique=True),
    second=st.lists(st.floats(-1e4, 1e4, width=32), min_size=40, max_size=40, unique=True),
    shuffle=st.permutations(range(36)),
    k=st.sampled_from([5, 40]),
)
def test_output_depends_on_the_order_of_the_top_four_alone(
    core: ModuleType,
    order: list[int],
    first: list[float],
    second: list[float],
    shuffle: list[int],
    k: int,
) -> None:
    classes = [c for c in order if c < k]
    below = [classes[4:][i] for i in shuffle if i < k - 4]
    rows = np.empty((2, k), np.float32)
    rows[0, classes] = np.sort(np.array(first[:k], np.float32))[::-1]
    rows[1, classes[:4] + below] = np.sort(np.array(second[:k], np.float32))[::-1]
    one, other = core.rank_template(rows, *template(k, 3))
    assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("k", [10, 500])
def test_float64_order_is_decided_in_float64(core: ModuleType, k: int) -> None:
    logits = np.zeros((1, k))
    logits[0, 4], logits[0, 7] = 1 + 1e-12, 1 + 2e-12  # equal in float32
    logits[0, 2] = 5.0
    confidence, weights, tail = template(k, 3)
    released = core.rank_template(logits, confidence, weights, tail)[0]
    assert list(np.argsort(-released, kind="stable")[:3]) == [2, 7, 4]


@pytest.mark.parametrize("k", [3, 128, 129, 1000])
def test_ties_go_to_the_lowest_index(core: ModuleType, k: int) -> None:
    confidence, weights, tail = template(k, 1)
    released = core.rank_template(np.zeros((1, k), np.float32), confidence, weights, tail)[0]
    assert released[0] == np.float32(confidence[0])
    np.testing.assert_allclose(released[1], (1 - confidence[0]) * weights[0], rtol=1e-6)


def test_float32_confidence_is_read_as_it_is(core: ModuleType) -> None:
    logits = batch(np.random.default_rng(2), 37, 20, np.float32)
    confidence, weights, tail = template(20, 3)
    single = confidence.astype(np.float32)
    np.testing.assert_array_equal(
        core.rank_template(logits, single, weights, tail),
        core.rank_template(logits, single.astype(np.float64), weights, tail),
    )
    unaligned = np.frombuffer(b"x" + single.tobytes(), np.uint8)[1:].view(np.float32)
    np.testing.assert_array_equal(
        core.rank_template(logits, unaligned, weights, tail),
        core.rank_template(logits, single, weights, tail),
    )
    apart = np.repeat(single, 2)[::2]
    np.testing.assert_array_equal(
        core.rank_template(logits, apart, weights, tail),
        core.rank_template(logits, single, weights, tail),
    )


@pytest.mark.parametrize("k", [6, 300])
def test_strides_batches_and_threads_change_nothing(core: ModuleType, k: int) -> None:
    rng = np.random.default_rng(1)
    whole = rng.standard_normal((2000, 2 * k)).astype(np.float32)
    logits, parameters = whole[:, ::2], template(k, 3)
    expected = core.rank_template(np.ascontiguousarray(logits), *parameters)
    for threads in (1, 3):
        np.testing.assert_array_equal(
            core.rank_template(logits, *parameters, threads=threads), expected
        )
    np.testing.assert_array_equal(core.rank_template(logits[5:6], *parameters), expected[5:6])
    np.testing.assert_array_equal(core.rank_template(logits[9], *parameters), expected[9])


@pytest.mark.parametrize("k", [4, 300])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.nan, "row 21 holds NaN at class 3"),
        (np.inf, r"row 21 holds \+inf at class 3"),
        (-np.inf, "row 21 is -inf in every class"),
    ],
)
def test_a_bad_row_is_named(
    core: ModuleType, k: int, dtype: type[np.floating[Any]], value: float, message: str
) -> None:
    logits = np.zeros((40, k), dtype)
    logits[21, 3 if value != -np.inf else slice(None)] = value
    with pytest.raises(ValueError, match=message):
        core.rank_template(logits, *template(k, 3))


@pytest.mark.parametrize(
    ("confidence", "weights", "tail", "message"),
    [
        (
            np.full(4, 0.9),
            np.array([0.5]),
            0.1,
            r"confidence has shape \(4,\).* \(5,\)",
        ),
        (
            np.full(6, 0.9),
            np.array([0.5]),
            0.1,
            r"confidence has shape \(6,\).* \(5,\)",
        ),
        (np.full(5, 1.1), np.array([0.5]), 0.1, r"not in \[1e-30, 1\]"),
        (np.full(5, 0.0), np.array([0.5]), 0.1, r"not in \[1e-30, 1\]"),
        (np.full(5, 1e-320), np.array([0.0]), 0.0, r"not in \[1e-30, 1\]"),
        (np.full(5, np.nan), np.array([0.5]), 0.1, r"not in \[1e-30, 1\]"),
        (np.full(5, 0.9), np.array([-0.5]), 0.1, "rank_weights is -0.5"),
        (np.full(5, 0.9), np.array([[0.5]]), 0.1, r"rank_weights has shape \(1, 1\)"),
        (np.full(5, 0.9), np.full(128, 0.5), 0.1, "128 values; at most 127"),
        (np.full(5, 0.9), np.array([0.5]), -0.1, "tail_weight is -0.1"),
        (np.full(5, 0.9), np.array([0.5]), np.nan, "tail_weight is nan"),
        (np.full(5, 0.9), np.array([1e308] * 4), 0.1, r"rank_weights is 1e\+308"),
        (np.full(5, 0.9), np.array([0.5]), 1e308, r"tail_weight is 1e\+308"),
        (np.full(5, "0.9"), np.array([0.5]), 0.1, "confidence .* dtype .U3; .* real numbers"),
        (np.full(5, 0.9 + 0j), np.array([0.5]), 0.1, "dtype complex128; .* real numbers"),
    ],
)
def test_bad_templates_are_refused(
    core: ModuleType, confidence: NDArray[Any], weights: NDArray[Any], tail: float, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        core.rank_template(np.zeros((2, 5), np.float32), confidence, weights, tail)
