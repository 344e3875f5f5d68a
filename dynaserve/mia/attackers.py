"""The attackers of one audit: every attack on every look at the answers, before and after.

It arranges; attacks, defended answers and verdicts are made in the modules it imports.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from dynaserve.defenses import Defense
from dynaserve.mia import adaptive, metrics
from dynaserve.mia.adaptive import Look, View
from dynaserve.mia.attacks import (
    ATTACKS,
    LABEL_BEST,
    PAPER_ATTACKS,
    Attack,
    Evidence,
    References,
)
from dynaserve.mia.data import AuditData
from dynaserve.mia.defended import Defended
from dynaserve.mia.judging import Judge, Reading
from dynaserve.mia.results import (
    ONE_QUERY,
    Access,
    AttackResult,
    Audit,
    Leak,
    Protocol,
    clear_auc,
    leaks,
)
from dynaserve.mia.untested import untested

Results = dict[str, AttackResult]
Progress = Callable[[int, int, str], None]
"""Called with steps done, steps in all, and what has just been done."""


@dataclass(frozen=True)
class Measured:
    """What attackers and honest users get of one model.

    Attributes
    ----------
    attacks
        By `AttackResult.name`.
    leak
        The split of each form of asking, by form.
    accuracy, member_accuracy
        Of the plainest answers, on non-members and on members.
    calibration_error
        Expected calibration error of the top class on non-members, 15 bins.
    """

    attacks: Results
    leak: dict[str, Leak]
    accuracy: float
    member_accuracy: float
    calibration_error: float

    @classmethod
    def of(cls, attacks: Results, leak: dict[str, Leak], view: View, data: AuditData) -> Measured:
        """Return the figures of the target's answers in a view."""
        hits, out = view.hits[0], ~data.member
        p = np.exp(view.log_p[0])
        return cls(
            attacks,
            leak,
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
        self._floor_of: dict[tuple[object, ...], AttackResult] = {}
        self._tried = 0
        self._on_shadows = self._on_target = 0.5
        online = self._references is not None and self._references.online
        self._judge = Judge(
            data.labels,
            data.member,
            member if online else None,
            knows_defense=protocol == "adaptive",
            bootstrap=bootstrap,
            seed=seed,
        )

    def audit(self, defense: Defense, defended: Defended | None, times: tuple[int, ...]) -> Audit:
        """Return the whole audit; no ``defended`` means that nothing changes."""
        data, asked = self._data, self._asked(defended, times)
        steps = _Steps(self._steps((1,)) + (self._steps(asked) if defended else 0), self._progress)
        before = self._measured(None, (1,), times, steps)
        after = self._measured(defended, asked, times, steps) if defended else before
        midput, each = metrics.midput(
            _success(before.attacks), _success(after.attacks), before.accuracy, after.accuracy
        )
        return Audit(
            defense=defense.describe(),
            protocol=self._protocol,
            seed=self._seed,
            members=int(data.member.sum()),
            non_members=int((~data.member).sum()),
            classes=data.logits.shape[1],
            shadows=data.shadows,
            accuracy_before=before.accuracy,
            accuracy_after=after.accuracy,
            member_accuracy_before=before.member_accuracy,
            member_accuracy_after=after.member_accuracy,
            calibration_error_before=before.calibration_error,
            calibration_error_after=after.calibration_error,
            midput=midput,
            midput_by_attack=each,
            attacks_before=before.attacks,
            attacks=after.attacks,
            leak_before=before.leak,
            leak=after.leak,
            not_tested=tuple(
                untested(data, self._references, self._protocol, defended, astray=self._astray())
            ),
        )

    def measure(self, defended: Defended | None, times: tuple[int, ...]) -> Measured:
        """Return what the attackers find on the defended answers; undefended ones for None."""
        asked = self._asked(defended, times)
        return self._measured(defended, asked, times, _Steps(self._steps(asked), self._progress))

    def _asked(self, defended: Defended | None, times: tuple[int, ...]) -> tuple[int, ...]:
        """Return the numbers of repeats that can tell something new."""
        return (1,) if defended is None or defended.repeats_itself(self._data) else times

    def _steps(self, asked: tuple[int, ...]) -> int:
        return len(asked) + len({n.logits.shape[1] for n in self._data.neighbors.values()})

    def _measured(
        self,
        defended: Defended | None,
        asked: tuple[int, ...],
        times: tuple[int, ...],
        steps: _Steps,
    ) -> Measured:
        data = self._data
        looks = (
            adaptive.looks(data, defended, asked) if defended else adaptive.undefended_looks(data)
        )
        first = next(looks)
        results: Results = {}
        for look in chain([first], looks):
            results |= self._attack(look)
            what = "defended" if defended else "undefended"
            steps.done(f"{what}, {_in_words(look.form)}")
        clear = self._clear(self._tried)
        repeated = results if asked == times else _repeated(results, times)
        return Measured.of(repeated, leaks(repeated, clear), first.views[0], data)

    def _clear(self, tried: int) -> float:
        member = self._data.member
        return clear_auc(tried, int(member.sum()), int((~member).sum()))

    def _astray(self) -> bool:
        """Return whether attacks that work on the target do not on any shadow."""
        learned = self._judge.learns and self._on_shadows <= self._clear(1)
        return learned and self._on_target > self._clear(self._tried)

    def _attack(self, look: Look) -> Results:
        """Return the results of one form of asking, each attack in its strongest reading."""
        best = self._strongest(look.views, None, look.shadows_alike)
        results = [self._judge.result(name, look.form, one) for name, one in best.items()]
        return {result.name: result for result in [*results, self._on_labels(look)]}

    def _on_labels(self, look: Look) -> AttackResult:
        """Return the best of all attacks that are shown the bare labels."""
        digests = (hashlib.sha256(view.log_p.data).digest() for view in look.bare)
        votes = (look.shadows_alike, *digests)
        if votes not in self._floor_of:
            best = self._strongest(look.bare, "label", look.shadows_alike).items()
            name, reading = max(best, key=lambda one: self._judge.auc(one[1]))
            reading = replace(reading, view=f"{name} on the {reading.view}")
            self._floor_of[votes] = self._judge.result(LABEL_BEST, look.form, reading)
        return replace(self._floor_of[votes], form=look.form)

    def _strongest(
        self, views: Sequence[View], access: Access | None, by_shadows: bool
    ) -> dict[str, Reading]:
        """Return each attack's strongest reading of the views; ``access`` None is its own."""
        read = {
            view.words: Evidence(
                view.log_p, view.hits, self._data.labels, self._references, self._seed
            )
            for view in views
        }

        def strength(reading: Reading) -> float:
            return self._judge.strength(reading, by_shadows=by_shadows)

        best: dict[str, Reading] = {}
        for name, variants in ATTACKS.items():
            if not variants[0].possible_with(self._references):
                continue
            readings = [
                Reading.of(attack, words, attack.scores(read[words]), access)
                for words in _views_for(variants[0], views, best, strength)
                for attack in variants
            ]
            best[name] = max(readings, key=strength)
            # What the target's own membership chooses from, chance chooses from too.
            learned = by_shadows and self._judge.learns
            self._tried += 1 if learned else len(readings)
            self._on_target = max(self._on_target, self._judge.auc(best[name]))
            if learned:
                self._on_shadows = max(self._on_shadows, strength(best[name]))
        return best


class _Steps:
    def __init__(self, total: int, progress: Progress) -> None:
        self._total, self._progress, self._number = total, progress, 0

    def done(self, what: str) -> None:
        self._number += 1
        self._progress(self._number, self._total, what)


def _views_for(
    attack: Attack,
    views: Sequence[View],
    best: Mapping[str, Reading],
    strength: Callable[[Reading], float],
) -> list[str]:
    """Return which views are worth an attack's time."""
    if attack.access == "label":
        return list({id(view.hits): view.words for view in reversed(views)}.values())[::-1]
    if attack.costly:
        by_scores = [one for one in best.values() if one.attack.access == attack.access]
        return [max(by_scores, key=strength).view]
    return [view.words for view in views]


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


def _in_words(form: str) -> str:
    if form.startswith("near"):
        return f"{form.removeprefix('near')} near-duplicates"
    return "1 query" if form == ONE_QUERY else f"{form} repeats"
