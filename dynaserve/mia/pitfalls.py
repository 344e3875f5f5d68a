"""Arrays that fit together and still are not what an audit needs.

Probabilities where logits belong, held-out rows that are audited too, too few rows. Mistakes are
refused, weaknesses are put in words. No value of a row is ever printed, only counts.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

FEWEST_ROWS = 100
"""Of either kind. With fewer the 95% interval of an AUC is wider than .5 +- .08."""

_SUM_SLACK = 0.02
"""Of probabilities that were rounded to two places for a file."""
_MOST_SHARED = 0.1
"""Share of held-out rows that may be twins of audited ones: data sets do hold rows twice."""


_TAKE_LOGARITHMS = "pass logits, or numpy.log(numpy.maximum(p, 1e-38))"


def require_no_probabilities(
    values: NDArray[Any], name: str, remedy: str = _TAKE_LOGARITHMS
) -> None:
    """Refuse "logits" (..., k) that are probabilities: all in 0..1, with sums of 1.

    Their softmax is nearly the same for every row, so that an audit would find next to nothing.
    Zeros and ones alone are taken: bare labels lose nothing in a softmax.

    Raises
    ------
    ValueError
        Naming the array and how to get logits from it.
    """
    if not values.size or not (values.min() >= 0 and values.max() <= 1):
        return
    bare_labels = ((values == 0) | (values == 1)).all()
    if not bare_labels and (np.abs(values.sum(axis=-1, dtype=np.float64) - 1) <= _SUM_SLACK).all():
        raise ValueError(
            f"{name}: every row lies in 0..1 and sums to 1, so these are probabilities; {remedy}"
        )


def require_apart(
    held_out: NDArray[Any],
    held_out_labels: NDArray[Any],
    audited: NDArray[Any],
    labels: NDArray[Any],
    name: str = "held_out_logits",
) -> None:
    """Refuse held-out rows (h, ...) of which more than a tenth are among the audited (n, ...).

    Rows are inputs or answers. A row of which the audited ones hold several says nothing: coarse
    models give many inputs the same answer.

    Raises
    ------
    ValueError
        Naming the array and how many rows are shared.
    """
    if held_out.shape[1:] != audited.shape[1:]:
        return
    known = Counter(_keys(audited, labels))
    shared = sum(known[key] == 1 for key in _keys(held_out, held_out_labels))
    if shared > _MOST_SHARED * len(held_out):
        raise ValueError(
            f"{name}: {shared:,} of {len(held_out):,} rows are audited too; a defense is "
            "calibrated on rows neither trained on nor audited"
        )


def _keys(rows: NDArray[Any], labels: NDArray[Any]) -> list[bytes]:
    """Return one key for each row and its label, whatever the width of the floats."""
    # Adding 0.0 makes -0.0 equal to 0.0.
    flat = rows.reshape(len(rows), -1).astype(np.float32) + np.float32(0.0)
    return [
        row.tobytes() + label.tobytes() for row, label in zip(flat, labels.astype(str), strict=True)
    ]


def too_few_rows(member: NDArray[np.bool_]) -> str | None:
    """Return a sentence on what chance alone does to an AUC, None if there are rows enough.

    The standard deviation of the AUC of m members and n non-members without any leak is
    sqrt((m + n + 1) / (12 m n)) (Mann and Whitney, 1947).
    """
    members, others = int(member.sum()), int((~member).sum())
    if min(members, others) >= FEWEST_ROWS:
        return None
    half = min(1.96 * np.sqrt((members + others + 1) / (12 * members * others)), 0.5)
    return (
        f"Few rows: with {members} members and {others} non-members a model that leaks nothing "
        f"gets an AUC of .5 ± {half:.2f} by chance. Take {FEWEST_ROWS} of either for ± .08, 1,000 "
        "for ± .025."
    )
