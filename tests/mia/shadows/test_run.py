"""Running a target and shadows: what is asked, resuming, refusing."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dynaserve.mia.datasets import Population
from dynaserve.mia.shadows import GivenTarget, Jitter, ShadowRun, train_shadows
from dynaserve.mia.shadows.run import _half


@dataclass(frozen=True)
class Centroids:
    """A model: minus the squared distance from the mean of each class."""

    means: np.ndarray

    def logits(self, inputs: np.ndarray) -> np.ndarray:
        flat = inputs.reshape(len(inputs), 1, -1).astype(float)
        return -((flat - self.means) ** 2).sum(axis=-1).astype(np.float32)


@dataclass(frozen=True)
class CentroidTrainer:
    """Trains in no time, and writes down what it was given."""

    scale: float = 1.0

    def fit(self, inputs: np.ndarray, labels: np.ndarray, seed: int) -> Centroids:
        FITS.append((len(inputs), seed))
        flat = inputs.reshape(len(inputs), -1)
        means = np.stack([flat[labels == c].mean(axis=0) for c in range(2)])
        return Centroids(means * self.scale)


FITS: list[tuple[int, int]] = []


@pytest.fixture(autouse=True)
def _no_fits() -> None:
    FITS.clear()


def population(seed: int = 0) -> Population:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, 50)
    inputs = (rng.normal(size=(50, 4)) + 2 * labels[:, None]).astype(np.float32)
    return Population(inputs[:40], labels[:40], inputs[40:], labels[40:], 2, binary=False)


JITTER = Jitter((0.1, 0.5), copies=3)


def same(first: ShadowRun, second: ShadowRun) -> bool:
    one, two = first.arrays(), second.arrays()
    return one.keys() == two.keys() and all(np.array_equal(one[n], two[n]) for n in one)


def test_every_model_is_asked_everything() -> None:
    run = train_shadows(CentroidTrainer(), population(), shadows=4, jitter=JITTER)
    shapes = {name: array.shape for name, array in run.arrays().items()}
    assert shapes == {
        "logits": (40, 2),
        "labels": (40,),
        "member": (40,),
        "shadow_logits": (4, 40, 2),
        "shadow_member": (4, 40),
        "held_out_logits": (10, 2),
        "held_out_labels": (10,),
        "shadow_held_out_logits": (4, 10, 2),
        "random_logits": (2000, 2),
        "queries": (40, 4),
        "neighbor_logits_0.1": (40, 3, 2),
        "neighbor_logits_0.5": (40, 3, 2),
        "shadow_neighbor_logits_0.1": (4, 40, 3, 2),
        "shadow_neighbor_logits_0.5": (4, 40, 3, 2),
    }
    assert run.member.sum() == 20
    assert (run.shadow_member.sum(axis=0) == 2).all()


def test_each_model_is_trained_on_its_own_members_with_its_own_seed() -> None:
    run = train_shadows(CentroidTrainer(), population(), shadows=4)
    sizes = [20, *run.shadow_member.sum(axis=1)]
    assert [size for size, _ in FITS] == sizes
    assert len({seed for _, seed in FITS}) == 5
    p = population()
    for member, logits in zip(run.shadow_member, run.shadow_logits, strict=True):
        expected = CentroidTrainer().fit(p.inputs[member], p.labels[member], 0).logits(p.inputs)
        np.testing.assert_array_equal(logits, expected)


def test_a_killed_run_goes_on_where_it_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments: dict[str, Any] = {"shadows": 4, "jitter": JITTER}
    whole = train_shadows(CentroidTrainer(), population(), **arguments)
    arguments["directory"] = tmp_path
    fit = CentroidTrainer.fit

    def killed_at_the_third(self: CentroidTrainer, *data: Any) -> Centroids:
        if len(FITS) == 2:
            raise KeyboardInterrupt
        return fit(self, *data)

    FITS.clear()
    with monkeypatch.context() as patch:
        patch.setattr(CentroidTrainer, "fit", killed_at_the_third)
        with pytest.raises(KeyboardInterrupt):
            train_shadows(CentroidTrainer(), population(), **arguments)
    assert len(list(tmp_path.glob("model-*.npz"))) == 2
    FITS.clear()
    assert same(train_shadows(CentroidTrainer(), population(), **arguments), whole)
    assert len(FITS) == 3
    FITS.clear()
    assert same(train_shadows(CentroidTrainer(), population(), **arguments), whole)
    assert FITS == []


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"trainer": CentroidTrainer(scale=2.0)}, "differs in trainer;"),
        ({"population": population(seed=1)}, "differs in data;"),
        ({"seed": 1}, "differs in number of shadows or seed;"),
        ({"shadows": 6}, "differs in number of shadows or seed;"),
        ({"jitter": replace(JITTER, copies=4)}, "differs in jitter;"),
    ],
)
def test_another_configuration_in_the_same_directory_is_refused(
    changed: dict[str, Any], message: str, tmp_path: Path
) -> None:
    arguments: dict[str, Any] = {
        "trainer": CentroidTrainer(),
        "population": population(),
        "shadows": 4,
        "jitter": JITTER,
        "directory": tmp_path,
    }
    train_shadows(**arguments)
    with pytest.raises(ValueError, match=message):
        train_shadows(**(arguments | changed))


def test_a_directory_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(ValueError, match="holds files of something else"):
        train_shadows(CentroidTrainer(), population(), shadows=2, directory=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    train_shadows(CentroidTrainer(), population(), shadows=2, directory=tmp_path)
    (tmp_path / "model-0001.npz").write_bytes(b"PK\x03\x04 half a file")
    with pytest.raises(ValueError, match=r"model-0001\.npz is damaged; delete it"):
        train_shadows(CentroidTrainer(), population(), shadows=2, directory=tmp_path)


def test_a_given_target_is_asked_and_not_trained() -> None:
    p, member = population(), np.arange(40) < 10
    given = GivenTarget(CentroidTrainer().fit(p.inputs[member], p.labels[member], 0), member)
    FITS.clear()
    run = train_shadows(CentroidTrainer(), p, shadows=4, target=given)
    assert len(FITS) == 4
    np.testing.assert_array_equal(run.member, member)
    np.testing.assert_array_equal(run.logits, given.model.logits(p.inputs))


def test_a_given_target_is_asked_anew_when_its_shadows_are_kept(tmp_path: Path) -> None:
    member = np.arange(40) < 10
    arguments: dict[str, Any] = {"shadows": 2, "directory": tmp_path}
    for scale in (1.0, 2.0):
        given = GivenTarget(Centroids(scale * np.eye(2, 4)), member)
        run = train_shadows(CentroidTrainer(), population(), target=given, **arguments)
        np.testing.assert_array_equal(run.logits, given.model.logits(population().inputs))
    assert len(FITS) == 2


def test_a_given_target_must_fit() -> None:
    given = GivenTarget(Centroids(np.zeros((2, 4))), np.ones(3, bool))
    with pytest.raises(ValueError, match=r"member has shape \(3,\), needs \(40,\)"):
        train_shadows(CentroidTrainer(), population(), shadows=2, target=given)


@dataclass(frozen=True)
class Broken:
    answer: np.ndarray = field(default_factory=lambda: np.zeros((1, 2)))

    def fit(self, inputs: np.ndarray, labels: np.ndarray, seed: int) -> Broken:  # noqa: ARG002
        return self

    def logits(self, inputs: np.ndarray) -> np.ndarray:
        return np.repeat(self.answer, len(inputs), axis=0)


def test_answers_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match=r"logits of shape \(40, 3\), needs \(40, 2\)"):
        train_shadows(Broken(np.zeros((1, 3))), population(), shadows=2)
    with pytest.raises(ValueError, match="not finite"):
        train_shadows(Broken(np.array([[0.0, np.nan]])), population(), shadows=2)


def test_half_precision_keeps_the_order_at_the_top() -> None:
    rng = np.random.default_rng(0)
    logits = rng.normal(scale=30, size=(2000, 10)).astype(np.float32)
    logits[:, 1] = logits[:, 0] + rng.normal(scale=1e-3, size=2000).astype(np.float32)
    stored = _half(logits)
    assert stored.dtype == np.float16
    np.testing.assert_array_equal(stored.argmax(axis=1), logits.argmax(axis=1))
    gaps = logits - logits.max(axis=1, keepdims=True)
    np.testing.assert_allclose(stored.astype(np.float32), gaps, rtol=2**-11, atol=1e-7)


def test_a_saved_run_reads_back_equal(tmp_path: Path) -> None:
    run = train_shadows(CentroidTrainer(), population(), shadows=2, jitter=JITTER)
    run.save(tmp_path / "run.npz")
    assert same(ShadowRun.load(tmp_path / "run.npz"), run)
    with np.load(tmp_path / "run.npz", allow_pickle=False) as arrays:
        assert set(arrays.files) == run.arrays().keys()


def test_another_file_is_no_run(tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", logits=np.zeros((2, 2)))
    with pytest.raises(ValueError, match=r"lacks the array\(s\) labels, member"):
        ShadowRun.load(tmp_path / "other.npz")
    (tmp_path / "text.npz").write_text("not arrays")
    with pytest.raises(ValueError, match="is not an"):
        ShadowRun.load(tmp_path / "text.npz")
