"""The frontier as a picture: what each defense costs, and what still leaks behind it.

It draws a finished search; needs matplotlib.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np

from dynaserve.extras import needing
from dynaserve.mia.tune.results import Trial, Tuning

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

_STYLES = {
    "none": ("#555555", "X"),
    "top-1 only": ("#555555", "s"),
    "temperature only": ("#a06a00", "v"),
    "DynaNoise paper": ("#c44e52", "o"),
    "DynaNoise keyed": ("#dd8452", "D"),
    "RankTemplate": ("#2a6fbb", "^"),
    "public reference": ("#3a923a", "P"),
}
"""Family -> colour and marker; told apart in grey too."""
_OVER = "#f2dede"


def frontier_png(tuning: Tuning) -> bytes:
    """Return a PNG with two panels: AUC against accuracy lost, and against calibration error.

    Filled marks keep the whole budget, hollow ones break a limit, be it that of the other panel.

    Raises
    ------
    ImportError
        Naming the extra, without matplotlib.
    """
    with needing("the figure needs matplotlib", extra="audit"):
        from matplotlib.figure import Figure  # noqa: PLC0415 - optional

    figure = Figure(figsize=(10, 5), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    budget = tuning.budget
    _draw(left, tuning, lambda t: 100 * max(t.accuracy_loss, 0.0), 100 * budget.accuracy_loss)
    left.set_xlabel("accuracy lost (percentage points)")
    left.set_ylabel("AUC of the best attack that knows the defense")
    _draw(right, tuning, lambda t: t.calibration_error, budget.calibration_error)
    right.set_xlabel("expected calibration error")
    chosen = "nothing keeps it" if tuning.best is None else f"chosen: {tuning.best.name}"
    figure.suptitle(f"{budget}; {chosen}", fontsize="medium")
    figure.legend(handles=_legend(tuning), loc="outside lower center", ncols=5, frameon=False)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=150)
    return buffer.getvalue()


def _draw(axes: Axes, tuning: Tuning, cost: Callable[[Trial], float], limit: float | None) -> None:
    for trial in tuning.trials:
        color, marker = _STYLES[trial.family]
        # Where defenses crowd, the two ends lie on top, then what keeps the budget.
        end, fits = trial.family in ("none", "top-1 only"), trial.within(tuning.budget)
        axes.scatter(
            [cost(trial)], [trial.exposure], marker=marker, s=36, edgecolors=color,
            facecolors=color if fits else "white",
            alpha=0.85, zorder=5 if end else 4 if fits else 3,
        )  # fmt: skip
    edge = np.array(list(_lower_edge((cost(t), t.exposure) for t in tuning.trials)))
    axes.step(*edge.T, where="post", color="#999999", linewidth=1, zorder=1)
    if limit is not None:
        right = max(axes.get_xlim()[1], limit * 1.05)
        axes.axvspan(limit, right, color=_OVER, zorder=0)
        axes.set_xlim(right=right)
    if tuning.best is not None:
        axes.scatter(
            [cost(tuning.best)], [tuning.best.exposure], facecolors="none", edgecolors="black",
            marker="o", s=170, linewidths=1.5, zorder=6,
        )  # fmt: skip
    axes.grid(alpha=0.25)


def _legend(tuning: Tuning) -> list[Artist]:
    from matplotlib.lines import Line2D  # noqa: PLC0415 - optional
    from matplotlib.patches import Patch  # noqa: PLC0415

    tried = {trial.family for trial in tuning.trials}
    marks: list[Artist] = [
        Line2D([], [], linestyle="", color=color, marker=marker, label=family)
        for family, (color, marker) in _STYLES.items()
        if family in tried
    ]
    hollow = Line2D([], [], linestyle="", color="#555555", marker="o", markerfacecolor="white")
    hollow.set_label("hollow: over budget")
    marks.append(hollow)
    marks.append(Patch(color=_OVER, label="over this limit"))
    marks.append(Line2D([], [], color="#999999", label="least leak at this cost"))
    return marks


def _lower_edge(points: Iterable[tuple[float, float]]) -> Iterable[tuple[float, float]]:
    """Yield the points that no cheaper one undercuts."""
    least = float("inf")
    for x, y in sorted(points):
        if y < least:
            least = y
            yield x, y
