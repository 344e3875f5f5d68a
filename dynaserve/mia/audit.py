"""The audit as a function of arrays, so that it runs wherever the logits came from.

It checks what it is asked and hands over to the attackers; nothing is measured here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dynaserve.defenses import Defense, Undefended
from dynaserve.mia.attackers import Attackers, Measured, Progress
from dynaserve.mia.data import AuditData
from dynaserve.mia.defended import Defended
from dynaserve.mia.results import Audit, Protocol

__all__ = ["Measured", "Progress", "Protocol", "audit", "audit_data", "measure_data"]


def audit(
    logits: Any,
    labels: Any,
    member: Any,
    *,
    defense: Defense | None = None,
    shadow_logits: Any = None,
    shadow_member: Any = None,
    neighbor_logits: Any = None,
    repeats: Sequence[int] = (1, 10, 100),
    protocol: Protocol = "adaptive",
    seed: int = 0,
    queries: Any = None,
    shadow_neighbor_logits: Any = None,
    neighbor_queries: Any = None,
    shadow_defenses: Sequence[Defense] | None = None,
    bootstrap: int = 200,
    progress: Progress | None = None,
) -> Audit:
    """Measure what membership inference gains from a model's answers, and from defended ones.

    Parameters
    ----------
    logits
        (n, k) float, numpy or torch: the target's, for members and non-members alike.
    labels
        (n,) integers in 0..k-1, the true classes.
    member
        (n,) booleans or 0 and 1: whether the target was trained on the row.
    defense
        What is to be tested; None tests the bare model.
    shadow_logits, shadow_member
        (S, n, k) and (S, n): the same for shadow models, each trained on its own half of the
        rows, or on none of them, which leaves the offline attacks. Without them the attacks that
        learn from shadows are left out.
    neighbor_logits
        (n, M, k): the target's answers to M near-duplicates of each row; or a mapping from a
        name for the size of the jitter to such arrays, of which the worst is reported.
    repeats
        How often the same query is asked, each a form of its own; 1 is always among them.
    protocol
        ``adaptive``: shadows are defended too, thresholds come from them, temperature is undone.
        ``paper``: that of the DynaNoise paper, thresholds fixed at p_y >= .9 and loss <= .5, the
        rest learned on undefended shadows, one query.
    seed
        Of all that is random; two runs with the same arguments agree if the defense is one of
        this package.
    queries
        (n, ...) the model's inputs, for keyed defenses; None stands for n different ones.
    shadow_neighbor_logits
        (S, n, M, k), or a mapping: the shadows' answers to the same near-duplicates.
    neighbor_queries
        (n, M, ...), or a mapping: the near-duplicates, for keyed defenses.
    shadow_defenses
        One defense for each shadow, where the attacker has to fit it to the model. None puts
        the target's there, keyed noise with another key, a `RankTemplate` calibrated anew.
    bootstrap
        Resamples behind the intervals of AUC and balanced accuracy; 0 leaves all intervals out
        (they are then the whole range).
    progress
        Told after each step.

    Raises
    ------
    ValueError
        For arrays that do not fit together, naming which and where; see `AuditData.checked`.
    ImportError
        With shadows but without scikit-learn (the ``audit`` extra).

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> member = np.arange(400) < 200
    >>> labels = rng.integers(0, 3, 400)
    >>> logits = rng.normal(size=(400, 3)) + np.eye(3)[labels] * (1 + 3 * member[:, None])
    >>> found = audit(logits, labels, member)
    >>> found.worst.attack, round(found.worst.auc, 1)
    ('confidence', 1.0)
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
    return audit_data(
        data,
        defense=defense,
        repeats=repeats,
        protocol=protocol,
        seed=seed,
        shadow_defenses=shadow_defenses,
        bootstrap=bootstrap,
        progress=progress,
    )


def audit_data(
    data: AuditData,
    *,
    defense: Defense | None = None,
    repeats: Sequence[int] = (1, 10, 100),
    protocol: Protocol = "adaptive",
    seed: int = 0,
    shadow_defenses: Sequence[Defense] | None = None,
    bootstrap: int = 200,
    progress: Progress | None = None,
) -> Audit:
    """Do what `audit` does, for arrays that were checked before; see there."""
    data, defended, times = _prepared(
        data,
        defense,
        repeats=repeats,
        protocol=protocol,
        seed=seed,
        shadow_defenses=shadow_defenses,
    )
    attackers = Attackers(data, protocol, seed, bootstrap, progress)
    return attackers.audit(defense or Undefended(), defended, times)


def measure_data(
    data: AuditData,
    *,
    defense: Defense | None = None,
    repeats: Sequence[int] = (1, 10, 100),
    protocol: Protocol = "adaptive",
    seed: int = 0,
    shadow_defenses: Sequence[Defense] | None = None,
) -> Measured:
    """Return the half of `audit_data` with the defense, without intervals: no "before"."""
    data, defended, times = _prepared(
        data,
        defense,
        repeats=repeats,
        protocol=protocol,
        seed=seed,
        shadow_defenses=shadow_defenses,
    )
    return Attackers(data, protocol, seed, 0, None).measure(defended, times)


def _prepared(
    data: AuditData,
    defense: Defense | None,
    *,
    repeats: Sequence[int],
    protocol: Protocol,
    seed: int,
    shadow_defenses: Sequence[Defense] | None,
) -> tuple[AuditData, Defended | None, tuple[int, ...]]:
    """Return what the protocol shows, the defended models (None for none) and the repeats."""
    if protocol not in ("adaptive", "paper"):
        raise ValueError(f"protocol: must be 'adaptive' or 'paper', got {protocol!r}")
    times = _checked_repeats(repeats) if protocol == "adaptive" else (1,)
    if protocol == "paper":
        data = replace(data, neighbors={})
    if defense is None or isinstance(defense, Undefended):
        return data, None, times
    if protocol == "paper":
        return data, Defended.naive(defense, data, seed=seed), times
    known = Defended.known(defense, data, shadow_defenses=shadow_defenses, seed=seed)
    return data, known, times


def _checked_repeats(repeats: Sequence[int]) -> tuple[int, ...]:
    times = list(repeats)
    if not all(isinstance(t, (int, np.integer)) and not isinstance(t, bool) for t in times):
        raise ValueError(f"repeats: needs whole numbers, got {times}")
    if any(t < 1 for t in times):
        raise ValueError(f"repeats: must be at least 1, got {times}")
    return tuple(sorted({1, *map(int, times)}))
