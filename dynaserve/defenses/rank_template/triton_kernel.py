"""The release of a rank template on GPU tensors, in Triton; mirrors `csrc/rank_template`.

The top classes are found one after another: the largest value that comes after the last one,
ties by lower index. A row that fits one program's registers is read once; a longer one is cut
into chunks, whose top classes are the candidates for the row's. float64 logits are compared as
float64. It may read nothing of a row but the order of its top classes and which are masked.
"""
# Triton's habits: constants in capitals, arguments by position, no types.
# ruff: noqa: D401, N803, PLR0917
# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators

from __future__ import annotations

import torch
import triton
import triton.language as tl

from dynaserve.defenses.gpu import CHUNK, SINGLE_PASS, DeviceRows, Tile, aligned
from dynaserve.defenses.triton_rows import flag, load, lowest, wide


@triton.jit
def _count(hit):
    return tl.sum(hit.to(tl.int32), -1)


@triton.jit
def _before(like):
    """A value and an index that come before every other: `like` holds a value for each row."""
    return tl.zeros_like(like) + float("inf"), tl.zeros_like(like).to(tl.int32) - 1


@triton.jit
def _following(value, index, v, j, k):
    """The first (value, index) after (v, j): values fall, ties by index, (-inf, _) at the end."""
    v, j = wide(v, value), wide(j, value)
    after = (value < v) | ((value == v) & (index > j))
    v = tl.max(tl.where(after, value, -float("inf")), -1)
    return v, lowest(after & (value == wide(v, value)), index, k)


@triton.jit
def _release(
    value, index, x, column, masked, confidence, rank_weights, tail_weight, k, RANKS: tl.constexpr
):
    """Probabilities of x, whose rows' top classes are among (value, index); the top value."""
    top_value = tl.max(value, -1)
    v, j = _before(top_value)
    v, label = _following(value, index, v, j, k)
    j = label
    top = tl.load(confidence + label, mask=label < k, other=1.0)
    rest = 1.0 - top
    shares = tail_weight * (k - masked - 1).to(tl.float32)
    p = tl.zeros_like(x).to(tl.float32) + wide(rest * tail_weight, x)
    for rank in range(RANKS):
        v, j = _following(value, index, v, j, k)
        weight = tl.load(rank_weights + rank)
        shares += tl.where(v > -float("inf"), weight - tail_weight, 0.0)
        p = tl.where(column == wide(j, x), wide(rest * weight, x), p)
    p = tl.where(column == wide(label, x), wide(top, x), p)
    p *= wide(1.0 / (top + rest * shares), x)
    return tl.where(x == -float("inf"), 0.0, p), top_value


@triton.jit(do_not_specialize=["n", "row_stride"])
def single_pass(
    logits, row_stride, confidence, rank_weights, tail_weight, out, first_bad, n, k,
    RANKS: tl.constexpr, UNIT: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Whole rows, ROWS to a program. row_stride and k come divided by UNIT."""
    k = k * UNIT
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    row = rows[:, None]
    column = tl.arange(0, COLUMNS)[None, :]
    inside = (row < n) & (column < k)
    x = load(logits, row, column, row_stride.to(tl.int64) * UNIT, inside)
    masked = _count((x == -float("inf")) & inside)
    p, top = _release(x, column, x, column, masked, confidence, rank_weights, tail_weight, k, RANKS)
    bad = (top == -float("inf")) | (_count(~(x < float("inf"))) > 0)
    flag(first_bad, rows, bad & (rows < n))
    tl.store(out + row * k + column, p, mask=inside)


@triton.jit(do_not_specialize=["row_stride"])
def chunk_top(
    logits, row_stride, values, indices, masked, first_bad, k,
    RANKS: tl.constexpr, UNIT: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """The top RANKS + 1 classes of each chunk, (n, chunks, RANKS + 1), and its masked ones."""
    k = k * UNIT
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    x = load(logits, row, column, row_stride.to(tl.int64) * UNIT, column < k)
    flag(first_bad, row, _count(~(x < float("inf"))) > 0)
    at = row * tl.num_programs(1) + tl.program_id(1)
    tl.store(masked + at, _count((x == -float("inf")) & (column < k)))
    v, j = _before(tl.max(x, 0))
    for rank in range(RANKS + 1):
        v, j = _following(x, column, v, j, k)
        tl.store(values + at * (RANKS + 1) + rank, v)
        tl.store(indices + at * (RANKS + 1) + rank, j)


@triton.jit(do_not_specialize=["row_stride"])
def chunk_release(
    logits, row_stride, values, indices, masked,
    confidence, rank_weights, tail_weight, out, first_bad, k,
    RANKS: tl.constexpr, UNIT: tl.constexpr, COLUMNS: tl.constexpr,
    CHUNKS: tl.constexpr, CANDIDATES: tl.constexpr,
):  # fmt: skip
    """Probabilities of one chunk, from the candidates of its row."""
    k = k * UNIT
    row = tl.program_id(0).to(tl.int64)
    chunks = tl.num_programs(1)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    x = load(logits, row, column, row_stride.to(tl.int64) * UNIT, column < k)
    chunk = tl.arange(0, CHUNKS)
    hidden = tl.sum(tl.load(masked + row * chunks + chunk, mask=chunk < chunks, other=0), 0)
    candidate = tl.arange(0, CANDIDATES)
    held = candidate < chunks * (RANKS + 1)
    at = row * chunks * (RANKS + 1) + candidate
    value = tl.load(values + at, mask=held, other=-float("inf"))
    index = tl.load(indices + at, mask=held, other=k)
    p, top = _release(
        value, index, x, column, hidden, confidence, rank_weights, tail_weight, k, RANKS
    )
    flag(first_bad, row, top == -float("inf"))
    tl.store(out + row * k + column, p, mask=column < k)


def rank_template(
    logits: torch.Tensor,
    confidence: torch.Tensor,
    rank_weights: torch.Tensor,
    tail_weight: float,
) -> torch.Tensor:
    """Return template probabilities, float32, of the shape and on the device of ``logits``.

    Parameters
    ----------
    logits
        (..., k), float16, bfloat16, float32 or float64, any strides.
    confidence
        float32 (k,) on the same device, values in (0, 1], by top-1 class.
    rank_weights
        float32 (R,) on the same device, not negative; those beyond k - 1 have no class to go to.
    tail_weight
        Not negative: the weight of each class below rank R.

    Raises
    ------
    ValueError
        For parameters of another shape, dtype or device, k < 2, or naming the first row with
        NaN, with +inf or of -inf alone.
    """
    rows = DeviceRows.of(logits)
    n, k = rows.values.shape
    confidence = _checked("confidence", confidence, (k,), rows)
    rank_weights = _checked("rank_weights", rank_weights, (rank_weights.numel(),), rows)
    out = torch.empty(logits.shape, dtype=torch.float32, device=logits.device)
    if n == 0:
        return out
    first_bad = rows.first_bad()
    form = _whole if k <= SINGLE_PASS else _split
    with torch.cuda.device_of(logits):
        form(rows, (confidence, rank_weights, tail_weight), out, first_bad)
    rows.refuse(first_bad)
    return out


_Parameters = tuple[torch.Tensor, torch.Tensor, float]


def _checked(
    name: str, values: torch.Tensor, shape: tuple[int, ...], rows: DeviceRows
) -> torch.Tensor:
    if values.shape != shape or values.dtype != torch.float32:
        raise ValueError(f"{name}: needs float32 {shape}, got {values.dtype} {tuple(values.shape)}")
    if values.device != rows.values.device:
        raise ValueError(f"{name}: is on {values.device}, the logits on {rows.values.device}")
    return aligned(values)


def _whole(
    rows: DeviceRows, parameters: _Parameters, out: torch.Tensor, first_bad: torch.Tensor
) -> None:
    n, k = rows.values.shape
    tile = Tile.of(k)
    single_pass[(triton.cdiv(n, tile.rows),)](
        rows.values, rows.stride_units, *parameters, out, first_bad, n, k // rows.unit,
        RANKS=len(parameters[1]), UNIT=rows.unit, ROWS=tile.rows, COLUMNS=tile.columns,
        num_warps=tile.warps,
    )  # fmt: skip


def _split(
    rows: DeviceRows, parameters: _Parameters, out: torch.Tensor, first_bad: torch.Tensor
) -> None:
    n, k = rows.values.shape
    chunks, ranks = triton.cdiv(k, CHUNK), len(parameters[1])
    double = rows.values.dtype == torch.float64
    places = (n, chunks, ranks + 1)
    values = rows.values.new_empty(places, dtype=torch.float64 if double else torch.float32)
    indices = rows.values.new_empty(places, dtype=torch.int32)
    masked = rows.values.new_empty((n, chunks), dtype=torch.int32)
    shared = {
        "RANKS": ranks,
        "UNIT": rows.unit,
        "COLUMNS": CHUNK,
        "num_warps": Tile.of(CHUNK).warps,
    }
    chunk_top[(n, chunks)](
        rows.values, rows.stride_units, values, indices, masked, first_bad, k // rows.unit, **shared
    )
    chunk_release[(n, chunks)](
        rows.values, rows.stride_units, values, indices, masked, *parameters,
        out, first_bad, k // rows.unit, CHUNKS=triton.next_power_of_2(chunks),
        CANDIDATES=triton.next_power_of_2(chunks * (ranks + 1)), **shared,
    )  # fmt: skip
