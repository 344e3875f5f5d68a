r"""DynaNoise as plainly as its formulas, in float64 numpy: the oracle of every faster path.

It exists to be read and to be compared against. It may not be optimized, and it decides no
key. The numbers, exactly:

Random words. Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
SC 2011). A row key is four words k0, k1, c2, c3; counter (b, 0, c2, c3) under key (k0, k1)
gives the words r0..r3 of classes 4b..4b+3.

Normals. With u(r) = ((r >> 8) + 1) / 2^24, which float32 holds exactly and which lies in (0, 1]::

    g_(4b)   = sqrt(-2 ln u(r0)) cos(2 pi r1 / 2^32)
    g_(4b+1) = sqrt(-2 ln u(r0)) sin(2 pi r1 / 2^32)

and g_(4b+2), g_(4b+3) the same from r2 and r3.

Release, for one row x of k classes, masked ones (-inf) counted in k::

    m = max x;  e_j = exp(x_j - m);  Z = sum e_j;  S = sum e_j (x_j - m)    # 0 where e_j = 0
    H = ln Z - S / Z;  R = clamp(1 - H / ln k, 0, 1);  s^2 = base_variance (1 + scale R)
    y = ((x - m) + s g) / T;  p = softmax(y)

Label. With preserve_top1, c is the lowest index of max x and j the lowest index of max p; if
they differ, p_c and p_j are swapped; then p_c is raised by one float32 step, 1 + 2^-23, and
capped at 1, in every row, so that the lead is strict and says nothing of a swap.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynaserve.defenses.rows import require_logits, unwrap

_CHUNK = 1 << 20
_WORD = np.uint64(0xFFFFFFFF)
_MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_KEY_STEPS = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)


def philox4x32(counters: NDArray[np.uint32], keys: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return the Philox4x32-10 words, uint32 (n, 4), of counters (n, 4) under keys (n, 2)."""
    c0, c1, c2, c3 = counters.astype(np.uint64).T
    k0, k1 = keys.astype(np.uint64).T
    shift = np.uint64(32)
    for _ in range(10):
        low, high = _MULTIPLIERS[0] * c0, _MULTIPLIERS[1] * c2
        c0, c1 = (high >> shift) ^ c1 ^ k0, high & _WORD
        c2, c3 = (low >> shift) ^ c3 ^ k1, low & _WORD
        k0, k1 = (k0 + _KEY_STEPS[0]) & _WORD, (k1 + _KEY_STEPS[1]) & _WORD
    return np.stack([c0, c1, c2, c3], axis=-1).astype(np.uint32)


def normals(row_keys: NDArray[np.uint32], k: int) -> NDArray[np.float64]:
    """Return the standard normal variates, (n, k), of row keys uint32 (n, 4)."""
    rows, blocks = len(row_keys), -(-k // 4)
    counters = np.zeros((rows, blocks, 4), np.uint32)
    counters[:, :, 0] = np.arange(blocks)
    counters[:, :, 2:] = row_keys[:, None, 2:]
    keys = np.broadcast_to(row_keys[:, None, :2], (rows, blocks, 2))
    words = philox4x32(counters.reshape(-1, 4), keys.reshape(-1, 2)).reshape(rows, blocks, 2, 2)
    radius = np.sqrt(-2 * np.log(((words[..., 0] >> 8) + 1.0) / 2**24))
    angle = 2 * math.pi * (words[..., 1] / 2**32)
    pairs = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1)
    return pairs.reshape(rows, 4 * blocks)[:, :k]


def sensitivity_reference(logits: NDArray[Any]) -> NDArray[np.float64]:
    """Return R in [0, 1] of each row of logits (..., k); shape (...).

    Raises
    ------
    ValueError
        For logits that have no softmax, as `dynanoise_reference` does.
    """
    x = _checked(logits)
    flat = x.reshape(-1, x.shape[-1])
    sensitivity = np.empty(len(flat))
    for rows in _chunks(flat):
        sensitivity[rows] = _sensitivity(_shifted(flat[rows]))
    return sensitivity.reshape(x.shape[:-1])


def dynanoise_reference(  # noqa: PLR0917 (the kernel's own signature)
    logits: NDArray[Any],
    row_keys: NDArray[np.uint32],
    base_variance: float,
    sensitivity_scale: float,
    temperature: float,
    preserve_top1: bool = False,
) -> NDArray[np.float64]:
    """Return defended probabilities of the shape of ``logits``.

    Parameters
    ----------
    logits
        (..., k), any float dtype; n rows in all.
    row_keys
        uint32 (n, 4): columns k0, k1, c2, c3.
    base_variance, sensitivity_scale
        Not negative, finite.
    temperature
        Positive, finite.

    Raises
    ------
    ValueError
        For a parameter outside its range, keys of another shape, k < 2, or naming the first
        row with NaN, with +inf or of -inf alone.
    """
    _check_parameters(base_variance, sensitivity_scale, temperature)
    x = _checked(logits)
    flat = x.reshape(-1, x.shape[-1])
    if row_keys.shape != (len(flat), 4) or row_keys.dtype != np.uint32:
        raise ValueError(
            f"row_keys: needs uint32 ({len(flat)}, 4), got {row_keys.dtype} {row_keys.shape}"
        )
    released = np.empty_like(flat)
    for rows in _chunks(flat):
        shifted = _shifted(flat[rows])
        variance = base_variance * (1 + sensitivity_scale * _sensitivity(shifted))
        noise = np.sqrt(variance)[:, None] * normals(row_keys[rows], shifted.shape[1])
        p = _softmax(shifted + noise, temperature)
        released[rows] = _keep_label(flat[rows], p) if preserve_top1 else p
    return released.reshape(x.shape)


def _check_parameters(variance: float, scale: float, temperature: float) -> None:
    for name, value in (("base_variance", variance), ("sensitivity_scale", scale)):
        if not (math.isfinite(value) and value >= 0):
            raise ValueError(f"{name}: must be finite and at least 0")
    if not (math.isfinite(temperature) and temperature > 0):
        raise ValueError("temperature: must be finite and more than 0")


def _checked(logits: NDArray[Any]) -> NDArray[np.float64]:
    x = unwrap(logits).values.astype(np.float64)
    require_logits(x)
    return x


def _chunks(flat: NDArray[np.float64]) -> list[slice]:
    """Cut the rows so that the temporaries stay small at 200,000 classes."""
    step = max(1, _CHUNK // flat.shape[1])
    return [slice(start, start + step) for start in range(0, len(flat), step)]


def _shifted(x: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(over="ignore"):
        return np.asarray(x - x.max(axis=1, keepdims=True))


def _sensitivity(shifted: NDArray[np.float64]) -> NDArray[np.float64]:
    e = np.exp(shifted)
    total = e.sum(axis=1)
    weighted = np.multiply(e, shifted, out=np.zeros_like(e), where=e > 0).sum(axis=1)
    entropy = np.log(total) - weighted / total
    return np.asarray(np.clip(1 - entropy / math.log(shifted.shape[1]), 0, 1))


def _softmax(y: NDArray[np.float64], temperature: float) -> NDArray[np.float64]:
    # The maximum goes before the division: a tiny temperature must not make inf - inf.
    with np.errstate(over="ignore"):
        e = np.exp((y - y.max(axis=1, keepdims=True)) / temperature)
    return np.asarray(e / e.sum(axis=1, keepdims=True))


def _keep_label(x: NDArray[np.float64], p: NDArray[np.float64]) -> NDArray[np.float64]:
    rows = np.arange(len(x))
    label, winner = x.argmax(axis=1), p.argmax(axis=1)
    p[rows, label], p[rows, winner] = p[rows, winner], p[rows, label]
    p[rows, label] = np.minimum(1, p[rows, label] * (1 + 2**-23))
    return p
