"""The one count of the core: labels that noise had moved and ``preserve_top1`` gave back."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

NOISY = (3.0, 2.0, 1.0)


def case(rows: int, k: int, dtype: Any = np.float32) -> tuple[NDArray[Any], NDArray[np.uint32]]:
    """Return logits with ties and masks in some rows, and row keys."""
    rng = np.random.default_rng([rows, k])
    logits = rng.standard_normal((rows, k)) * 2
    logits[::3] = np.round(logits[::3])
    logits[1::7, : k // 2] = -np.inf
    return logits.astype(dtype), rng.integers(0, 2**32, (rows, 4), dtype=np.uint32)


def moved(core: ModuleType, logits: NDArray[Any], keys: NDArray[np.uint32]) -> int:
    """Count in numpy the rows whose label the same noise moves where nothing gives it back."""
    plain = core.dynanoise(logits, keys, *NOISY)
    return int((plain.argmax(axis=-1) != logits.argmax(axis=-1)).sum())


def kept(core: ModuleType, *arguments: Any, **options: Any) -> int:
    """Return by how much one call raises the count."""
    before = core.labels_kept()
    core.dynanoise(*arguments, **options)
    return int(core.labels_kept() - before)


# rows side by side up to 128 classes, with every remainder of 16 lanes; along the row above
@pytest.mark.parametrize("k", [2, 3, 10, 128, 129, 1000])
@pytest.mark.parametrize("rows", [1, 2, 7, 15, 16, 17, 33, 500])
def test_it_grows_by_the_labels_that_the_noise_moved(core: ModuleType, rows: int, k: int) -> None:
    logits, keys = case(rows, k)
    assert kept(core, logits, keys, *NOISY, True) == moved(core, logits, keys)


@pytest.mark.parametrize("k", [10, 200])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_it_counts_for_every_dtype_and_stride(core: ModuleType, dtype: Any, k: int) -> None:
    logits, keys = case(300, k, dtype)
    expected = moved(core, logits, keys)
    assert 0 < expected < 300
    assert kept(core, logits, keys, *NOISY, True) == expected
    assert kept(core, np.asfortranarray(logits), keys, *NOISY, True) == expected
    leading = logits.reshape(3, 100, k)
    assert kept(core, leading, keys, *NOISY, True) == expected


def test_the_lowest_of_tied_classes_is_the_label(core: ModuleType) -> None:
    tied = np.zeros((400, 5), np.float32)
    keys = np.random.default_rng(1).integers(0, 2**32, (400, 4), dtype=np.uint32)
    plain = core.dynanoise(tied, keys, *NOISY)
    assert kept(core, tied, keys, *NOISY, True) == int((plain.argmax(axis=1) != 0).sum())
    assert kept(core, tied, keys, 0.0, 2.0, 1.0, True) == 0


def test_only_protection_counts(core: ModuleType) -> None:
    logits, keys = case(200, 10)
    assert moved(core, logits, keys) > 0
    assert kept(core, logits, keys, *NOISY) == 0
    assert kept(core, logits[:0], keys[:0], *NOISY, True) == 0


@pytest.mark.parametrize("k", [10, 200])
def test_a_refused_call_counts_nothing(core: ModuleType, k: int) -> None:
    logits, keys = case(100, k)
    logits[99, 1] = np.nan
    before = core.labels_kept()
    with pytest.raises(ValueError, match="row 99 holds NaN"):
        core.dynanoise(logits, keys, *NOISY, True)
    assert core.labels_kept() == before


@pytest.mark.parametrize("k", [10, 1000])
def test_threads_of_one_call_and_of_many_lose_no_count(core: ModuleType, k: int) -> None:
    logits, keys = case(400_000 // k, k)
    expected = moved(core, logits, keys)
    assert kept(core, logits, keys, *NOISY, True, threads=5) == expected
    before = core.labels_kept()
    with ThreadPoolExecutor(8) as pool:
        calls = [pool.submit(core.dynanoise, logits, keys, *NOISY, True) for _ in range(16)]
        for call in calls:
            call.result()
    assert core.labels_kept() - before == 16 * expected
