"""The frontier as a picture: what each defense costs, and what still leaks behind it.

It draws a finished search; needs matplotlib.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np

from dynaserve.mia.tune.results import Trial, Tuning

if TYPE_CHECKING:
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


def frontier_png(tuning: Tuning) -> bytes:
    """Return a PNG with two panels: AUC against accuracy lost, and against calibration error.

    Raises
    ------
    ImportError
        Naming the extra, without matplotlib.
    """
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - optional
    except ImportError as error:
        raise ImportError('the figure needs matplotlib: pip install "dynaserve[audit]"') from error

    figure = Figure(figsize=(10, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    budget = tuning.budget
    _draw(left, tuning, lambda t: 100 * max(t.accuracy_loss, 0.0), 100 * budget.accuracy_loss)
    left.set_xlabel("accuracy lost (percentage points)")
    left.set_ylabel("AUC of the best attack that knows the defense")
    _draw(right, tuning, lambda t: t.calibration_error, budget.calibration_error)
    right.set_xlabel("expected calibration error")
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=150)
    return buffer.getvalue()


def _draw(axes: Axes, tuning: Tuning, cost: Callable[[Trial], float], limit: float | None) -> None:
    for family, (color, marker) in _STYLES.items():
        trials = [trial for trial in tuning.trials if trial.family == family]
        if trials:
            x, y = [cost(t) for t in trials], [t.exposure for t in trials]
            # The two ends lie where defenses crowd; they are drawn over them.
            end = family in ("none", "top-1 only")
            axes.scatter(
                x, y, c=color, marker=marker, label=family, s=36, alpha=0.8, zorder=5 if end else 3
            )
    edge = np.array(list(_lower_edge((cost(t), t.exposure) for t in tuning.trials)))
    axes.step(*edge.T, where="post", color="#999999", linewidth=1, zorder=1)
    if limit is not None:
        right = max(axes.get_xlim()[1], limit * 1.05)
        axes.axvspan(limit, right, color="#f2dede", label="over budget", zorder=0)
        axes.set_xlim(right=right)
    if tuning.best is not None:
        axes.scatter(
            [cost(tuning.best)], [tuning.best.exposure], facecolors="none", edgecolors="black",
            marker="o", s=170, linewidths=1.5, label="chosen", zorder=4,
        )  # fmt: skip
    axes.grid(alpha=0.25)


def _lower_edge(points: Iterable[tuple[float, float]]) -> Iterable[tuple[float, float]]:
    """Yield the points that no cheaper one undercuts."""
    least = float("inf")
    for x, y in sorted(points):
        if y < least:
            least = y
            yield x, y
