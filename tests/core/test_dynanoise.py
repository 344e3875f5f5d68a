"""The DynaNoise kernel against the float64 reference, on every instruction set."""

from __future__ import annotations

import contextlib
import functools
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dynaserve.defenses.dynanoise.reference import dynanoise_reference, sensitivity_reference

TOLERANCE = 2e-6
PAPER = (0.3, 2.0, 10.0)


def random_keys(rng: np.random.Generator, rows: int) -> NDArray[np.uint32]:
    return rng.integers(0, 2**32, (rows, 4), dtype=np.uint32)


@functools.cache
def agreement_case(k: int) -> tuple[tuple[Any, ...], NDArray[np.float64]]:
    """1,000 rows of k classes with mixed scales, and what the reference makes of them."""
    rng = np.random.default_rng(k)
    scale = rng.choice([0.1, 1, 5, 30, 1e4], (1000, 1))
    logits = (rng.standard_normal((1000, k)) * scale).clip(-1e4, 1e4).astype(np.float32)
    variance, sensitivity_scale, temperature = rng.choice([0.1, 0.3, 1, 3]), rng.uniform(0, 4), 1.0
    case = (logits, random_keys(rng, 1000), variance, sensitivity_scale, temperature)
    return case, dynanoise_reference(*case)


# 10,000 rows in all
@pytest.mark.parametrize("k", [2, 3, 10, 16, 17, 31, 33, 100, 1000, 32000])
def test_agrees_with_the_reference(core: ModuleType, k: int) -> None:
    case, expected = agreement_case(k)
    released = core.dynanoise(*case)
    assert released.dtype == np.float32
    assert np.abs(released - expected).max() <= TOLERANCE
    assert np.abs(released.sum(axis=1, dtype=np.float64) - 1).max() <= 1e-6


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("k", [2, 128, 129, 1000])
@pytest.mark.parametrize("preserve_top1", [False, True])
def test_every_dtype(
    core: ModuleType, dtype: type[np.floating[Any]], k: int, preserve_top1: bool
) -> None:
    rng = np.random.default_rng(3)
    logits = (rng.standard_normal((50, k)) * 8).astype(dtype)
    keys = random_keys(rng, 50)
    expected = dynanoise_reference(logits, keys, *PAPER, preserve_top1)
    released = core.dynanoise(logits, keys, *PAPER, preserve_top1)
    assert np.abs(released - expected).max() <= TOLERANCE


@pytest.mark.parametrize("k", [3, 200])
def test_large_float64_logits_keep_their_small_differences(core: ModuleType, k: int) -> None:
    rng = np.random.default_rng(4)
    logits = 1e4 + rng.standard_normal((40, k)) * 1e-3  # float32 could not tell these apart
    keys = random_keys(rng, 40)
    expected = dynanoise_reference(logits, keys, 1e-6, 2.0, 1e-3)
    assert np.abs(core.dynanoise(logits, keys, 1e-6, 2.0, 1e-3) - expected).max() <= TOLERANCE


@given(
    k=st.sampled_from([2, 3, 4, 5, 15, 16, 17, 63, 127, 128, 129, 130, 191, 193, 1023, 5000]),
    rows=st.integers(1, 40),
    seed=st.integers(0, 2**32 - 1),
    scale=st.sampled_from([0.0, 1e-3, 1.0, 100.0, 1e4]),
    masked=st.floats(0, 1),
    dtype=st.sampled_from([np.float16, np.float32, np.float64]),
    variance=st.floats(0, 10),
    sensitivity_scale=st.floats(0, 10),
    temperature=st.floats(0.5, 100),
)
def test_any_batch_agrees_with_the_reference(
    core: ModuleType,
    k: int,
    rows: int,
    seed: int,
    scale: float,
    masked: float,
    dtype: type[np.floating[Any]],
    variance: float,
    sensitivity_scale: float,
    temperature: float,
) -> None:
    rng = np.random.default_rng(seed)
    logits = (rng.standard_normal((rows, k)) * scale).clip(-1e4, 1e4).astype(dtype)
    mask = rng.random((rows, k)) < masked
    mask[np.arange(rows), rng.integers(0, k, rows)] = False
    logits[mask] = -np.inf
    case = (logits, random_keys(rng, rows), variance, sensitivity_scale, temperature)
    released = core.dynanoise(*case)
    assert np.abs(released - dynanoise_reference(*case)).max() <= TOLERANCE
    assert np.all(released[mask] == 0)
    assert np.abs(released.sum(axis=1, dtype=np.float64) - 1).max() <= 1e-6


@given(
    axes=st.permutations([0, 1, 2]),
    steps=st.tuples(*[st.sampled_from([1, 2, 3, -1, -2])] * 3),
    k=st.sampled_from([2, 7, 140]),
    dtype=st.sampled_from([np.float16, np.float32, np.float64]),
)
def test_any_strides_give_the_same_bytes(
    core: ModuleType,
    axes: list[int],
    steps: tuple[int, int, int],
    k: int,
    dtype: type[np.floating[Any]],
) -> None:
    rng = np.random.default_rng(5)
    shape = np.array([3, 5, k])[np.argsort(axes)] * np.abs(np.array(steps)[np.argsort(axes)])
    whole = rng.standard_normal(shape).astype(dtype)
    logits = whole.transpose(axes)[tuple(slice(None, None, step) for step in steps)][:3, :5, :k]
    logits.flags.writeable = False
    keys = random_keys(rng, logits[..., 0].size)
    packed = np.ascontiguousarray(logits)
    np.testing.assert_array_equal(
        core.dynanoise(logits, keys, *PAPER), core.dynanoise(packed, keys, *PAPER)
    )
    np.testing.assert_array_equal(core.sensitivity(logits), core.sensitivity(packed))


def test_broadcast_and_unaligned_input(core: ModuleType) -> None:
    keys = random_keys(np.random.default_rng(6), 20)
    row = np.linspace(-1, 1, 9, dtype=np.float32)
    repeated = np.broadcast_to(row, (20, 9))
    expected = core.dynanoise(np.tile(row, (20, 1)), keys, *PAPER)
    np.testing.assert_array_equal(core.dynanoise(repeated, keys, *PAPER), expected)
    shifted = np.frombuffer(b"x" + repeated.tobytes(), np.uint8)[1:].view(np.float32)
    assert not shifted.flags.aligned
    np.testing.assert_array_equal(core.dynanoise(shifted.reshape(20, 9), keys, *PAPER), expected)


@pytest.mark.parametrize("k", [2, 10, 100, 128, 129, 1000])
@pytest.mark.parametrize("preserve_top1", [False, True])
def test_a_row_does_not_depend_on_the_batch_around_it(
    core: ModuleType, k: int, preserve_top1: bool
) -> None:
    rng = np.random.default_rng(8)
    logits = rng.standard_normal((50, k)).astype(np.float32)
    keys = random_keys(rng, 50)
    whole = core.dynanoise(logits, keys, *PAPER, preserve_top1)
    for size in (1, 2, 15, 17, 33):
        for start in (0, 7, 50 - size):
            part = slice(start, start + size)
            np.testing.assert_array_equal(
                core.dynanoise(logits[part], keys[part], *PAPER, preserve_top1), whole[part]
            )
    order = rng.permutation(50)
    np.testing.assert_array_equal(
        core.dynanoise(logits[order], keys[order], *PAPER, preserve_top1), whole[order]
    )


@pytest.mark.parametrize("k", [10, 1000])
def test_threads_change_nothing(core: ModuleType, k: int) -> None:
    rng = np.random.default_rng(9)
    rows = 400_003 // k
    logits, keys = rng.standard_normal((rows, k)).astype(np.float32), random_keys(rng, rows)
    one = core.dynanoise(logits, keys, *PAPER)
    for threads in (2, 3, 7):
        np.testing.assert_array_equal(core.dynanoise(logits, keys, *PAPER, threads=threads), one)
        np.testing.assert_array_equal(
            core.sensitivity(logits, threads=threads), core.sensitivity(logits)
        )


def test_callers_in_several_threads_get_their_own_answers(core: ModuleType) -> None:
    rng = np.random.default_rng(10)
    cases = [
        (rng.standard_normal((64, 100)).astype(np.float32), random_keys(rng, 64), *PAPER)
        for _ in range(16)
    ]
    expected = [core.dynanoise(*case) for case in cases]
    with ThreadPoolExecutor(4) as pool:
        for released, wanted in zip(
            pool.map(lambda case: core.dynanoise(*case), cases * 8), expected * 8, strict=True
        ):
            np.testing.assert_array_equal(released, wanted)


@pytest.mark.parametrize("k", [2, 10, 128, 129, 3000])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_preserve_top1_keeps_the_label_strictly(
    core: ModuleType, k: int, dtype: type[np.floating[Any]]
) -> None:
    rng = np.random.default_rng(11)
    logits = rng.standard_normal((300, k)).astype(dtype)
    logits[:100] = np.round(logits[:100])  # ties
    logits[100] = 0
    noisy = (3.0, 2.0, 1.0)
    released = core.dynanoise(logits, random_keys(rng, 300), *noisy, preserve_top1=True)
    label = logits.argmax(axis=1)
    np.testing.assert_array_equal(released.argmax(axis=1), label)
    top = released[np.arange(300), label]
    others = released.copy()
    others[np.arange(300), label] = -1
    assert np.all(top > others.max(axis=1))
    assert np.all(top <= 1)
    plain = core.dynanoise(logits, random_keys(rng, 300), *noisy)
    assert np.any(plain.argmax(axis=1) != label)


def test_preserve_top1_only_swaps_and_raises_by_one_step(core: ModuleType) -> None:
    rng = np.random.default_rng(12)
    logits, keys = rng.standard_normal((200, 6)).astype(np.float32), random_keys(rng, 200)
    plain = core.dynanoise(logits, keys, 3.0, 2.0, 1.0)
    kept = core.dynanoise(logits, keys, 3.0, 2.0, 1.0, True)
    rows, label, winner = np.arange(200), logits.argmax(axis=1), plain.argmax(axis=1)
    plain[rows, label], plain[rows, winner] = plain[rows, winner], plain[rows, label]
    plain[rows, label] = np.nextafter(plain[rows, label], np.float32(2))
    np.testing.assert_array_equal(kept, plain)


@pytest.mark.parametrize("k", [3, 150])
def test_float64_label_is_decided_in_float64(core: ModuleType, k: int) -> None:
    logits = np.zeros((1, k))
    logits[0, k - 1] = 1e-60  # vanishes in float32, and the lowest index would win
    released = core.dynanoise(logits, np.zeros((1, 4), np.uint32), *PAPER, preserve_top1=True)
    assert released.argmax() == k - 1


def test_saturated_rows_stay_probabilities(core: ModuleType) -> None:
    logits = np.array([[1e4, -1e4, 0], [-1e4, -1e4, -1e4], [0, -np.inf, -np.inf]], np.float32)
    released = core.dynanoise(logits, np.ones((3, 4), np.uint32), 0.3, 2.0, 1.0, True)
    np.testing.assert_array_equal(released[0], np.array([1, 0, 0], np.float32))
    np.testing.assert_array_equal(released[2], np.array([1, 0, 0], np.float32))
    assert abs(released[1].sum() - 1) < 1e-6


def test_no_noise_is_a_softmax(core: ModuleType) -> None:
    logits = np.random.default_rng(13).standard_normal((9, 40))
    e = np.exp(logits / 2)
    released = core.dynanoise(logits, np.zeros((9, 4), np.uint32), 0.0, 5.0, 2.0)
    np.testing.assert_allclose(released, e / e.sum(axis=1, keepdims=True), atol=TOLERANCE)


@pytest.mark.parametrize("k", [2, 10, 128, 129, 20_000, 200_000])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_sensitivity_agrees_with_the_reference(
    core: ModuleType, k: int, dtype: type[np.floating[Any]]
) -> None:
    rng = np.random.default_rng(14)
    scale = np.array([[0], [1e-3], [1], [8], [1e4]])
    logits = (rng.standard_normal((5, k)) * scale).clip(-1e4, 1e4).astype(dtype)
    logits[4, 1:] = -np.inf
    sensitivity = core.sensitivity(logits)
    assert sensitivity.shape == (5,)
    np.testing.assert_allclose(sensitivity, sensitivity_reference(logits), atol=1e-6)
    assert np.all((sensitivity >= 0) & (sensitivity <= 1))
    assert sensitivity[0] < 1e-6  # uniform
    assert sensitivity[4] == 1  # certain


def test_very_many_classes(core: ModuleType) -> None:
    rng = np.random.default_rng(15)
    logits = rng.standard_normal((2, 200_000)).astype(np.float32)
    keys = random_keys(rng, 2)
    released = core.dynanoise(logits, keys, *PAPER)
    assert np.abs(released.sum(axis=1, dtype=np.float64) - 1).max() <= 1e-6
    np.testing.assert_allclose(released, dynanoise_reference(logits, keys, *PAPER), atol=1e-9)


def test_single_row_and_leading_axes(core: ModuleType) -> None:
    rng = np.random.default_rng(16)
    logits, keys = rng.standard_normal((2, 3, 5)).astype(np.float32), random_keys(rng, 6)
    released = core.dynanoise(logits, keys, *PAPER)
    assert released.shape == (2, 3, 5)
    assert core.sensitivity(logits).shape == (2, 3)
    np.testing.assert_array_equal(core.dynanoise(logits[1, 2], keys[5:], *PAPER), released[1, 2])


def test_empty_batches(core: ModuleType) -> None:
    for shape in ((0, 5), (0, 3, 200), (3, 0, 7)):
        empty = np.zeros(shape, np.float32)
        released = core.dynanoise(empty, np.zeros((0, 4), np.uint32), *PAPER)
        assert released.shape == shape
        assert core.sensitivity(empty).shape == shape[:-1]


@pytest.mark.parametrize("k", [5, 300])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.nan, "row 21 holds NaN at class 3; logits must be finite"),
        (np.inf, r"row 21 holds \+inf at class 3; logits must be finite"),
        (-np.inf, "row 21 is -inf in every class; at least one class must be finite"),
    ],
)
def test_a_bad_row_is_named(
    core: ModuleType, k: int, dtype: type[np.floating[Any]], value: float, message: str
) -> None:
    logits = np.zeros((40, k), dtype)
    logits[21, 3 if value != -np.inf else slice(None)] = value
    logits[30, 0] = np.nan  # not the first
    keys = np.zeros((40, 4), np.uint32)
    with pytest.raises(ValueError, match=message):
        core.dynanoise(logits, keys, *PAPER)
    with pytest.raises(ValueError, match=message):
        core.sensitivity(logits)


def test_the_first_bad_row_is_named_whatever_thread_met_it(core: ModuleType) -> None:
    logits = np.zeros((40_000, 5), np.float32)
    logits[[13_000, 27_000, 39_999], 1] = np.nan
    keys = np.zeros((40_000, 4), np.uint32)
    with pytest.raises(ValueError, match="row 13000 holds NaN"):
        core.dynanoise(logits, keys, *PAPER, threads=4)


def test_a_bad_row_is_named_by_all_its_indices(core: ModuleType) -> None:
    logits = np.zeros((2, 3, 4))
    logits[1, 2, 0] = np.nan
    with pytest.raises(ValueError, match="row 1, 2 holds NaN at class 0"):
        core.sensitivity(logits)
    with pytest.raises(ValueError, match="the row holds NaN at class 0"):
        core.sensitivity(logits[1, 2])


@pytest.mark.parametrize(
    ("logits", "message"),
    [
        (np.zeros((3, 1)), r"1 class\(es\).*at least 2"),
        (np.zeros((3, 0)), r"0 class\(es\).*at least 2"),
        (np.zeros(()), "single number"),
        (np.zeros((3, 4), np.int64), "dtype int64; they must be float16, float32 or float64"),
        (np.zeros((3, 4), bool), "dtype bool"),
        (np.zeros((3, 4), object), "dtype object"),
        (np.zeros((3, 4), complex), "dtype complex128"),
        (np.zeros((3, 4), ">f4"), "native byte order"),
        (np.zeros((3, 4), np.longdouble), "float16, float32 or float64"),
    ],
)
def test_bad_logits_are_refused(core: ModuleType, logits: NDArray[Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        core.dynanoise(logits, np.zeros((3, 4), np.uint32), *PAPER)
    with pytest.raises(ValueError, match=message):
        core.sensitivity(logits)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (np.zeros((2, 4), np.uint32), r"row_keys has shape \(2, 4\); it must be \(3, 4\)"),
        (np.zeros((3, 2), np.uint32), r"it must be \(3, 4\)"),
        (np.zeros(12, np.uint32), r"it must be \(3, 4\)"),
        (np.zeros((3, 4), np.int32), "dtype int32; it must be uint32"),
        (np.zeros((3, 4), np.uint64), "dtype uint64; it must be uint32"),
    ],
)
def test_bad_row_keys_are_refused(core: ModuleType, keys: NDArray[Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        core.dynanoise(np.zeros((3, 4)), keys, *PAPER)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ((-0.1, 2, 10), "base_variance is -0.1; it must be between 0 and"),
        ((np.nan, 2, 10), "base_variance is nan"),
        ((np.inf, 2, 10), "base_variance is inf"),
        ((0.3, -1, 10), "sensitivity_scale is -1; it must be between 0 and"),
        ((0.3, 2, 0), "temperature is 0; it must be between 1e-30 and"),
        ((0.3, 2, -1), "temperature is -1; it must be between 1e-30 and"),
        ((0.3, 2, np.nan), "temperature is nan"),
        ((0.3, 2, 1e-40), "temperature is 1e-40"),
        ((0.3, 2, 1e46), r"temperature is 1e\+46; .* and 1e\+30"),
        ((1e20, 1e20, 1e20), r"base_variance \* \(1 \+ sensitivity_scale\) is 1e\+40"),
        ((1e20, 1, 1e-25), "the largest noise / temperature is"),
    ],
)
def test_bad_parameters_are_refused(
    core: ModuleType, parameters: tuple[float, float, float], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        core.dynanoise(np.zeros((1, 2)), np.zeros((1, 4), np.uint32), *parameters)


def test_threads_must_be_positive(core: ModuleType) -> None:
    with pytest.raises(ValueError, match="threads is 0; it must be at least 1"):
        core.sensitivity(np.zeros((1, 2)), threads=0)


@pytest.mark.parametrize("k", [4, 150])
@pytest.mark.parametrize(
    "parameters",
    [(0.3, 2, 1e30), (1e30, 0, 1e10), (1e14, 1e15, 1e30), (1e-30, 1, 1e-30), (0, 0, 1)],
)
def test_the_largest_parameters_still_give_probabilities(
    core: ModuleType, k: int, parameters: tuple[float, float, float]
) -> None:
    rng = np.random.default_rng(17)
    logits = (rng.standard_normal((40, k)) * 1e4).astype(np.float32)
    logits[:, 1] = -np.inf
    for preserve_top1 in (False, True):
        released = core.dynanoise(logits, random_keys(rng, 40), *parameters, preserve_top1)
        assert np.abs(released.sum(axis=1, dtype=np.float64) - 1).max() <= 1e-6
        assert np.all(released[:, 1] == 0)


def test_unaligned_row_keys(core: ModuleType) -> None:
    logits, keys = np.zeros((5, 3), np.float32), random_keys(np.random.default_rng(18), 5)
    shifted = np.frombuffer(b"x" + keys.tobytes(), np.uint8)[1:].view(np.uint32).reshape(5, 4)
    assert not shifted.flags.aligned
    np.testing.assert_array_equal(
        core.dynanoise(logits, shifted, *PAPER), core.dynanoise(logits, keys, *PAPER)
    )


@pytest.mark.parametrize("k", [8, 200])
def test_logits_written_to_meanwhile_harm_nobody_else(core: ModuleType, k: int) -> None:
    rng = np.random.default_rng(19)
    logits = rng.standard_normal((64, k)).astype(np.float32)
    values = [logits.copy(), -logits, np.full_like(logits, -np.inf)]
    keys, stop = random_keys(rng, 64), threading.Event()

    def write() -> None:
        while not stop.is_set():
            for value in values:
                logits[:] = value

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(200):
            with contextlib.suppress(ValueError):
                core.dynanoise(logits, keys, *PAPER, preserve_top1=True)
            with contextlib.suppress(ValueError):
                core.rank_template(logits, np.full(k, 0.9), np.array([0.5, 0.3]), 0.1)
    finally:
        stop.set()
        writer.join()


def test_threads_that_cannot_start_are_done_without() -> None:
    script = """
import resource, numpy as np
from dynaserve import _core
logits = np.random.default_rng(0).standard_normal((20_000, 100)).astype(np.float32)
keys = np.zeros((20_000, 4), np.uint32)
alone = _core.dynanoise(logits, keys, 0.3, 2.0, 10.0)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 64 * 2**20,) * 2)  # room for some stacks, not for 60
assert np.array_equal(_core.dynanoise(logits, keys, 0.3, 2.0, 10.0, threads=60), alone)
"""
    if not Path("/proc/self/statm").exists():
        pytest.skip("the limit is set by what Linux counts")
    if "LD_PRELOAD" in os.environ:
        pytest.skip("AddressSanitizer reserves more address space than the limit leaves")
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
