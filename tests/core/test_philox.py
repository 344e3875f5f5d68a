from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from dynaserve.defenses.dynanoise.reference import philox4x32

# Random123, kat_vectors: philox4x32, 10 rounds: counter, key, words
KNOWN_ANSWERS = [
    (
        (0x00000000, 0x00000000, 0x00000000, 0x00000000),
        (0x00000000, 0x00000000),
        (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8),
    ),
    (
        (0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF),
        (0xFFFFFFFF, 0xFFFFFFFF),
        (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD),
    ),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


@pytest.mark.parametrize(("counter", "key", "words"), KNOWN_ANSWERS)
def test_known_answers(
    core: ModuleType, counter: tuple[int, ...], key: tuple[int, ...], words: tuple[int, ...]
) -> None:
    counters, keys = np.array([counter], np.uint32), np.array([key], np.uint32)
    assert tuple(core.philox4x32(counters, keys)[0]) == words
    assert tuple(philox4x32(counters, keys)[0]) == words


def test_words_equal_the_reference(core: ModuleType) -> None:
    rng = np.random.default_rng(7)
    counters = rng.integers(0, 2**32, (5000, 4), dtype=np.uint32)
    keys = rng.integers(0, 2**32, (5000, 2), dtype=np.uint32)
    np.testing.assert_array_equal(core.philox4x32(counters, keys), philox4x32(counters, keys))


@pytest.mark.parametrize(
    ("counters", "keys", "message"),
    [
        (np.zeros((2, 3), np.uint32), np.zeros((2, 2), np.uint32), r"counters .*\(2, 4\)"),
        (np.zeros((2, 4), np.uint32), np.zeros((1, 2), np.uint32), r"keys .*\(2, 2\)"),
        (np.zeros((2, 4), np.int32), np.zeros((2, 2), np.uint32), r"counters .*int32.*uint32"),
    ],
)
def test_bad_words_are_refused(
    core: ModuleType, counters: np.ndarray, keys: np.ndarray, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        core.philox4x32(counters, keys)
