"""What every GPU kernel needs around it: when to use one, rows as it reads them, refusals.

Torch and triton stay optional: this module imports neither, so that a defense may ask it about
any array. It may not hold numerics, and it may not show a value of a row, only its place.
"""

from __future__ import annotations

import math
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from dynaserve.defenses.rows import require_dense

if TYPE_CHECKING:
    import torch

SINGLE_PASS = 8192
"""Longest row, in classes, that one program holds in registers without spilling."""
CHUNK = 4096
"""Columns per program in the split form."""
_ALIGNED = 16
_WARP_TILE = 256
_MOST_WARPS = 32


def on_gpu(array: Any) -> bool:
    """Tell whether an array is a CUDA tensor; other devices are served by the compiled core.

    Raises
    ------
    ImportError
        For a CUDA tensor without triton, naming the extra.
    """
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(array, torch.Tensor) or not array.is_cuda:
        return False
    if find_spec("triton") is None:
        raise ImportError(
            "CUDA tensors need triton, which is not installed: pip install 'dynaserve[gpu]' "
            "(Linux only), or pass logits.cpu()"
        )
    return True


def aligned(tensor: torch.Tensor) -> torch.Tensor:
    """Return a tensor in C order at an address that 16 bytes divide: itself, or a copy."""
    if tensor.is_contiguous() and tensor.data_ptr() % _ALIGNED == 0:
        return tensor
    return tensor.clone(memory_format=_torch().contiguous_format)


class DeviceRows(NamedTuple):
    """Logits (..., k) as n rows that Triton always reads in the same way.

    How a kernel deals elements to threads, and so the order of its sums, follows from what
    Triton knows of addresses. A row's bytes may not depend on where the row lies, so rows that
    are not aligned, as far as k lets them be, are copied on the device.
    """

    values: torch.Tensor
    """(n, k): neighbouring classes, a row stride that the unit divides, at an aligned address."""
    shape: torch.Size
    """That of the caller's tensor."""

    @classmethod
    def of(cls, logits: torch.Tensor) -> DeviceRows:
        """Return a tensor of logits as rows.

        Raises
        ------
        ValueError
            For a dtype that is not floating, a sparse tensor, no class axis or fewer than two
            classes.
        """
        require_dense(_torch(), logits, "logits")
        if not logits.dtype.is_floating_point or logits.element_size() == 1:
            raise ValueError(
                f"logits: dtype {logits.dtype} is not float16, bfloat16, float32 or float64"
            )
        if logits.ndim == 0:
            raise ValueError("logits are a single number; they need a class axis")
        classes = logits.shape[-1]
        if classes < 2:
            raise ValueError(
                f"logits have {classes} class(es) on their last axis; at least 2 are needed"
            )
        values = logits.detach().reshape(math.prod(logits.shape[:-1]), classes)
        row_stride, class_stride = values.stride()
        if class_stride != 1 or row_stride % _unit(classes) or values.data_ptr() % _ALIGNED:
            values = values.clone(memory_format=_torch().contiguous_format)
        return cls(values, logits.shape)

    @property
    def unit(self) -> int:
        """The power of two, at most 16, that divides k and the row stride.

        Triton moves 16 bytes at a time only where it can see that an address is aligned, so
        kernels take both numbers divided by this constant and multiply it back.
        """
        return _unit(self.values.shape[1])

    @property
    def stride_units(self) -> int:
        """The row stride in units."""
        return self.values.stride(0) // self.unit

    def first_bad(self) -> torch.Tensor:
        """Return the flag that a kernel lowers to the number of a row without a softmax."""
        return self.values.new_full((1,), len(self.values), dtype=_torch().int64)

    def refuse(self, first_bad: torch.Tensor) -> None:
        """Wait for the kernels that hold the flag, and refuse the row that it names.

        Raises
        ------
        ValueError
            Saying which row, and what is wrong with it, in the compiled core's words.
        """
        row = int(first_bad.item())
        if row < len(self.values):
            self._refuse_row(row)

    def _refuse_row(self, row: int) -> NoReturn:
        x = self.values[row].double().cpu()
        fault = "is -inf in every class; at least one class must be finite"
        wrong = (x.isnan() | x.isposinf()).nonzero()
        if len(wrong):
            at = int(wrong[0])
            what = "NaN" if x[at].isnan() else "+inf"
            fault = f"holds {what} at class {at}; logits must be finite, or -inf to mask a class"
        raise ValueError(f"logits: {self._name(row)} {fault}")

    def _name(self, row: int) -> str:
        place: list[str] = []
        for size in reversed(self.shape[:-1]):
            row, index = divmod(row, size)
            place.insert(0, str(index))
        return f"row {', '.join(place)}" if place else "the row"


class Tile(NamedTuple):
    """How many rows and columns one program holds, and with how many warps.

    It follows from the number of classes alone: the order of a sum depends on it, and a row's
    result may not depend on its batch. Each thread gets eight elements, two blocks of Philox;
    rows shorter than a warp's 256 share one.
    """

    rows: int
    columns: int
    warps: int

    @classmethod
    def of(cls, columns: int) -> Tile:
        """Return the tile for rows, or pieces of rows, of so many columns."""
        width = max(4, 1 << (columns - 1).bit_length())
        rows = max(1, _WARP_TILE // width)
        return cls(rows, width, min(_MOST_WARPS, rows * width // _WARP_TILE))


def _unit(classes: int) -> int:
    return math.gcd(classes, _ALIGNED)


def _torch() -> Any:
    return sys.modules["torch"]
