"""The compiled core: functions of numbers, no policy. Source: ``csrc/module.cpp``.

They are pure but for one count, `labels_kept`.

Logits are numpy arrays (..., k), k >= 2, of float16, float32 or float64 in native byte order,
with any strides, read-only too; n is the number of rows. A row must be finite except for -inf,
which masks a class. The GIL is released, and no row's result depends on the batch around it or
on ``threads``. Bad input is a ``ValueError`` that names the first bad row and no value.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

def isa() -> str:
    """Return the instruction set in use: ``scalar``, ``avx2``, ``avx512`` or ``neon``.

    The widest that this build has and this processor runs, or the one that ``DYNASERVE_ISA``
    named when this module was imported.
    """

def available_isas() -> list[str]:
    """Return the instruction sets that may be used here, narrowest first."""

def dynanoise(
    logits: NDArray[Any],
    row_keys: NDArray[np.uint32],
    base_variance: float,
    sensitivity_scale: float,
    temperature: float,
    preserve_top1: bool = False,
    threads: int = 1,
) -> NDArray[np.float32]:
    """Return softmax((x + s g) / T), float32 (..., k), with s^2 = base_variance (1 + scale R).

    ``row_keys`` is (n, 4), columns k0, k1, c2, c3 of the Philox counter. The formulas are in
    ``dynaserve.defenses.dynanoise.reference``; the result agrees with it to 2e-6 for logits up to
    1e4 in size while s / T <= 10. Beyond, what is added grows and float32 rounds it in proportion.
    """

def labels_kept() -> int:
    """Return how many rows of all calls so far got their label back by ``preserve_top1``.

    Counted are the rows where the noise had moved it, over all threads of this process. A call
    that raised counts nothing. The count is for many calls at once: around a single one it would
    tell what its noise did, and so must stay inside the process.
    """

def sensitivity(logits: NDArray[Any], threads: int = 1) -> NDArray[np.float32]:
    """Return R = clamp(1 - H / log k, 0, 1) of each row, float32 (...)."""

def rank_template(
    logits: NDArray[Any],
    confidence: NDArray[Any],
    rank_weights: NDArray[Any],
    tail_weight: float,
    threads: int = 1,
) -> NDArray[np.float32]:
    """Return template probabilities, float32 (..., k), from the order of the top classes alone.

    ``confidence`` is (k,), in [1e-30, 1], by top class; ``rank_weights`` is (R,), R <= 127. The
    definition is in ``dynaserve.defenses.rank_template.reference``.
    """

def canonical_bytes(array: NDArray[Any]) -> bytes:
    """Return the bytes of an array in C order, little-endian, with one zero and one NaN.

    For booleans, integers, floats of at most 8 bytes and complex numbers of two such floats.
    """

def siphash(key: bytes, data: bytes, rows: int) -> NDArray[np.uint64]:
    """Return SipHash-2-4 of each of so many equal parts of the data, (rows,); the key is 16 bytes.

    Source: Aumasson and Bernstein, SipHash: a fast short-input PRF (2012).
    """

def blake2b(key: bytes, prefix: bytes, data: bytes, rows: int) -> NDArray[np.uint32]:
    """Return 128 bits of keyed BLAKE2b of the prefix and each of so many equal parts of the data.

    Words of a digest in its own order, (rows, 4); the key has 1 to 64 bytes. Source: RFC 7693.
    """

def count_seen(table: NDArray[np.uint64], hashes: NDArray[np.uint64]) -> int:
    """Return how many hashes (n,) are in their places in a table, and put each in its place.

    A hash has the place of its lowest bits, so that the table's size is a power of two. Zeros are
    empty places, so that the hash 0 counts as seen in a fresh table.
    """

def philox4x32(counters: NDArray[np.uint32], keys: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return the Philox4x32-10 words, (n, 4), for counters (n, 4) and keys (n, 2)."""

def elementary(name: str, x: NDArray[Any]) -> NDArray[np.float32]:
    """Return the kernels' own function of x (n,), so that its error can be measured.

    ``exp`` (x <= 0) and ``log`` (x > 0) take float32; ``sin`` and ``cos`` take uint32 words w
    and give the function of 2 pi w / 2^32.
    """
