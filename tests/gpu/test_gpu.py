from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from dynaserve import DynaNoise
from dynaserve.defenses import gpu
from dynaserve.defenses.gpu import DeviceRows, Tile, aligned, on_gpu


class CudaTensor(torch.Tensor):
    """What a tensor on a CUDA device says of itself."""

    @property
    def is_cuda(self) -> bool:  # type: ignore[override]
        return True


@pytest.mark.parametrize("array", [np.zeros(3), [0.0], torch.zeros(3), torch.zeros(3).to("meta")])
def test_other_arrays_are_the_compiled_cores(array: Any) -> None:
    assert not on_gpu(array)


def test_a_cuda_tensor_is_for_the_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "find_spec", lambda _: importlib.util.find_spec("json"))
    assert on_gpu(torch.zeros(2, 3).as_subclass(CudaTensor))


@pytest.mark.parametrize("call", [DynaNoise.paper(), DynaNoise.paper().sensitivity])
def test_a_cuda_tensor_without_triton_names_the_extra(
    call: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu, "find_spec", lambda _: None)
    with pytest.raises(ImportError, match=r"triton.*pip install 'dynaserve\[gpu\]'"):
        call(torch.zeros(2, 3).as_subclass(CudaTensor))


def test_defending_tensors_on_the_cpu_loads_no_triton() -> None:
    code = (
        "import sys, torch, dynaserve; dynaserve.DynaNoise.paper()(torch.zeros(2, 3));"
        "assert 'triton' not in sys.modules"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


@pytest.mark.parametrize(
    "logits",
    [torch.zeros(3, 4, 12), torch.zeros(3, 4, 16)[:, :, :12], torch.zeros(1, 12).expand(5, 12)],
)
def test_aligned_rows_are_not_copied(logits: torch.Tensor) -> None:
    rows = DeviceRows.of(logits)
    assert rows.values.data_ptr() == logits.data_ptr()
    assert rows.values.shape == (logits.numel() // 12, 12)
    assert rows.stride_units == rows.values.stride(0) / 4


@pytest.mark.parametrize(
    ("classes", "unit"), [(32, 16), (1000, 8), (128256, 16), (12, 4), (10, 2), (7, 1)]
)
@pytest.mark.parametrize(
    "view",
    [
        lambda x: x,
        lambda x: x[1:],
        lambda x: x[2],
        lambda x: torch.cat([x, x[:, :1]], 1)[:, : x.shape[1]],
        lambda x: torch.cat([x[:, :1], x], 1)[:, 1:],
        lambda x: x.repeat_interleave(2, 1)[:, ::2],
        lambda x: x.T.contiguous().T,
    ],
    ids=["whole", "tail", "row", "wide rows", "shifted", "every second", "transposed"],
)
def test_triton_knows_the_same_of_every_row(
    classes: int, unit: int, view: Callable[[torch.Tensor], torch.Tensor]
) -> None:
    logits = view(torch.arange(3.0 * classes).reshape(3, classes))
    rows = DeviceRows.of(logits)
    assert rows.unit == unit
    assert rows.values.stride(1) == 1
    assert rows.values.stride(0) % unit == 0
    assert rows.values.data_ptr() % 16 == 0
    assert torch.equal(rows.values, logits.reshape(-1, classes))


def test_sparse_rows_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^logits: .*pass tensor\.to_dense\(\)"):
        DeviceRows.of(torch.eye(4).to_sparse())


def test_aligned_copies_only_what_is_not() -> None:
    words = torch.arange(24, dtype=torch.int32)
    assert aligned(words).data_ptr() == words.data_ptr()
    for view in (words[1:9], words.reshape(6, 4).T):
        assert aligned(view).data_ptr() % 16 == 0
        assert aligned(view).is_contiguous()
        assert torch.equal(aligned(view), view)


@pytest.mark.parametrize(
    ("columns", "tile"),
    [
        (2, (64, 4, 1)),
        (10, (16, 16, 1)),
        (256, (1, 256, 1)),
        (257, (1, 512, 2)),
        (1000, (1, 1024, 4)),
        (8192, (1, 8192, 32)),
    ],
)
def test_a_thread_holds_eight_elements(columns: int, tile: tuple[int, int, int]) -> None:
    assert Tile.of(columns) == tile
    rows, width, warps = tile
    assert rows * width == 8 * 32 * warps
