"""One candidate against a few attackers who know it: enough to rank, not to report.

It leaves out the learned attackers, which take most of an audit's time, and every interval.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

import numpy as np

from dynaserve.defenses import Undefended
from dynaserve.mia import adaptive, metrics
from dynaserve.mia.adaptive import Look, View
from dynaserve.mia.attacks import ATTACKS, Evidence, References
from dynaserve.mia.data import AuditData, Neighbors
from dynaserve.mia.defended import Defended
from dynaserve.mia.judging import Judge, Reading
from dynaserve.mia.results import ONE_QUERY, AttackResult, Leak, clear_auc, leaks
from dynaserve.mia.signals import own
from dynaserve.mia.tune.candidates import Candidate
from dynaserve.mia.tune.results import Trial

_QUICK = ("gap", "label_lira", "modified_entropy", "lira_online", "rmia_online")
_QUICK_OFFLINE = ("gap", "modified_entropy", "lira_offline", "rmia_offline")
"""For shadows that were never trained on some of the rows."""


class QuickAudit:
    """Tries candidates on the same rows.

    Parameters
    ----------
    data
        The audited answers.
    repeats
        How often a query is asked, if the answer changes.
    seed
        Of all that is random.

    Attributes
    ----------
    attacks
        Names of those that the rows allow.
    """

    def __init__(self, data: AuditData, repeats: int, seed: int) -> None:
        self._data, self._seed = data, seed
        self._times = tuple(sorted({1, repeats}))
        member = data.shadow_member
        self._references = None if member is None else References(member, seed)
        offline = self._references is not None and not self._references.online
        self.attacks = tuple(
            name
            for name in (_QUICK_OFFLINE if offline else _QUICK)
            if ATTACKS[name][0].possible_with(self._references)
        )
        learned_from = None if offline else member
        self._judge = Judge(
            data.labels, data.member, learned_from, knows_defense=True, bootstrap=0, seed=seed
        )
        self._leak_of: dict[str, dict[str, Leak]] = {}
        self._accuracy = float((data.logits.argmax(axis=1) == data.labels)[~data.member].mean())

    def data_for(self, candidate: Candidate) -> AuditData:
        """Return the rows with the queries that the candidate takes."""
        return _numbered(self._data) if candidate.by_number else self._data

    def trial(self, candidate: Candidate) -> Trial:
        """Return what the candidate costs and what a few attackers still learn."""
        known = self._leak_of.get(candidate.leaks_like or "")
        looks = self._looks(candidate, (1,) if known else self._times)
        first = next(looks)
        leak = known or self._leaks(chain([first], looks))
        self._leak_of[candidate.name] = leak
        released, out = first.views[0], ~self._data.member
        return Trial(
            name=candidate.name,
            family=candidate.family,
            defense=candidate.defense,
            protects=candidate.protects,
            accuracy_loss=self._accuracy - float(released.hits[0][out].mean()),
            calibration_error=self._calibration_error(released),
            log_loss=-float(own(released.log_p[0], self._data.labels)[out].mean()),
            leak=leak,
        )

    def _looks(self, candidate: Candidate, times: tuple[int, ...]) -> Iterator[Look]:
        data = self.data_for(candidate)
        if isinstance(candidate.defense, Undefended):
            return adaptive.undefended_looks(data)
        defended = Defended.known(candidate.defense, data, shadow_defenses=None, seed=self._seed)
        alike = defended.repeats_itself(data)
        return adaptive.looks(data, defended, (1,) if alike else times)

    def _calibration_error(self, released: View) -> float:
        out = ~self._data.member
        return metrics.calibration_error(np.exp(released.log_p[0][out]), self._data.labels[out])

    def _leaks(self, looks: Iterator[Look]) -> dict[str, Leak]:
        results = [result for look in looks for result in self._attack(look)]
        member = self._data.member
        clear = clear_auc(len(results), int(member.sum()), int((~member).sum()))
        found = leaks({result.name: result for result in results}, clear)
        # Asking again tells no more where the answer is always the same.
        return {
            str(time): replace(found[ONE_QUERY], form=str(time)) for time in self._times
        } | found

    def _attack(self, look: Look) -> Iterator[AttackResult]:
        read = {
            view.words: Evidence(
                view.log_p, view.hits, self._data.labels, self._references, self._seed
            )
            for view in look.views
        }
        for name in self.attacks:
            variants = ATTACKS[name]
            readings = (
                Reading.of(attack, words, attack.scores(evidence))
                for words, evidence in read.items()
                for attack in variants
            )
            best = max(
                readings, key=lambda r: self._judge.strength(r, by_shadows=look.shadows_alike)
            )
            yield self._judge.result(name, look.form, best)


def _numbered(data: AuditData) -> AuditData:
    """Return the rows with their numbers as queries; a near-duplicate has its row's."""
    numbers = np.arange(len(data.labels))
    near = {
        size: Neighbors(
            neighbors.logits,
            neighbors.shadow_logits,
            np.repeat(numbers[:, None, None], neighbors.logits.shape[1], axis=1),
        )
        for size, neighbors in data.neighbors.items()
    }
    return replace(data, queries=numbers[:, None], neighbors=near)
