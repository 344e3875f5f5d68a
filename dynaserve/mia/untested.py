"""What an audit left out, and why, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dynaserve.mia import metrics
from dynaserve.mia.attacks import ATTACKS, References
from dynaserve.mia.data import FEWEST_SHADOWS, AuditData
from dynaserve.mia.defended import Defended
from dynaserve.mia.pitfalls import too_few_rows
from dynaserve.mia.results import Protocol


def untested(
    data: AuditData,
    references: References | None,
    protocol: Protocol,
    defended: Defended | None,
    *,
    astray: bool,
) -> Iterator[str]:
    """Yield a sentence for everything that these arrays and this protocol leave out.

    Parameters
    ----------
    astray
        Whether attacks that work on the target do not work on the shadows.
    """
    if astray:
        yield (
            "Anything learned from the shadows: attacks that work on the target do not work on "
            "them. Do the rows of shadow_member belong to those of shadow_logits?"
        )
    yield (
        "Attacks that choose each query by the answer to the last one, such as the distance "
        "to the decision boundary: they need a live model."
    )
    yield from _impossible(references)
    if protocol == "paper":
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
    if (few := too_few_rows(data.member)) is not None:
        yield few
    if not metrics.enough_for(0.001, data.member):
        yield (
            f"TPR at 0.1% FPR: it means nothing with {int((~data.member).sum())} "
            f"non-members; {metrics.FEWEST_NON_MEMBERS[0.001]:,} are needed."
        )
    yield from () if defended is None else defended.remarks


def _impossible(references: References | None) -> Iterator[str]:
    """Yield what the shadows, or the want of them, leave out."""
    left_out = ", ".join(n for n, (one, *_) in ATTACKS.items() if not one.possible_with(references))
    if references is None:
        yield f"{left_out}: no shadow models were given."
        return
    inside = references.member.sum(axis=0)
    if left_out:
        yield (
            f"{left_out}: they need shadows that were trained on each row, {FEWEST_SHADOWS} at "
            f"least, and {int((inside < FEWEST_SHADOWS).sum()):,} of {len(inside):,} rows have "
            "fewer. So no threshold was learned on the shadows either."
        )
    elif len(counts := np.unique(np.minimum(inside, len(references.member) - inside))) > 1:
        yield (
            f"All shadows on every row: rows differ in how many were trained on them, so "
            f"{counts[0]} to {counts[-1]} of each kind were used where both are compared. The "
            "offline attacks used all that were not trained on a row."
        )
