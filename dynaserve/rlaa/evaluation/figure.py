"""MRS over the rounds as a picture: when the next edit starts to cost more than it protects.

It draws finished rows; needs matplotlib.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dynaserve.extras import needing
from dynaserve.rlaa.economics import DEFAULT_MAX_MRS
from dynaserve.rlaa.evaluation.results import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STYLES = {
    "FgAA-Naive": ("#c44e52", "o"),
    "RLAA edit": ("#2a6fbb", "^"),
    "RLAA edit, recorded": ("#3a923a", "D"),
    "RLAA rewrite": ("#dd8452", "s"),
}
"""Anonymizer -> colour and marker; told apart in grey too."""
_ASIDE = 0.12
"""Anonymizers stand next to each other, not over each other."""


_LINEAR = 0.01
"""The axis is logarithmic above; a text can also become more useful, and MRS negative."""


def require_matplotlib() -> None:
    """Raise ImportError, naming the extra, without matplotlib."""
    with needing("the figure needs matplotlib", extra="audit"):
        import matplotlib.figure  # noqa: F401, PLC0415 - optional


def mrs_png(rows: Sequence[Row]) -> bytes:
    """Return a PNG of the median MRS of each round with its quartiles, and how many texts.

    Raises
    ------
    ImportError
        Naming the extra, without matplotlib.
    ValueError
        If no text was edited.
    """
    require_matplotlib()
    from matplotlib.figure import Figure  # noqa: PLC0415 - optional

    looped = [row for row in rows if row.mrs]
    if not looped:
        raise ValueError("no text was edited: there is no MRS to draw")
    figure = Figure(figsize=(8, 4.6), layout="constrained")
    axes = figure.subplots()
    ceiling = 10 * max(DEFAULT_MAX_MRS, *map(_highest, looped))
    for place, row in enumerate(looped):
        _draw(axes, row, (place - (len(looped) - 1) / 2) * _ASIDE, ceiling)
    axes.axhline(DEFAULT_MAX_MRS, color="#555555", linestyle="--", label="λ: stop above")
    axes.set_yscale("symlog", linthresh=_LINEAR)
    axes.set_ylim(top=ceiling * 4)
    bottom = axes.get_ylim()[0]
    ticks = [tick for tick in axes.get_yticks() if bottom <= tick < ceiling / 2]
    axes.set_yticks([*ticks, ceiling], [*(f"{tick:g}" for tick in ticks), "∞"])
    axes.set_xticks(range(1, 1 + max(len(row.mrs) for row in looped)))
    axes.margins(x=0.2)
    axes.set_xlabel("round of edits (how many texts were edited in it)")
    axes.set_ylabel("MRS: utility paid per attribute protected")
    axes.grid(alpha=0.25)
    figure.legend(loc="outside lower center", ncols=len(looped) + 1, frameon=False)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=150, metadata={"Software": None})
    return buffer.getvalue()


def _highest(row: Row) -> float:
    return max(
        abs(value)
        for turn in row.mrs
        for value in (turn.low, turn.median, turn.high, 0.0)
        if value is not None
    )


def _draw(axes: Axes, row: Row, aside: float, ceiling: float) -> None:
    color, marker = _STYLES.get(row.name, ("#555555", "X"))
    x = [number + aside for number in range(1, len(row.mrs) + 1)]
    low, middle, high = (
        [ceiling if value is None else value for value in values]
        for values in zip(*((turn.low, turn.median, turn.high) for turn in row.mrs), strict=True)
    )
    reach = (
        [m - quartile for m, quartile in zip(middle, low, strict=True)],
        [quartile - m for m, quartile in zip(middle, high, strict=True)],
    )
    axes.errorbar(x, middle, yerr=reach, color=color, marker=marker, capsize=3, label=row.name)
    for place, value, turn in zip(x, high, row.mrs, strict=True):
        axes.annotate(
            f"{turn.texts}", (place, value), (0, 4), textcoords="offset points", color=color,
            ha="center",
        )  # fmt: skip
