"""The attackers of one audit: every attack on every look at the answers, before and after.

It arranges; attacks, defended answers and verdicts are made in the modules it imports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dynaserve.defenses import Defense
from dynaserve.mia import adaptive, metrics
from dynaserve.mia.adaptive import Look, View
from dynaserve.mia.attacks import ATTACKS, PAPER_ATTACKS, Attack, Evidence, References
from dynaserve.mia.data import AuditData
from dynaserve.mia.defended import Defended
from dynaserve.mia.judging import Judge, Reading
from dynaserve.mia.results import ONE_QUERY, AttackResult, Audit, leaks

Protocol = Literal["adaptive", "paper"]
Results = dict[str, AttackResult]
Progress = Callable[[int, int, str], None]
"""Called with steps done, steps in all, and what has just been done."""


@dataclass(frozen=True)
class Utility:
    """What honest users get of the plainest answers of a look."""

    accuracy: float
    member_accuracy: float
    calibration_error: float

    @classmethod
    def of(cls, view: View, data: AuditData) -> Utility:
        """Return the target's figures, on its non-members unless they say otherwise."""
        hits, out = view.hits[0], ~data.member
        p = np.exp(view.log_p[0])
        return cls(
            accuracy=float(hits[out].mean()),
            member_accuracy=float(hits[data.member].mean()),
            calibration_error=metrics.calibration_error(p[out], data.labels[out]),
        )


class Attackers:
    """All attacks of one audit, with what they share.

    Parameters
    ----------
    data
        What they may read, and what they are judged by.
    protocol, seed, bootstrap, progress
        As of `dynaserve.mia.audit.audit`.
    """

    def __init__(
        self,
        data: AuditData,
        protocol: Protocol,
        seed: int,
        bootstrap: int,
        progress: Progress | None,
    ) -> None:
        self._data, self._protocol, self._seed = data, protocol, seed
        self._progress = progress or (lambda _done, _total, _what: None)
        member = data.shadow_member
        self._references = None if member is None else References(member, seed)
        self._judge = Judge(
            data.labels,
            data.member,
            member,
            knows_defense=protocol == "adaptive",
            bootstrap=bootstrap,
            seed=seed,
        )

    def audit(self, defense: Defense, defended: Defended | None, times: tuple[int, ...]) -> Audit:
        """Return the whole audit; no ``defended`` means that nothing changes."""
        data, near = self._data, len({n.logits.shape[1] for n in self._data.neighbors.values()})
        always_alike = defended is None or defended.repeats_itself(data)
        asked = (1,) if always_alike else times
        total = (1 + near) + (0 if defended is None else len(asked) + near)
        steps = iter(range(1, total + 1))
        before, useful_before = self._attack_all(
            adaptive.undefended_looks(data), "undefended", steps, total
        )
        after, useful_after = before, useful_before
        if defended is not None:
            after, useful_after = self._attack_all(
                adaptive.looks(data, defended, asked), "defended", steps, total
            )
        before = _repeated(before, times)
        after = _repeated(after, times) if always_alike else after
        midput, each = metrics.midput(
            _success(before), _success(after), useful_before.accuracy, useful_after.accuracy
        )
        return Audit(
            defense=defense.describe(),
            protocol=self._protocol,
            seed=self._seed,
            members=int(data.member.sum()),
            non_members=int((~data.member).sum()),
            classes=data.logits.shape[1],
            shadows=data.shadows,
            accuracy_before=useful_before.accuracy,
            accuracy_after=useful_after.accuracy,
            member_accuracy_before=useful_before.member_accuracy,
            member_accuracy_after=useful_after.member_accuracy,
            calibration_error_before=useful_before.calibration_error,
            calibration_error_after=useful_after.calibration_error,
            midput=midput,
            midput_by_attack=each,
            attacks_before=before,
            attacks=after,
            leak_before=leaks(before),
            leak=leaks(after),
            not_tested=tuple(self._not_tested(defended)),
        )

    def _attack_all(
        self, looks: Iterator[Look], what: str, steps: Iterator[int], total: int
    ) -> tuple[Results, Utility]:
        first = next(looks)
        useful = Utility.of(first.views[0], self._data)
        results: Results = {}
        for look in chain([first], looks):
            results |= self._attack(look)
            self._progress(next(steps), total, f"{what}, {_in_words(look.form)}")
        return results, useful

    def _attack(self, look: Look) -> Results:
        """Return the results of one form of asking, each attack in its strongest reading."""
        read = {
            view.words: Evidence(
                view.log_p, view.hits, self._data.labels, self._references, self._seed
            )
            for view in look.views
        }
        best: dict[str, Reading] = {}
        for name, variants in ATTACKS.items():
            if variants[0].needs_shadows and self._references is None:
                continue
            readings = [
                Reading.of(attack, words, attack.scores(read[words]))
                for words in _views_for(variants[0], look, best, self._strength_in(look))
                for attack in variants
            ]
            best[name] = max(readings, key=self._strength_in(look))
        results = [self._judge.result(name, look.form, one) for name, one in best.items()]
        return {result.name: result for result in results}

    def _strength_in(self, look: Look) -> Callable[[Reading], float]:
        return lambda reading: self._judge.strength(reading, by_shadows=look.shadows_alike)

    def _not_tested(self, defended: Defended | None) -> Iterator[str]:
        data = self._data
        yield (
            "Attacks that choose each query by the answer to the last one, such as the distance "
            "to the decision boundary: they need a live model."
        )
        if data.shadow_member is None:
            names = ", ".join(name for name, (one, *_) in ATTACKS.items() if one.needs_shadows)
            yield f"{names}: no shadow models were given."
        elif len(counts := np.unique(_pairs(data.shadow_member))) > 1:
            yield (
                f"All shadows on every row: rows differ in how many were trained on them, so "
                f"{counts[0]} to {counts[-1]} of each kind were used."
            )
        if self._protocol == "paper":
            yield (
                "Repeats, near-duplicates and an attacker who knows the defense: the paper's "
                "protocol has none of them."
            )
        elif not data.neighbors:
            yield "Near-duplicates: no neighbor_logits were given."
        elif data.shadows and any(n.shadow_logits is None for n in data.neighbors.values()):
            yield (
                "Near-duplicates on the shadows: no shadow_neighbor_logits were given, so "
                "averages were compared with single answers."
            )
        if not metrics.enough_for(0.001, data.member):
            yield (
                f"TPR at 0.1% FPR: it means nothing with {int((~data.member).sum())} "
                f"non-members; {metrics.FEWEST_NON_MEMBERS[0.001]:,} are needed."
            )
        yield from () if defended is None else defended.remarks


def _views_for(
    attack: Attack,
    look: Look,
    best: Mapping[str, Reading],
    strength: Callable[[Reading], float],
) -> list[str]:
    """Return which views are worth an attack's time."""
    if attack.access == "label":
        return list({id(view.hits): view.words for view in reversed(look.views)}.values())[::-1]
    if attack.costly:
        by_scores = [one for one in best.values() if one.attack.access == "scores"]
        return [max(by_scores, key=strength).view]
    return [view.words for view in look.views]


def _repeated(results: Results, times: tuple[int, ...]) -> Results:
    """Return results with those of one query also under each number of repeats."""
    single = [result for result in results.values() if result.form == ONE_QUERY]
    copies = [replace(one, form=str(time)) for time in times for one in single]
    near = {name: one for name, one in results.items() if one.form != ONE_QUERY}
    return {one.name: one for one in copies} | near


def _success(results: Results) -> dict[str, float]:
    """Return the balanced accuracy of the paper's attacks, each in its strongest form."""
    return {
        name: max(r.balanced_accuracy for r in results.values() if r.attack == name)
        for name in PAPER_ATTACKS
        if name in results
    }


def _pairs(shadow_member: NDArray[np.bool_]) -> NDArray[np.int64]:
    inside = shadow_member.sum(axis=0)
    return np.asarray(np.minimum(inside, len(shadow_member) - inside))


def _in_words(form: str) -> str:
    if form.startswith("near"):
        return f"{form.removeprefix('near')} near-duplicates"
    return "1 query" if form == ONE_QUERY else f"{form} repeats"
