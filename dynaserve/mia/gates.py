"""Gates: ``lira_auc>0.6`` as a reason to fail a build.

A gate names one number of an `Audit` and a limit. It may never pass for want of the number: what
is unknown, was not tested or means nothing with so few rows is an error.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import NoReturn

from dynaserve.mia.attacks import ATTACKS, LABEL_BEST
from dynaserve.mia.metrics import FEWEST_NON_MEMBERS
from dynaserve.mia.plan import Plan
from dynaserve.mia.results import ONE_QUERY, AttackResult, Audit

MEASURES = (
    "best_balanced_accuracy",  # before the shorter name that it ends in
    "balanced_accuracy",
    "tpr_at_1pct_fpr",
    "tpr_at_01pct_fpr",
    "auc",
)
"""What can be asked of an attack."""

_FPR = {"tpr_at_1pct_fpr": 0.01, "tpr_at_01pct_fpr": 0.001}
_WORST = "worst"
_NAMES = (*ATTACKS, LABEL_BEST)

_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}

_WHOLE: dict[str, Callable[[Audit], float]] = {
    "accuracy_loss": lambda audit: audit.accuracy_before - audit.accuracy_after,
    "ece": lambda audit: audit.calibration_error_after,
    "midput": lambda audit: audit.midput,
}
"""Numbers of the audit as a whole; losses are positive."""
_SIGNED = {"accuracy_loss", "midput"}
"""What may be negative."""

_SPLIT: dict[str, Callable[[Audit, str], float]] = {
    "floor": lambda audit, form: audit.leak[form].floor,
    "scores_add": lambda audit, form: audit.leak[form].scores_add,
    "total": lambda audit, form: audit.leak[form].total,
}
"""Numbers of each form of asking; without ``@form`` the highest of them counts."""

_EXPRESSION = re.compile(
    r"\s*([\w.@]+?)\s*(>=|<=|>|<)\s*(-?(?:\d+\.?\d*|\.\d+)(?:e-?\d+)?)\s*(%?)\s*"
)


@dataclass(frozen=True)
class Outcome:
    """What became of one gate.

    Parameters
    ----------
    expression
        As the user wrote it.
    value
        What was measured.
    failed
        Whether the expression holds, which is what must not be.
    """

    expression: str
    value: float
    failed: bool

    def __str__(self) -> str:
        return f"{self.expression} (measured {self.value:.4g})"


@dataclass(frozen=True)
class Gate:
    """A parsed expression; `parse` makes one.

    Examples
    --------
    >>> gate = Gate.parse("accuracy_loss > 0.5%")
    >>> gate.metric, gate.operator, gate.limit
    ('accuracy_loss', '>', 0.005)
    """

    expression: str
    metric: str
    operator: str
    limit: float

    @classmethod
    def parse(cls, expression: str) -> Gate:
        """Return the gate that fails whenever ``expression`` holds.

        Metrics
            ``lira_online.auc``, ``lira_online@100.auc``: one entry of the report, by its name;
            ``@1`` may be added to that of one query.
            ``lira_auc``, ``rmia_tpr_at_1pct_fpr``, ``loss_auc``: the highest of all attacks whose
            name starts like this, in every form of asking. ``worst_auc``: of all attacks.
            ``floor``, ``scores_add``, ``total``: the leak in AUC, highest form of asking;
            ``floor@1`` that of one form.
            ``accuracy_loss``, ``ece``, ``midput``: of the audit as a whole.
        Operators
            ``>``, ``>=``, ``<``, ``<=``.
        Limits
            A number the metric can take, or a percentage such as ``0.5%``.

        Raises
        ------
        ValueError
            If it is no such expression, or no audit has a metric of that name.
        """
        match = _EXPRESSION.fullmatch(expression)
        if match is None:
            raise ValueError(
                f"gate {expression!r}: write a metric, one of > >= < <= and a number, such as "
                "lira_auc>0.6"
            )
        metric, sign, number, percent = match.groups()
        gate = cls(expression.strip(), metric, sign, float(number) / (100 if percent else 1))
        gate._require_known()
        least = -1 if metric in _SIGNED else 0
        if not least <= gate.limit <= 1:
            raise ValueError(
                f"gate {expression!r}: {metric} lies in {least}..1, so it would never or always "
                "fail; write 0.6 or 60%"
            )
        return gate

    def require_planned(self, plan: Plan) -> None:
        """Refuse before an audit what `check` would refuse after it.

        Raises
        ------
        ValueError
            As `check` does.
        """
        name, form, measure = _parts(self.metric)
        if measure is not None:
            self._chosen(name, plan.attacks)
            if measure in _FPR and plan.non_members < FEWEST_NON_MEMBERS[_FPR[measure]]:
                self._refuse_as_meaningless(measure)
        elif name in _SPLIT:
            self._forms(form, plan.forms)

    def check(self, audit: Audit) -> Outcome:
        """Return whether the gate fails.

        Raises
        ------
        ValueError
            If this audit did not test the metric, or had too few rows for it to mean anything.
        """
        value = self._value(audit)
        # .8 - .795 is a little more than .005 in floating point.
        beyond = round(value - self.limit, 12)
        return Outcome(self.expression, value, _OPERATORS[self.operator](beyond, 0))

    def _require_known(self) -> None:
        name, form, measure = _parts(self.metric)
        if measure is None:
            known = name in _SPLIT or (name in _WHOLE and form is None)
        elif "." in self.metric:
            known = name in _NAMES
        else:
            known = form is None and (name == _WORST or bool(_family(name, _NAMES)))
        if not known:
            raise ValueError(
                f"gate {self.expression!r}: no metric {self.metric!r}; known are worst_auc, "
                f"lira_auc, rmia_auc, {', '.join([*_SPLIT, *_WHOLE])}, and ATTACK.MEASURE or "
                f"ATTACK@FORM.MEASURE with an attack among {', '.join(_NAMES)} and a measure "
                f"among {', '.join(MEASURES)}"
            )

    def _value(self, audit: Audit) -> float:
        name, form, measure = _parts(self.metric)
        if measure is not None:
            chosen = self._chosen(name, audit.attacks)
            return max(self._measured(audit.attacks[one], measure) for one in chosen)
        if name in _WHOLE:
            return _WHOLE[name](audit)
        return max(_SPLIT[name](audit, one) for one in self._forms(form, audit.leak))

    def _chosen(self, name: str, tested: Collection[str]) -> list[str]:
        """Return which of the tested attacks, named as in `Audit.attacks`, the gate reads."""
        if "." in self.metric:
            entry = self.metric.partition(".")[0].removesuffix(f"@{ONE_QUERY}")
            chosen = [one for one in tested if one == entry]
        elif name == _WORST:
            chosen = list(tested)
        else:
            family = _family(name, {one.partition("@")[0] for one in tested})
            chosen = [one for one in tested if one.partition("@")[0] in family]
        if not chosen:
            self._refuse_as_untested(repr(self.metric), tested)
        return chosen

    def _forms(self, form: str | None, tested: Collection[str]) -> list[str]:
        if form is not None and form not in tested:
            self._refuse_as_untested(f"form {form!r}", tested)
        return list(tested) if form is None else [form]

    def _measured(self, result: AttackResult, measure: str) -> float:
        if not getattr(result, f"{measure}_meaningful", True):
            self._refuse_as_meaningless(measure)
        return float(getattr(result, measure))

    def _refuse_as_untested(self, what: str, tested: Iterable[str]) -> NoReturn:
        raise ValueError(
            f"gate {self.expression!r}: {what} is not tested; tested are {', '.join(tested)}"
        )

    def _refuse_as_meaningless(self, measure: str) -> NoReturn:
        raise ValueError(
            f"gate {self.expression!r}: {measure} means nothing with so few non-members; an FPR of "
            "1% takes 100 of them, one of 0.1% takes 1,000"
        )


def _parts(metric: str) -> tuple[str, str | None, str | None]:
    """Return attack or number, form of asking, and measure of a metric's name."""
    name, dot, measure = metric.partition(".")
    if dot:
        attack, at, form = name.partition("@")
        # An unknown measure makes the attack unknown too: neither can be looked up.
        return (attack, form if at else None, measure) if measure in MEASURES else ("", None, "")
    for known in MEASURES:
        if name.endswith(f"_{known}"):
            return name.removesuffix(f"_{known}"), None, known
    number, at, form = name.partition("@")
    return number, form if at else None, None


def _family(name: str, attacks: Iterable[str]) -> set[str]:
    """Return the attacks of that name or, as with ``lira``, whose names go on after it."""
    return {attack for attack in attacks if attack == name or attack.startswith(f"{name}_")}
