"""ROC curves on two logarithmic axes, as coordinates for an inline SVG.

What matters of an attack is how many members it finds while it is almost never wrong, which a
linear axis hides in its first pixel. Drawn by hand: a page then needs no script, no fonts, and
its style sheet decides on the colours.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dynaserve.mia.report.words import asked, decimal, title
from dynaserve.mia.results import AttackResult, RocPoints

WIDTH, HEIGHT = 440, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 430, 12, 352
_LOWEST = 1e-3
_SAMPLES = 121

FAMILIES = {
    "LiRA": ("lira_online", "lira_online_per_example", "lira_offline", "lira_offline_per_example"),
    "RMIA": ("rmia_online", "rmia_offline"),
    "boosted": ("boosted",),
    "shadow": ("shadow",),
    "threshold": ("confidence", "loss", "entropy", "modified_entropy"),
    "label": ("gap", "label_lira", "label_best"),
}
"""Of each only the strongest is drawn: all curves would hide one another."""


@dataclass(frozen=True)
class Tick:
    """A grid line: where it is, and what is written at it; the label may be empty."""

    position: float
    label: str


@dataclass(frozen=True)
class Line:
    """One curve.

    Parameters
    ----------
    number
        Of its family in `FAMILIES`, from 1, which stands for a colour.
    path
        For the ``d`` of an SVG path.
    attack
        Which it is, for people.
    about
        How it asked, and its AUC.
    """

    number: int
    path: str
    attack: str
    about: str


@dataclass(frozen=True)
class Axes:
    """Both axes, which start at ``lowest``."""

    lowest: float

    @classmethod
    def for_rows(cls, non_members: int) -> Axes:
        """Return axes from 0.1%, or from the lowest FPR that so many non-members can show."""
        return cls(min(0.1, max(_LOWEST, 1 / non_members)))

    def x(self, fpr: float) -> float:
        """Return the horizontal position of an FPR."""
        return _LEFT + self._share(fpr) * (_RIGHT - _LEFT)

    def y(self, tpr: float) -> float:
        """Return the vertical position of a TPR."""
        return _BOTTOM - self._share(tpr) * (_BOTTOM - _TOP)

    def _share(self, value: float) -> float:
        return 1 - math.log(max(value, self.lowest)) / math.log(self.lowest)

    @property
    def x_ticks(self) -> list[Tick]:
        """Vertical grid lines."""
        return [Tick(self.x(value), _label(value)) for value in self._values()]

    @property
    def y_ticks(self) -> list[Tick]:
        """Horizontal grid lines."""
        return [Tick(self.y(value), _label(value)) for value in self._values()]

    def _values(self) -> list[float]:
        steps = [m * 10.0**e for e in range(-4, 0) for m in range(1, 10)] + [1.0]
        return [value for value in steps if value >= self.lowest * (1 - 1e-9)]

    def lines(self, results: Mapping[str, AttackResult]) -> list[Line]:
        """Return the strongest curve of each family among results of all forms of asking."""
        lines = []
        for number, attacks in enumerate(FAMILIES.values(), start=1):
            members = [result for result in results.values() if result.attack in attacks]
            if members:
                best = max(members, key=lambda result: result.auc)
                about = f"asked {asked(best.form)}, AUC {decimal(best.auc)}"
                lines.append(Line(number, self.path(best.roc), title(best.attack), about))
        return lines

    def path(self, roc: RocPoints) -> str:
        """Return a curve as an SVG path; straight pieces of it are bent by the axes."""
        fpr, tpr = np.array(roc.fpr), np.array(roc.tpr)
        between = np.geomspace(self.lowest, 1, _SAMPLES)
        x, y = np.r_[fpr, between], np.r_[tpr, np.interp(between, fpr, tpr)]
        order = np.lexsort((y, x))
        drawn = [f"{self.x(x[i]):.1f} {self.y(y[i]):.1f}" for i in order if x[i] >= self.lowest]
        return "M" + "L".join(dict.fromkeys(drawn))

    @property
    def chance(self) -> str:
        """The path of guessing."""
        return f"M{_LEFT} {_BOTTOM}L{_RIGHT} {_TOP}"


def _label(value: float) -> str:
    decade = math.log10(value)
    return f"{100 * value:g}%" if abs(decade - round(decade)) < 1e-9 else ""
