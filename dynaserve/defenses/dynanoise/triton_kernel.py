"""DynaNoise on GPU tensors, in Triton: the formulas and the random words of `csrc/dynanoise`.

Equal row keys give equal noise on either device, within float32 rounding. Rows that fit the
registers of one program are read once and written once (`single_pass`); longer ones are cut
into chunks that run side by side, in three launches (`chunk_statistics`, `chunk_noise`,
`chunk_release`), so that a few long rows fill the device too. Nothing here decides a key.

A row with NaN, +infinity or nothing but -infinity has a Z that is not positive, and so is found
without a look of its own. The bytes of a row depend on its logits, its key, the parameters and
the dtype, never on its batch or on where it lies.
"""
# Triton's habits: constants in capitals, arguments by position, no types.
# ruff: noqa: D401, N803, PLR0917
# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators

from __future__ import annotations

import math

import torch
import triton
import triton.language as tl
from triton.language.random import philox_impl

from dynaserve.defenses.gpu import CHUNK, SINGLE_PASS, DeviceRows, Tile, aligned
from dynaserve.defenses.triton_rows import flag, load, lowest, wide


@triton.jit
def _log(x):
    """Natural logarithm of a normal x > 0 (csrc/simd/math.h): tl.log is off by 2^-22 near 1."""
    bits = x.to(tl.int32, bitcast=True)
    e = (bits - 0x3F3504F3) >> 23
    f = (bits - (e << 23)).to(tl.float32, bitcast=True) - 1.0
    p = 0.08702241629362106 * f - 0.14270302653312683
    p = p * f + 0.14915402233600616
    p = p * f - 0.1657729148864746
    p = p * f + 0.19962984323501587
    p = p * f - 0.25001344084739685
    p = p * f + 0.333339124917984
    p = p * f - 0.5
    p = p * f + 1.0
    power = e.to(tl.float32)
    return power * 0.693359375 + (power * -2.12194440e-4 + f * p)


@triton.jit
def _sincos_turn(r):
    """Sine and cosine of 2 pi r / 2^32, the angle of a random word (csrc/simd/math.h)."""
    t = (r << 2).to(tl.int32, bitcast=True).to(tl.float32) * 2.3283064365386963e-10
    q = t * t
    s = -0.004685805179178715 * q + 0.07971249520778656
    s = s * q - 0.645966649055481
    s = t * (s * q + 1.5707963705062866)
    c = -0.020414529368281364 * q + 0.25360238552093506
    c = c * q - 1.2336976528167725
    c = c * q + 1.0
    quarter = (r + 0x20000000) >> 30
    odd = (quarter & 1) != 0
    sin = tl.where(odd, c, s)
    cos = tl.where(odd, s, c)
    sin = tl.where((quarter & 2) != 0, -sin, sin)
    cos = tl.where(((quarter + 1) & 2) != 0, -cos, cos)
    return sin, cos


@triton.jit
def _box_muller(r, angle):
    u = ((r >> 8) + 1).to(tl.int32).to(tl.float32) * 5.9604644775390625e-08
    radius = tl.sqrt_rn(-2.0 * _log(u))
    sin, cos = _sincos_turn(angle)
    return radius * cos, radius * sin


@triton.jit
def _words(keys, row, inside, block):
    """Four Philox4x32-10 words of each block, block being uint32 (rows, blocks) or (blocks)."""
    k0 = tl.load(keys + 4 * row, mask=inside, other=0).to(tl.uint32, bitcast=True)
    k1 = tl.load(keys + 4 * row + 1, mask=inside, other=0).to(tl.uint32, bitcast=True)
    c2 = tl.load(keys + 4 * row + 2, mask=inside, other=0).to(tl.uint32, bitcast=True)
    c3 = tl.load(keys + 4 * row + 3, mask=inside, other=0).to(tl.uint32, bitcast=True)
    zero = tl.zeros_like(block)
    return philox_impl(block, zero, zero + c2, zero + c3, zero + k0, zero + k1)


@triton.jit
def _normals(keys, row, inside, block):
    """Standard normals of the four classes of each block, in the order of the classes."""
    r0, r1, r2, r3 = _words(keys, row, inside, block)
    g0, g1 = _box_muller(r0, r1)
    g2, g3 = _box_muller(r2, r3)
    return tl.interleave(tl.interleave(g0, g2), tl.interleave(g1, g3))


@triton.jit
def _finite_or_zero(m):
    return tl.where(m > -float("inf"), m, 0.0)


@triton.jit
def _statistics(x):
    """m, x - m, Z and S of each row; the maximum comes off in the dtype of x, before rounding."""
    m = tl.max(x, -1)
    d = (x - wide(_finite_or_zero(m), x)).to(tl.float32)
    e = tl.exp(d)
    return m, d, tl.sum(e, -1), tl.sum(tl.where(e > 0, e * d, 0.0), -1)


@triton.jit
def _sensitivity(z, s, inverse_log_k):
    h = _log(z) - s / z
    return tl.minimum(tl.maximum(1.0 - h * inverse_log_k, 0.0), 1.0)


@triton.jit
def _deviation(r, variance, sensitivity_scale):
    return tl.sqrt_rn(variance * (1.0 + sensitivity_scale * r))


@triton.jit
def _with_label(p, column, label, winner, own, largest):
    """Swap the label's and the winner's values, then raise the label by one float32 step."""
    raised = (largest.to(tl.int32, bitcast=True) + 1).to(tl.float32, bitcast=True)
    p = tl.where(column == winner, own, p)
    return tl.where(column == label, tl.minimum(raised, 1.0), p)


@triton.jit(do_not_specialize=["n", "row_stride"])
def single_pass(
    logits, row_stride, keys, out, first_bad, n, k,
    variance, sensitivity_scale, inverse_t, inverse_log_k,
    PRESERVE_TOP1: tl.constexpr, UNIT: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Whole rows, ROWS to a program. row_stride and k come divided by UNIT."""
    k = k * UNIT
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    row = rows[:, None]
    column = tl.arange(0, COLUMNS)[None, :]
    inside = (row < n) & (column < k)
    x = load(logits, row, column, row_stride.to(tl.int64) * UNIT, inside)
    m, d, z, s = _statistics(x)
    flag(first_bad, rows, ~(z > 0) & (rows < n))
    deviation = _deviation(_sensitivity(z, s, inverse_log_k), variance, sensitivity_scale)
    block = tl.zeros((ROWS, COLUMNS // 4), tl.uint32)
    block += tl.arange(0, COLUMNS // 4).to(tl.uint32)[None, :]
    g = _normals(keys, row, row < n, block)
    y = (d + deviation[:, None] * g) * inverse_t
    e = tl.exp(y - tl.max(y, 1)[:, None])
    p = e * (1.0 / tl.sum(e, 1))[:, None]
    if PRESERVE_TOP1:
        label = lowest(x == m[:, None], column, k)[:, None]
        largest = tl.max(p, 1)[:, None]
        winner = lowest(p == largest, column, k)[:, None]
        own = tl.sum(tl.where(column == label, p, 0.0), 1)[:, None]
        p = _with_label(p, column, label, winner, own, largest)
    tl.store(out + row * k + column, p, mask=inside)


@triton.jit(do_not_specialize=["row_stride"])
def chunk_statistics(
    logits, row_stride, maxima, totals, weighted, labels, k,
    UNIT: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Maximum, Z, S and first maximal column of each chunk, (n, chunks) each."""
    k = k * UNIT
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    x = load(logits, row, column, row_stride.to(tl.int64) * UNIT, column < k)
    m, _, z, s = _statistics(x)
    at = row * tl.num_programs(1) + tl.program_id(1)
    tl.store(maxima + at, m)
    tl.store(totals + at, z)
    tl.store(weighted + at, s)
    tl.store(labels + at, lowest(x == m, column, k))


@triton.jit
def _of_chunks(values, row, chunks, other, CHUNKS: tl.constexpr):
    """One value for each chunk of a row, (CHUNKS); `other` beyond the last chunk."""
    chunk = tl.arange(0, CHUNKS)
    return tl.load(values + row * chunks + chunk, mask=chunk < chunks, other=other)


@triton.jit
def _whole_row(maxima, totals, weighted, row, chunks, CHUNKS: tl.constexpr):
    """m, Z and S of a row from those of its chunks (the online softmax)."""
    m_chunk = _of_chunks(maxima, row, chunks, -float("inf"), CHUNKS)
    z_chunk = _of_chunks(totals, row, chunks, 0.0, CHUNKS)
    s_chunk = _of_chunks(weighted, row, chunks, 0.0, CHUNKS)
    m = tl.max(m_chunk, 0)
    d = (m_chunk - m).to(tl.float32)
    e = tl.exp(d)
    s = tl.sum(tl.where(e > 0, e * (s_chunk + z_chunk * d), 0.0), 0)
    return m, tl.sum(e * z_chunk, 0), s


@triton.jit
def _first_of_chunks(tops, columns, top, row, chunks, k, CHUNKS: tl.constexpr):
    """The lowest of `columns`, one for each chunk, among the chunks that hold the row's top."""
    hit = _of_chunks(tops, row, chunks, -float("inf"), CHUNKS) == top
    return lowest(hit, _of_chunks(columns, row, chunks, k, CHUNKS), k)


@triton.jit
def row_sensitivity(
    maxima, totals, weighted, out, first_bad, chunks, inverse_log_k, CHUNKS: tl.constexpr
):
    """R of each row from its chunks' statistics."""
    row = tl.program_id(0).to(tl.int64)
    _, z, s = _whole_row(maxima, totals, weighted, row, chunks, CHUNKS)
    flag(first_bad, row, ~(z > 0))
    tl.store(out + row, _sensitivity(z, s, inverse_log_k))


@triton.jit(do_not_specialize=["row_stride"])
def chunk_noise(
    logits, row_stride, keys, out, first_bad, k,
    maxima, totals, weighted, labels, tops, noisy_totals, winners, row_label, row_own,
    variance, sensitivity_scale, inverse_t, inverse_log_k,
    PRESERVE_TOP1: tl.constexpr, UNIT: tl.constexpr,
    COLUMNS: tl.constexpr, CHUNKS: tl.constexpr,
):  # fmt: skip
    """Noisy logits y into out; the largest of each chunk, and its sum of exp(y - largest)."""
    k = k * UNIT
    row = tl.program_id(0).to(tl.int64)
    chunk = tl.program_id(1)
    chunks = tl.num_programs(1)
    column = chunk * COLUMNS + tl.arange(0, COLUMNS)
    m, z, s = _whole_row(maxima, totals, weighted, row, chunks, CHUNKS)
    flag(first_bad, row, ~(z > 0))
    deviation = _deviation(_sensitivity(z, s, inverse_log_k), variance, sensitivity_scale)
    x = load(logits, row, column, row_stride.to(tl.int64) * UNIT, column < k)
    block = (chunk * (COLUMNS // 4) + tl.arange(0, COLUMNS // 4)).to(tl.uint32)
    g = _normals(keys, row, True, block)
    y = ((x - m).to(tl.float32) + deviation * g) * inverse_t
    top = tl.max(y, 0)
    tl.store(out + row * k + column, y, mask=column < k)
    tl.store(tops + row * chunks + chunk, top)
    tl.store(noisy_totals + row * chunks + chunk, tl.sum(tl.exp(y - _finite_or_zero(top)), 0))
    if PRESERVE_TOP1:
        tl.store(winners + row * chunks + chunk, lowest(y == top, column, k))
        label = _first_of_chunks(maxima, labels, m, row, chunks, k, CHUNKS)
        own = tl.sum(tl.where(column == label, y, 0.0), 0)
        tl.store(row_label + row, label, mask=label // COLUMNS == chunk)
        tl.store(row_own + row, own, mask=label // COLUMNS == chunk)


@triton.jit
def chunk_release(
    out, k, tops, noisy_totals, winners, row_label, row_own,
    PRESERVE_TOP1: tl.constexpr, UNIT: tl.constexpr,
    COLUMNS: tl.constexpr, CHUNKS: tl.constexpr,
):  # fmt: skip
    """Turn the noisy logits in out into probabilities, in place."""
    k = k * UNIT
    row = tl.program_id(0).to(tl.int64)
    chunks = tl.num_programs(1)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    top_chunk = _of_chunks(tops, row, chunks, -float("inf"), CHUNKS)
    z_chunk = _of_chunks(noisy_totals, row, chunks, 0.0, CHUNKS)
    top = tl.max(top_chunk, 0)
    scale = 1.0 / tl.sum(tl.exp(top_chunk - top) * z_chunk, 0)
    y = tl.load(out + row * k + column, mask=column < k, other=-float("inf"))
    p = tl.exp(y - top) * scale
    if PRESERVE_TOP1:
        winner = _first_of_chunks(tops, winners, top, row, chunks, k, CHUNKS)
        own = tl.exp(tl.load(row_own + row) - top) * scale
        p = _with_label(p, column, tl.load(row_label + row), winner, own, scale)
    tl.store(out + row * k + column, p, mask=column < k)


def dynanoise(
    logits: torch.Tensor,
    row_keys: torch.Tensor,
    base_variance: float,
    sensitivity_scale: float,
    temperature: float,
    preserve_top1: bool = False,
) -> torch.Tensor:
    """Return defended probabilities, float32, of the shape and on the device of ``logits``.

    Parameters
    ----------
    logits
        (..., k), float16, bfloat16, float32 or float64, any strides; n rows in all.
    row_keys
        int32 or uint32 (n, 4) on the same device: columns k0, k1, c2, c3.
    base_variance, sensitivity_scale, temperature
        As `DynaNoiseConfig` bounds them.

    Raises
    ------
    ValueError
        For keys of another shape, dtype or device, k < 2, or naming the first row with NaN, with
        +inf or of -inf alone.
    """
    rows = DeviceRows.of(logits)
    n, k = rows.values.shape
    keys = _checked_keys(row_keys, rows)
    out = torch.empty(logits.shape, dtype=torch.float32, device=logits.device)
    if n == 0:
        return out
    first_bad = rows.first_bad()
    parameters = (base_variance, sensitivity_scale, 1 / temperature, 1 / math.log(k))
    form = _whole if k <= SINGLE_PASS else _split
    with torch.cuda.device_of(logits):
        form(rows, keys, out, first_bad, parameters, preserve_top1)
    rows.refuse(first_bad)
    return out


def sensitivity(logits: torch.Tensor) -> torch.Tensor:
    """Return R in [0, 1], float32, of each row of ``logits`` (..., k), on its device.

    Raises
    ------
    ValueError
        As `dynanoise`.
    """
    rows = DeviceRows.of(logits)
    n, k = rows.values.shape
    out = torch.empty(logits.shape[:-1], dtype=torch.float32, device=logits.device)
    if n == 0:
        return out
    first_bad = rows.first_bad()
    with torch.cuda.device_of(logits):
        maxima, totals, weighted, _ = _chunk_statistics(rows)
        chunks = maxima.shape[1]
        row_sensitivity[(n,)](
            maxima, totals, weighted, out, first_bad, chunks, 1 / math.log(k),
            CHUNKS=triton.next_power_of_2(chunks), num_warps=1,
        )  # fmt: skip
    rows.refuse(first_bad)
    return out


def _checked_keys(row_keys: torch.Tensor, rows: DeviceRows) -> torch.Tensor:
    n = len(rows.values)
    if row_keys.shape != (n, 4) or row_keys.dtype not in {torch.int32, torch.uint32}:
        raise ValueError(
            f"row_keys: needs int32 or uint32 ({n}, 4), "
            f"got {row_keys.dtype} {tuple(row_keys.shape)}"
        )
    if row_keys.device != rows.values.device:
        raise ValueError(f"row_keys: are on {row_keys.device}, the logits on {rows.values.device}")
    return aligned(row_keys)


def _whole(
    rows: DeviceRows,
    keys: torch.Tensor,
    out: torch.Tensor,
    first_bad: torch.Tensor,
    parameters: tuple[float, ...],
    preserve_top1: bool,
) -> None:
    n, k = rows.values.shape
    tile = Tile.of(k)
    single_pass[(triton.cdiv(n, tile.rows),)](
        rows.values, rows.stride_units, keys, out, first_bad, n, k // rows.unit, *parameters,
        PRESERVE_TOP1=preserve_top1, UNIT=rows.unit, ROWS=tile.rows, COLUMNS=tile.columns,
        num_warps=tile.warps,
    )  # fmt: skip


def _split(
    rows: DeviceRows,
    keys: torch.Tensor,
    out: torch.Tensor,
    first_bad: torch.Tensor,
    parameters: tuple[float, ...],
    preserve_top1: bool,
) -> None:
    n, k = rows.values.shape
    statistics = _chunk_statistics(rows)
    chunks = statistics[0].shape[1]
    noisy = (*_buffers(rows, chunks, 2, torch.float32), *_buffers(rows, chunks, 1, torch.int32))
    label = (*_buffers(rows, 1, 1, torch.int32), *_buffers(rows, 1, 1, torch.float32))
    shared = {
        "PRESERVE_TOP1": preserve_top1,
        "UNIT": rows.unit,
        "COLUMNS": CHUNK,
        "CHUNKS": triton.next_power_of_2(chunks),
        "num_warps": Tile.of(CHUNK).warps,
    }
    chunk_noise[(n, chunks)](
        rows.values, rows.stride_units, keys, out, first_bad, k // rows.unit,
        *statistics, *noisy, *label, *parameters, **shared,
    )  # fmt: skip
    chunk_release[(n, chunks)](out, k // rows.unit, *noisy, *label, **shared)


def _chunk_statistics(rows: DeviceRows) -> tuple[torch.Tensor, ...]:
    """Return maximum, Z, S and first maximal column of every chunk, (n, chunks) each."""
    n, k = rows.values.shape
    tile = Tile.of(min(k, CHUNK))
    chunks = triton.cdiv(k, tile.columns)
    double = rows.values.dtype == torch.float64
    statistics = (
        *_buffers(rows, chunks, 1, torch.float64 if double else torch.float32),
        *_buffers(rows, chunks, 2, torch.float32),
        *_buffers(rows, chunks, 1, torch.int32),
    )
    chunk_statistics[(n, chunks)](
        rows.values, rows.stride_units, *statistics, k // rows.unit,
        UNIT=rows.unit, COLUMNS=tile.columns, num_warps=tile.warps,
    )  # fmt: skip
    return statistics


def _buffers(
    rows: DeviceRows, chunks: int, count: int, dtype: torch.dtype
) -> tuple[torch.Tensor, ...]:
    # Views of one tensor would be aligned or not as the batch has it; see DeviceRows.
    n = len(rows.values)
    return tuple(rows.values.new_empty((n, chunks), dtype=dtype) for _ in range(count))
