"""Arrays that fit together and still are not what an audit needs.

Probabilities where logits belong, held-out rows that are audited too, too few rows. Mistakes are
refused, weaknesses are put in words. No value of a row is ever printed, only counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from hashlib import blake2b
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dynaserve.mia.results import auc_spread
from dynaserve.mia.signals import log_softmax

_Look: TypeAlias = Callable[[NDArray[Any]], NDArray[Any]]

FEWEST_ROWS = 100
"""Of either kind. With fewer the 95% interval of an AUC is wider than .5 +- .08."""

_SUM_SLACK = 0.02
"""Of probabilities that were rounded to two places for a file."""
_MOST_SHARED = 0.1
"""Share of held-out rows that may be twins of audited ones: data sets do hold rows twice."""

_HIGHEST = 5
"""So many log-probabilities tell answers apart; many more, and rounding would part all copies."""
_STEPS = (0.1, 0.01, 1e-3, 1e-4)
"""To round log-probabilities by: copies may be of half precision, or roundly written."""
_LOST = 0.01
"""Share of rows that may look alike for a coarser step and not for the finest."""
_LEAST_LOG = -80.0
"""Below it a probability may have become 0 in a file."""

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
    if not values.size or not (values.min() >= -_SUM_SLACK and values.max() <= 1 + _SUM_SLACK):
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
    *,
    inputs: bool = False,
) -> None:
    """Refuse held-out rows (h, ...) of which more than a tenth are among the audited (n, ...).

    Rows are logits (n, k), or inputs (n, ...) that are compared as they are. Of logits only the
    highest log-probabilities count, and coarsely: a copy may have been shifted, have gone through
    probabilities or through floats of half the width. With two classes numbers so coarse say too
    little to tell a copy from chance, and copies of half precision pass.

    A row of which the audited ones hold several says nothing: coarse models give many inputs the
    same answer. What rows share by chance is measured among the audited ones and allowed for.

    Raises
    ------
    ValueError
        Naming the array and how many rows are shared.
    """
    if held_out.shape[1:] != audited.shape[1:]:
        return
    too_many = []
    for look, known in _compared(audited, labels, inputs=inputs):
        shared = sum(known[key] == 1 for key in _keys(look(held_out), held_out_labels))
        pairs = sum(times == 2 for times in known.values())
        if shared > (_MOST_SHARED + 2 * pairs / len(audited)) * len(held_out):
            too_many.append(shared)
    if too_many:
        raise ValueError(
            f"{name}: {max(too_many):,} of {len(held_out):,} rows are audited too; a defense is "
            "calibrated on rows neither trained on nor audited"
        )


def _compared(
    rows: NDArray[Any], labels: NDArray[Any], *, inputs: bool
) -> list[tuple[_Look, Counter[bytes]]]:
    """Return the ways to look at rows in which they still differ, and how often each is there."""
    looks: list[_Look] = [partial(_highest, step=step) for step in _STEPS]
    if inputs:
        looks = [_as_they_are]
    known = [Counter(_keys(look(rows), labels)) for look in looks]
    alone = [sum(times == 1 for times in each.values()) for each in known]
    enough = alone[-1] - _LOST * len(rows)
    coarsest = next(index for index, count in enumerate(alone) if count >= enough)
    return list(zip(looks, known, strict=True))[coarsest:]


def _as_they_are(rows: NDArray[Any]) -> NDArray[Any]:
    # Adding 0.0 makes -0.0 equal to 0.0.
    return rows.astype(np.float32) + np.float32(0.0)


def _highest(logits: NDArray[Any], step: float) -> NDArray[Any]:
    """Return the highest log-probabilities of each row in steps, falling: ties have no order."""
    rows = np.sort(log_softmax(logits), axis=-1)[..., : -_HIGHEST - 1 : -1]
    return np.rint(np.maximum(rows, _LEAST_LOG) / step).astype(np.int32)


def _keys(rows: NDArray[Any], labels: NDArray[Any]) -> Iterator[bytes]:
    """Yield a digest for each row and its label."""
    for row, label in zip(rows, labels.astype(str), strict=True):
        yield blake2b(row.tobytes() + label.encode(), digest_size=16).digest()


def too_few_rows(member: NDArray[np.bool_]) -> str | None:
    """Return a sentence on what chance alone does to an AUC, None if there are rows enough."""
    members, others = int(member.sum()), int((~member).sum())
    if min(members, others) >= FEWEST_ROWS:
        return None
    half = min(1.96 * auc_spread(members, others), 0.5)
    return (
        f"Few rows: with {members} members and {others} non-members a model that leaks nothing "
        f"gets an AUC of .5 ± {half:.2f} by chance. Take {FEWEST_ROWS} of either for ± .08, 1,000 "
        "for ± .025."
    )
