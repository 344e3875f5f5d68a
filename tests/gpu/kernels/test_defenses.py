"""The defenses over the GPU kernels; in the interpreter, tensors on the CPU stand for CUDA ones."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from dynaserve import DynaNoise, RankTemplate
from dynaserve.defenses.dynanoise import defense as dynanoise_defense
from dynaserve.defenses.rank_template import defense as rank_template_defense

KEY = bytes(range(32))


@pytest.fixture(autouse=True)
def every_tensor_is_on_the_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (dynanoise_defense, rank_template_defense):
        monkeypatch.setattr(module, "on_gpu", lambda array: isinstance(array, torch.Tensor))


@pytest.fixture
def logits(rng: np.random.Generator, device: str) -> torch.Tensor:
    return torch.tensor(4 * rng.normal(size=(2, 20, 10)), dtype=torch.float32, device=device)


def close(on_gpu: torch.Tensor, on_cpu: np.ndarray, atol: float = 2e-6) -> bool:
    return np.allclose(on_gpu.cpu().numpy(), on_cpu, rtol=0, atol=atol)


def test_keyed_noise_is_the_same_on_both_devices(logits: torch.Tensor, device: str) -> None:
    defense = DynaNoise.keyed(KEY, base_variance=4.0)
    queries = np.arange(80.0).reshape(2, 20, 2)
    released = defense(logits, queries=queries)
    on_cpu = defense(logits.cpu().numpy(), queries=queries)
    assert released.device.type == device
    assert close(released, on_cpu)
    assert (released.argmax(-1) == logits.argmax(-1)).all()
    assert torch.equal(released, defense(logits, queries=torch.tensor(queries, device=device)))


def test_fresh_noise_is_new_for_each_row_and_call(logits: torch.Tensor) -> None:
    defense = DynaNoise.paper()
    same = logits[0, :1].expand(5, -1)
    released = torch.cat([defense(same), defense(same)])
    assert len(released.unique(dim=0)) == 10


def test_probabilities_come_back_on_their_device(logits: torch.Tensor, device: str) -> None:
    defense = DynaNoise.keyed(KEY)
    queries = [str(i).encode() for i in range(20)]
    probabilities = logits[0].softmax(-1)
    released = defense.from_probabilities(probabilities, queries=queries)
    assert released.device.type == device
    on_cpu = defense.from_probabilities(probabilities.cpu().numpy(), queries=queries)
    assert close(released, on_cpu)


def test_the_sensitivity_is_the_same_on_both_devices(logits: torch.Tensor) -> None:
    defense = DynaNoise.paper()
    assert close(defense.sensitivity(logits), defense.sensitivity(logits.cpu().numpy()))


def test_keyed_noise_needs_its_queries_on_the_gpu_too(logits: torch.Tensor) -> None:
    with pytest.raises(ValueError, match="keyed noise needs queries="):
        DynaNoise.keyed(KEY)(logits)


@pytest.mark.parametrize("buckets", [1, 2])
def test_a_template_releases_the_same_on_both_devices(
    buckets: int, rng: np.random.Generator, logits: torch.Tensor, device: str
) -> None:
    labels = rng.integers(10, size=400)
    held_out = rng.normal(size=(400, 10)) + 2 * np.eye(10)[labels]
    defense = RankTemplate.calibrate(held_out, labels, buckets=buckets)
    logits[0, :5] *= 0.01  # low margins
    released = defense(logits)
    assert released.device.type == device
    assert close(released, defense(logits.cpu().numpy()))
    assert torch.equal(released, defense(logits))


def test_a_template_refuses_another_number_of_classes(
    rng: np.random.Generator, logits: torch.Tensor
) -> None:
    labels = rng.integers(3, size=300)
    defense = RankTemplate.calibrate(rng.normal(size=(300, 3)) + np.eye(3)[labels], labels)
    with pytest.raises(ValueError, match="calibrated for 3 classes, got 10"):
        defense(logits)
    with pytest.raises(ValueError, match="calibrated for 3 classes, got 0"):
        defense(logits.sum())
