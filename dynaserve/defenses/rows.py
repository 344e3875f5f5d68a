"""What may come in: rows of logits or probabilities, from numpy or torch.

The one place where foreign arrays become plain numpy and where their values are checked. The
compiled core checks logits itself, without a second pass; `require_logits` is for the code
that runs no kernel. Nothing here may print a value of a row, only its place.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from dynaserve.defenses.protocol import ArrayT

_FLOATS = "float16, bfloat16, float32 or float64"
_LEAST_PROBABILITY = float(np.finfo(np.float32).smallest_normal)
_SUM_SLACK = 1e-3


class Rows(NamedTuple):
    """A caller's array as numpy, and the way back."""

    values: NDArray[Any]
    """(..., k), native float16, float32 or float64, any strides, perhaps read-only."""
    dtype: Any
    """The caller's own, numpy's or torch's."""
    wrap: Callable[[NDArray[Any]], Any]
    """Gives a result the caller's kind (numpy or torch) and device."""

    @property
    def resolution(self) -> float:
        """Machine epsilon of the caller's own dtype."""
        if not isinstance(self.dtype, np.dtype):
            return float(sys.modules["torch"].finfo(self.dtype).eps)
        return 2.0**-7 if self.dtype.kind == "V" else float(np.finfo(self.dtype).eps)


def unwrap(array: Any, name: str = "logits") -> Rows:
    """Return ``array`` as numpy rows; copies only what numpy cannot view.

    Dense torch tensors on any device are detached and brought to the CPU. bfloat16 becomes
    float32. Nested lists of floats are read as numpy.

    Raises
    ------
    ValueError
        For a dtype that is not a float of 2, 4 or 8 bytes, a sparse or meta tensor, a masked
        array, no axis or an empty last axis.
    """
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        rows = _from_torch(torch, array, name)
    else:
        rows = _from_numpy(array, name)
    if rows.values.ndim == 0 or rows.values.shape[-1] == 0:
        raise ValueError(f"{name}: shape {rows.values.shape} has no classes; pass (..., k)")
    return rows


def _from_torch(torch: Any, tensor: Any, name: str) -> Rows:
    require_dense(torch, tensor, name)
    if not tensor.dtype.is_floating_point or tensor.element_size() == 1:
        raise ValueError(f"{name}: dtype {tensor.dtype} is not {_FLOATS}")
    device = tensor.device
    shared = (torch.float16, torch.float32, torch.float64)
    plain = tensor if tensor.dtype in shared else tensor.float()
    return Rows(
        values=plain.numpy(force=True),
        dtype=tensor.dtype,
        wrap=lambda result: torch.from_numpy(result).to(device),
    )


def require_dense(torch: Any, tensor: Any, name: str) -> None:
    """Refuse a tensor that does not hold all of its values.

    Raises
    ------
    ValueError
        For sparse and meta tensors.
    """
    if tensor.layout is not torch.strided:
        raise ValueError(f"{name}: a tensor of layout {tensor.layout}; pass tensor.to_dense()")
    if tensor.is_meta:
        raise ValueError(f"{name}: a meta tensor, which holds no values")


def _from_numpy(array: Any, name: str) -> Rows:
    if isinstance(array, np.ma.MaskedArray):
        raise ValueError(f"{name}: a masked array would lose its mask; fill it with -inf first")
    try:
        values = np.asarray(array)
    except ValueError:
        raise ValueError(f"{name}: rows differ in length; pass an array (..., k)") from None
    dtype = values.dtype
    if dtype.kind == "V" and dtype.name == "bfloat16":  # a name takes microseconds
        return Rows(values.astype(np.float32), dtype, np.asarray)
    if dtype.kind != "f" or dtype.itemsize not in (2, 4, 8):
        raise ValueError(f"{name}: dtype {dtype} is not {_FLOATS}")
    if not dtype.isnative:
        values = values.astype(dtype.newbyteorder("="))
    return Rows(values, dtype, np.asarray)


def require_logits(values: NDArray[Any]) -> None:
    """Refuse logits (..., k) that have no softmax, by the rules of the compiled core.

    Raises
    ------
    ValueError
        For k < 2, or naming the first row with NaN, with +inf or of -inf alone.
    """
    classes = values.shape[-1]
    if classes < 2:
        raise ValueError(f"logits: {classes} class(es) on the last axis; at least 2 are needed")
    top = values.reshape(-1, classes).max(axis=1)
    # The maximum is NaN if any value is, +inf if any value is, -inf only if all are.
    bad = np.flatnonzero(~np.isfinite(top))
    if bad.size:
        first = top[bad[0]]
        what = "NaN" if np.isnan(first) else "+inf" if first > 0 else "only -inf"
        raise ValueError(f"logits: {_row(int(bad[0]), values.shape[:-1])} holds {what}")


def logits_of(probabilities: ArrayT, name: str = "probabilities") -> ArrayT:
    """Return the logits log(max(q, 2^-126)) of probabilities q (..., k), float32 or wider.

    2^-126 is the smallest normal float32: a probability of 0 is a small number, not a mask. Which
    classes a forest or a float16 softmax gives exactly 0 tells much of its confidence, and masks
    show in what a defense releases. Mask classes on purpose by logits of -inf.

    Row sums may be off by what rounding explains: 1e-3 or four machine epsilons, whichever is
    more, and half the smallest positive number of the dtype for each class.

    Raises
    ------
    ValueError
        Naming the first row with a negative or not finite value, or whose sum is not 1.
    """
    rows = unwrap(probabilities, name)
    values = rows.values
    wide = values.astype(np.promote_types(values.dtype, np.float32), copy=False)
    outside = ~(np.isfinite(wide) & (wide >= 0)).all(axis=-1)
    _refuse_first(outside, name, "a value outside [0, 1]")
    underflow = values.shape[-1] * float(np.finfo(values.dtype).smallest_subnormal) / 2
    slack = max(_SUM_SLACK, 4 * rows.resolution) + underflow
    off = np.abs(wide.sum(axis=-1, dtype=np.float64) - 1) > slack
    _refuse_first(off, name, "a sum other than 1")
    return cast("ArrayT", rows.wrap(np.log(np.maximum(wide, _LEAST_PROBABILITY))))


def _refuse_first(bad: NDArray[np.bool_], name: str, what: str) -> None:
    if bad.any():
        raise ValueError(f"{name}: {_row(int(bad.argmax()), bad.shape)} holds {what}")


def _row(index: int, leading: tuple[int, ...]) -> str:
    """Return the place of a row, counted in C order, in the words of the compiled core."""
    where = ", ".join(str(i) for i in np.unravel_index(index, leading))
    return f"row {where}" if where else "the row"
