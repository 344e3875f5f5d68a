"""The search: try every candidate quickly, audit the few best in full, choose one.

It weighs what others measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dynaserve.defenses.rank_template.calibrate import HeldOut
from dynaserve.mia.attackers import Progress
from dynaserve.mia.audit import audit_data
from dynaserve.mia.data import AuditData
from dynaserve.mia.pitfalls import require_apart, require_no_probabilities
from dynaserve.mia.tune.candidates import Candidate, ReferenceScores, Remarks, candidates
from dynaserve.mia.tune.results import Budget, Trial, Tuning, preferred
from dynaserve.mia.tune.trying import QuickAudit


def tune(
    logits: Any,
    labels: Any,
    member: Any,
    *,
    held_out_logits: Any = None,
    held_out_labels: Any = None,
    shadow_logits: Any = None,
    shadow_member: Any = None,
    neighbor_logits: Any = None,
    shadow_neighbor_logits: Any = None,
    queries: Any = None,
    neighbor_queries: Any = None,
    reference_probabilities: Any = None,
    held_out_reference_probabilities: Any = None,
    max_accuracy_loss: float = 0.005,
    max_calibration_error: float | None = None,
    repeats: Sequence[int] = (1, 10, 100),
    seed: int = 0,
    finalists: int = 3,
    progress: Progress | None = None,
) -> Tuning:
    """Find the defense that leaks least within a budget, by attackers who know it.

    Parameters
    ----------
    held_out_logits, held_out_labels
        (h, k) and (h,), h >= 300: rows neither trained on nor audited, to calibrate
        `RankTemplate` on. Without them it is not tried.
    reference_probabilities, held_out_reference_probabilities
        (n, k) and (h, k): what a model trained on public data alone says of the same rows. It
        shows what `PublicReference` would do; as no file can hold that model, it is measured
        and never chosen.
    max_accuracy_loss
        As a share of all non-members: 0.005 is half a point.
    max_calibration_error
        None for no limit.
    finalists
        How many are audited in full.
    repeats
        As for the audit; the search asks once and the most often.
    others
        The answers, ``seed`` and ``progress``: as `dynaserve.mia.audit.audit` takes them.

    Raises
    ------
    ValueError
        As `audit`, and for held-out rows, reference or limits that do not fit, naming them, and
        for held-out rows that are audited too.
    ImportError
        With shadows but without scikit-learn (the ``audit`` extra).

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> labels, member = rng.integers(0, 3, 400), np.arange(400) < 200
    >>> z = rng.normal(size=(400, 3)) + np.eye(3)[labels] * (1 + 3 * member[:, None])
    >>> others = rng.integers(0, 3, 400)
    >>> held_out = rng.normal(size=(400, 3)) + np.eye(3)[others]
    >>> found = tune(z, labels, member, held_out_logits=held_out, held_out_labels=others)
    >>> found.best.family
    'RankTemplate'
    """
    data = AuditData.checked(
        logits,
        labels,
        member,
        shadow_logits=shadow_logits,
        shadow_member=shadow_member,
        queries=queries,
        neighbor_logits=neighbor_logits,
        shadow_neighbor_logits=shadow_neighbor_logits,
        neighbor_queries=neighbor_queries,
    )
    held_out = None
    if held_out_logits is not None:
        held_out = HeldOut.checked(held_out_logits, held_out_labels)
    reference = None
    if reference_probabilities is not None:
        reference = ReferenceScores(
            np.asarray(reference_probabilities), np.asarray(held_out_reference_probabilities)
        )
    return tune_data(
        data,
        held_out=held_out,
        reference=reference,
        budget=Budget(max_accuracy_loss, max_calibration_error),
        repeats=repeats,
        seed=seed,
        finalists=finalists,
        progress=progress,
    )


def tune_data(
    data: AuditData,
    *,
    held_out: HeldOut | None = None,
    reference: ReferenceScores | None = None,
    budget: Budget | None = None,
    repeats: Sequence[int] = (1, 10, 100),
    seed: int = 0,
    finalists: int = 3,
    progress: Progress | None = None,
) -> Tuning:
    """Do what `tune` does, for arrays that were checked before; see there."""
    budget = budget or Budget()
    _require_fit(data, held_out, reference)
    remarks = Remarks()
    tried = list(candidates(held_out, reference, seed=seed, remarks=remarks))
    quick_audit = QuickAudit(data, max(repeats), seed)
    tell = progress or (lambda _done, _total, _what: None)
    total = len(tried) + finalists
    trials: dict[str, Trial] = {}
    for done, candidate in enumerate(tried, start=1):
        trials[candidate.name] = quick_audit.trial(candidate)
        tell(done, total, candidate.name)
    for done, candidate in enumerate(_finalists(tried, trials, budget, finalists), start=1):
        trials[candidate.name] = _audited(
            trials[candidate.name], quick_audit.data_for(candidate), repeats, seed
        )
        tell(len(tried) + done, total, f"full audit of {candidate.name}")
    chosen = preferred([trial for trial in trials.values() if trial.audit is not None])
    best = chosen[0] if chosen else None
    return Tuning(
        tuple(trials.values()), best, budget, tuple(dict.fromkeys(remarks)), quick_audit.attacks
    )


def _finalists(
    tried: Sequence[Candidate], trials: dict[str, Trial], budget: Budget, count: int
) -> list[Candidate]:
    allowed = [trial for trial in trials.values() if trial.protects and trial.within(budget)]
    names = [trial.name for trial in preferred(allowed)[:count]]
    return [candidate for candidate in tried if candidate.name in names]


def _audited(trial: Trial, data: AuditData, repeats: Sequence[int], seed: int) -> Trial:
    found = audit_data(data, defense=trial.defense, repeats=repeats, seed=seed)
    return replace(trial, audit=found, leak=found.leak)


def _require_fit(
    data: AuditData, held_out: HeldOut | None, reference: ReferenceScores | None
) -> None:
    if held_out is not None:
        if held_out.logits.shape[1] != data.logits.shape[1]:
            raise ValueError(
                f"held_out_logits: {held_out.logits.shape[1]} classes, logits have "
                f"{data.logits.shape[1]}"
            )
        require_no_probabilities(held_out.logits, "held_out_logits")
        require_apart(held_out.logits, held_out.labels, data.logits, data.labels)
    if reference is None:
        return
    if held_out is None:
        raise ValueError("reference_probabilities: needs held-out rows to be weighed on")
    for name, given, rows in (
        ("reference_probabilities", reference.audited, data.logits),
        ("held_out_reference_probabilities", reference.held_out, held_out.logits),
    ):
        if given.shape != rows.shape:
            raise ValueError(f"{name}: needs shape {rows.shape}, got {given.shape}")
