"""What the Triton kernels of all defenses do to a tile of logits.

A tile is (rows, columns), or one row alone, (columns). `row` and other values of a row come
ready to go with the tile: (rows, 1), or one number. A one-row tile with a first axis of length
1 would do, but Triton then lays it out as if rows were many, and moves it through shared memory.
"""
# Triton's habits: arguments by position, no types.
# ruff: noqa: D401
# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def load(logits, row, column, row_stride, inside):
    """Logits as float32, or as float64 where they are that; -inf outside."""
    x = tl.load(logits + row * row_stride + column, mask=inside, other=-float("inf"))
    return x if x.dtype == tl.float64 else x.to(tl.float32)


@triton.jit
def wide(of_row, tile):
    """Values of each row, as they come out of a reduction of a tile, ready to go with it."""
    return of_row[:, None] if len(tile.shape) == 2 else of_row


@triton.jit
def lowest(hit, column, k):
    """The lowest column of each row where hit holds, or k."""
    return tl.min(tl.where(hit, column, k), -1)


@triton.jit
def flag(first_bad, row, bad):
    """Lower the flag to the least row, int64 and of the shape of bad, that is bad."""
    tl.atomic_min(first_bad + tl.zeros_like(row), row, mask=bad)
