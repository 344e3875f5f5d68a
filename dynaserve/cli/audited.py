"""What ``dynaserve audit`` audits: the answers in a file, or those of models it trains itself.

It reads arrays and model files and hands over checked arrays. It chooses no defense and attacks
nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dynaserve.cli.held_out import HeldOutRows, read_held_out
from dynaserve.mia.data import AuditData, load
from dynaserve.mia.pitfalls import require_apart, require_no_probabilities
from dynaserve.npz import read_arrays

if TYPE_CHECKING:
    from dynaserve.mia.datasets import Population
    from dynaserve.serving.models import Model


_SHADOW_HELD_OUT = "shadow_held_out_logits"


class NothingToCheckError(Exception):
    """The rows hold members alone, or none: there is nothing to tell apart."""


@dataclass(frozen=True)
class Audited:
    """Checked answers.

    Parameters
    ----------
    data
        What is attacked.
    held_out
        Labelled answers to other rows, to calibrate a defense on; None if there are none.
    source
        Where they came from, for people.
    shadow_held_out
        (S, h, k) float: the shadows' answers to the held-out rows; None if not asked.
    remarks
        What went less well than it should, a sentence each.
    """

    data: AuditData
    held_out: HeldOutRows | None
    source: str
    shadow_held_out: NDArray[Any] | None = None
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Training:
    """How shadows of an estimator are trained; see `dynaserve.mia.shadows.train_shadows`.

    Parameters
    ----------
    shadows
        How many, even.
    near
        Sizes of near-duplicates to ask about as well.
    seed
        Of everything random.
    directory
        Where finished models' answers are kept, to go on from if the run is interrupted.
    workers
        Processes.
    quiet
        Draw no progress bar, and pass on no warning of a fit.
    """

    shadows: int = 16
    near: tuple[float, ...] = ()
    seed: int = 0
    directory: Path | None = None
    workers: int = 1
    quiet: bool = False


def read_answers(path: Path, held_out: Path | None) -> Audited:
    """Return the answers in an ``.npz`` file.

    Held-out rows are those of the file ``held_out`` (``logits``, ``labels``) or, without one,
    the arrays ``held_out_logits`` and ``held_out_labels`` in ``path``.

    Raises
    ------
    ValueError
        Naming the file and what is wrong in it.
    NothingToCheckError
        If all rows are members, or none is.
    """
    _require_both_kinds(read_arrays(path, ["member"]).get("member"), path)
    data, rows = load(path), _held_out_of(path, held_out)
    if rows is not None:
        name = str(held_out or f"{path}: held_out_logits")
        require_apart(rows.logits, rows.labels, data.logits, data.labels, name)
    # Only those to the same rows: another file's labels are not theirs.
    shadow = None if held_out else read_arrays(path, [_SHADOW_HELD_OUT]).get(_SHADOW_HELD_OUT)
    if shadow is not None and rows is not None:
        expected = (data.shadows, *rows.logits.shape)
        if shadow.shape != expected:
            raise ValueError(f"{path}: {_SHADOW_HELD_OUT} has shape {shadow.shape}, not {expected}")
    return Audited(data, rows, path.name, None if rows is None else shadow)


def train_answers(
    estimator: Path,
    data: Path,
    training: Training,
    *,
    held_out: Path | None = None,
    trust_pickle: bool = False,
    save: Path | None = None,
) -> Audited:
    """Return the answers of a fitted scikit-learn classifier and of shadows trained like it.

    Parameters
    ----------
    estimator
        A ``.skops`` file.
    data
        An ``.npz`` file: ``inputs`` (n, d), ``labels`` (n,) as the estimator's classes are
        spelled, ``member`` (n,): whether the estimator was fitted on the row.
    held_out
        An ``.npz`` file with ``inputs`` and ``labels`` of other rows.
    trust_pickle
        Allow types in the file that can run code.
    save
        Where to write all answers.

    Raises
    ------
    ValueError
        Naming the file and what is wrong in it.
    NothingToCheckError
        If all rows are members, or none is.
    """
    from dynaserve.cli.fit_notes import NotedTrainer, fit_notes  # noqa: PLC0415 - only to train
    from dynaserve.mia.shadows import (  # noqa: PLC0415
        EstimatorTrainer,
        GivenTarget,
        Jitter,
        train_shadows,
    )
    from dynaserve.serving.models.estimator import serve_estimator  # noqa: PLC0415
    from dynaserve.serving.models.file import ModelFile  # noqa: PLC0415
    from dynaserve.serving.models.skops_file import read_estimator  # noqa: PLC0415

    if estimator.suffix.lower() != ".skops":
        raise ValueError(
            f"{estimator}: an estimator is read from a .skops file; write one with "
            "skops.io.dump(estimator, 'model.skops')"
        )
    file = ModelFile.read(estimator)
    fitted = read_estimator(file, trust_pickle=trust_pickle)
    model = serve_estimator(fitted, name=file.name, version=file.version)
    population, member = _population(model, data, held_out)
    with fit_notes(training.directory) as notes:
        run = train_shadows(
            NotedTrainer(EstimatorTrainer(fitted, population.classes), notes, training.quiet),
            population,
            shadows=training.shadows,
            jitter=Jitter(training.near) if training.near else None,
            target=GivenTarget(model, member),
            seed=training.seed,
            directory=training.directory,
            workers=training.workers,
            quiet=training.quiet,
        )
        remarks = notes.remarks()
    if save is not None:
        run.save(save)
    source = f"{estimator.name} on {data.name}"
    if not len(run.held_out_labels):
        return Audited(run.audit_data(), None, source, remarks=remarks)
    rows = HeldOutRows(run.held_out_logits, run.held_out_labels, file.version)
    return Audited(run.audit_data(), rows, source, run.shadow_held_out_logits, remarks)


def _population(
    model: Model, data: Path, held_out: Path | None
) -> tuple[Population, NDArray[np.bool_]]:
    """Return the rows to train and ask on, and which of them the target was fitted on."""
    from dynaserve.mia.datasets import Population  # noqa: PLC0415 - only to train

    inputs, labels = _rows(model, data)
    member = read_arrays(data, ["member"]).get("member")
    _require_both_kinds(member, data)
    if member is None or member.shape != labels.shape or member.dtype.kind not in "biu":
        raise ValueError(
            f"{data}: needs an array 'member' {labels.shape} of booleans: whether the estimator "
            "was fitted on the row"
        )
    others, other_labels = inputs[:0], labels[:0]
    if held_out is not None:
        others, other_labels = _rows(model, held_out)
        require_apart(others, other_labels, inputs, labels, str(held_out), inputs=True)
    population = Population(
        inputs=inputs,
        labels=labels,
        held_out_inputs=others,
        held_out_labels=other_labels,
        classes=len(model.classes),
        binary=bool(np.isin(inputs, (0, 1)).all()),
    )
    return population, member.astype(bool)


def _rows(model: Model, path: Path) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the inputs of a file and the column of each label."""
    arrays = read_arrays(path, ["inputs", "labels"])
    if missing := [name for name in ("inputs", "labels") if name not in arrays]:
        raise ValueError(f"{path}: no array {missing[0]!r}; needed are inputs (n, d), labels (n,)")
    inputs, labels = arrays["inputs"], arrays["labels"]
    if inputs.ndim != 2 or inputs.shape[1:] != model.input_shape or inputs.dtype.kind not in "fiub":
        raise ValueError(
            f"{path}: inputs are {inputs.dtype} of shape {inputs.shape}; {model.name} takes "
            f"numbers of shape (n, {model.input_shape[0]})"
        )
    if labels.shape != inputs.shape[:1]:
        raise ValueError(f"{path}: labels have shape {labels.shape}, inputs {inputs.shape}")
    columns = {label: column for column, label in enumerate(model.classes)}
    if unknown := set(labels.tolist()) - columns.keys():
        raise ValueError(
            f"{path}: {len(unknown)} of the labels are no classes of {model.name}, which are "
            f"{', '.join(map(str, model.classes[:10]))}"
        )
    return inputs, np.array([columns[label] for label in labels.tolist()], np.int64)


def _held_out_of(path: Path, held_out: Path | None) -> HeldOutRows | None:
    if held_out is not None:
        return read_held_out(held_out, None)
    arrays = read_arrays(path, ["held_out_logits", "held_out_labels"])
    if len(arrays) < 2 or not len(arrays["held_out_labels"]):
        return None
    require_no_probabilities(arrays["held_out_logits"], f"{path}: held_out_logits")
    return HeldOutRows(arrays["held_out_logits"], arrays["held_out_labels"], "")


def _require_both_kinds(member: NDArray[Any] | None, path: Path) -> None:
    if member is not None and member.dtype.kind in "biu" and len(np.unique(member != 0)) < 2:
        which = "are members" if member.any() else "are non-members"
        raise NothingToCheckError(
            f"{path}: all {member.size} rows {which}; an audit compares members with non-members"
        )
