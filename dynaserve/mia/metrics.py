"""From scores to numbers: ROC curves, thresholds, MIDPUT, calibration error.

A higher score always means "more likely a member". Tied scores are one point of a curve,
infinite scores are ordinary ones, NaN is refused. It knows neither attacks nor defenses, and may
not turn a curve round: who does so must say it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynaserve.mia.results import RocPoints

FEWEST_NON_MEMBERS = {0.01: 100, 0.001: 1000}
"""FPR -> how many non-members it takes for one of them to be that share."""

_DIGITS = 9


@dataclass(frozen=True)
class Curve:
    """One or many ROC curves over the same thresholds, from the highest to the lowest.

    Parameters
    ----------
    thresholds
        (G,), falling: the distinct scores; a row is called a member if its score is at least
        the threshold.
    fpr, tpr
        (..., G + 1), rising from 0 to 1; column g counts the rows above the first g thresholds.
    """

    thresholds: NDArray[np.float64]
    fpr: NDArray[np.float64]
    tpr: NDArray[np.float64]

    def auc(self) -> NDArray[np.float64]:
        """Return the area (...): the chance that a member outranks a non-member, ties half."""
        middle = (self.tpr[..., 1:] + self.tpr[..., :-1]) / 2
        return np.asarray((np.diff(self.fpr, axis=-1) * middle).sum(axis=-1))

    def tpr_at(self, fpr: float) -> NDArray[np.float64]:
        """Return the highest TPR (...) of a threshold whose FPR is at most ``fpr``."""
        return np.asarray(np.where(self.fpr <= fpr + 1e-12, self.tpr, 0.0).max(axis=-1))

    def balanced_accuracy(self) -> NDArray[np.float64]:
        """Return (TPR + TNR) / 2 at each threshold and above all of them, (..., G + 1)."""
        return np.asarray((self.tpr + 1 - self.fpr) / 2)

    def best_threshold(self) -> float:
        """Return the threshold of the best balanced accuracy of a single curve.

        It lies half way to the next lower score, so that it fits scores beside the given ones.
        """
        best = int(self.balanced_accuracy().argmax())
        if best == 0:
            return math.inf
        above = self.thresholds[best - 1]
        below = self.thresholds[best] if best < len(self.thresholds) else -math.inf
        # A half way to infinity is no number, or beside no score.
        finite = math.isfinite(above) and math.isfinite(below)
        return float(above / 2 + below / 2) if finite else float(above)

    def points(self, most: int = 200) -> RocPoints:
        """Return a single curve's corners, at most about ``most``, dense where FPR is low."""
        turns = np.diff(self.fpr[:-1]) * np.diff(self.tpr[1:])
        turns -= np.diff(self.tpr[:-1]) * np.diff(self.fpr[1:])
        keep = np.flatnonzero(np.r_[True, np.abs(turns) > 1e-15, True])
        if keep.size > most:
            grid = np.r_[np.geomspace(1e-5, 1, most // 2), np.linspace(0, 1, most // 2)]
            last = np.searchsorted(self.fpr[keep], np.unique(grid), side="right") - 1
            keep = keep[np.unique(np.r_[0, last, keep.size - 1])]
        return RocPoints(tuple(self.fpr[keep].tolist()), tuple(self.tpr[keep].tolist()))


def roc_curve(
    scores: ArrayLike, member: ArrayLike, weights: NDArray[np.float64] | None = None
) -> Curve:
    """Return the ROC curve of scores (n,), or one for each row of weights (..., n).

    Parameters
    ----------
    scores
        (n,) real numbers, infinities included.
    member
        (n,) booleans.
    weights
        How often each row counts; None counts each once.

    Raises
    ------
    ValueError
        For NaN, for shapes that differ, or without both members and non-members.
    """
    values, positive = _checked(scores, member)
    # One infinity is one tie group, which a difference of neighbours would not see.
    order = np.argsort(-values, kind="stable")
    ordered = values[order]
    first = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    counts = np.ones(len(values)) if weights is None else weights
    counts = counts[..., order]
    return Curve(
        thresholds=ordered[first],
        fpr=_cumulative_share(counts * ~positive[order], first),
        tpr=_cumulative_share(counts * positive[order], first),
    )


def _checked(scores: ArrayLike, member: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    values, positive = np.asarray(scores, np.float64), np.asarray(member)
    if values.ndim != 1 or positive.shape != values.shape:
        raise ValueError(
            f"scores and member: need the same shape (n,), got {values.shape}, {positive.shape}"
        )
    if positive.dtype != np.bool_:
        raise ValueError(f"member: needs booleans, got dtype {positive.dtype}")
    if np.isnan(values).any():
        raise ValueError(f"scores: row {int(np.isnan(values).argmax())} is NaN")
    if positive.all() or not positive.any():
        raise ValueError("member: needs both members and non-members")
    return values, positive


def _cumulative_share(counts: NDArray[np.float64], first: NDArray[np.intp]) -> NDArray[np.float64]:
    total = np.add.reduceat(counts, first, axis=-1).cumsum(axis=-1)
    start = np.zeros((*total.shape[:-1], 1))
    return np.asarray(np.concatenate([start, total], axis=-1) / total[..., -1:])


def roc_auc(scores: ArrayLike, member: ArrayLike) -> float:
    """Return the area under the ROC curve; see `roc_curve`."""
    return float(roc_curve(scores, member).auc())


def tpr_at_fpr(scores: ArrayLike, member: ArrayLike, fpr: float) -> float:
    """Return the highest TPR at an FPR of at most ``fpr``, without interpolation."""
    return float(roc_curve(scores, member).tpr_at(fpr))


def balanced_accuracy(decisions: ArrayLike, member: ArrayLike) -> float:
    """Return (TPR + TNR) / 2 of yes-or-no answers (n,); it may lie below one half."""
    said, positive = np.asarray(decisions, bool), np.asarray(member, bool)
    return float((said[positive].mean() + 1 - said[~positive].mean()) / 2)


def best_balanced_accuracy(scores: ArrayLike, member: ArrayLike) -> float:
    """Return the balanced accuracy of the best threshold; at least one half."""
    return float(roc_curve(scores, member).balanced_accuracy().max())


def enough_for(fpr: float, member: NDArray[np.bool_]) -> bool:
    """Whether there are so many non-members that a TPR at this FPR means something."""
    return int((~member).sum()) >= FEWEST_NON_MEMBERS[fpr]


def rounded(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return scores to nine digits, so that scores equal but for rounding errors are tied.

    The order never changes. A score smaller than the median size keeps the places of that size:
    what remains of a difference of equal numbers is then zero.
    """
    size = np.abs(scores)
    usual = size[np.isfinite(size) & (size > 0)]
    if not usual.size:
        return scores
    # Halves, because the sum of two of the largest floats is none.
    size = np.where(np.isfinite(size), np.maximum(size, 2 * np.median(usual / 2)), 1.0)
    exponent = np.floor(np.log10(size)) + 1 - _DIGITS
    step = 10.0 ** np.maximum(exponent, -290)
    # A step's own rounding may not separate ties: + 0.0 also removes the sign of zero.
    return np.where(np.isfinite(scores), np.rint(scores / step) * step, scores) + 0.0


def resample_counts(
    member: NDArray[np.bool_], resamples: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return bootstrap weights (resamples, n): members and non-members each drawn anew."""
    counts = np.zeros((resamples, len(member)))
    for group in (np.flatnonzero(member), np.flatnonzero(~member)):
        drawn = rng.integers(0, group.size, (resamples, group.size))
        drawn += group.size * np.arange(resamples)[:, None]
        flat = np.bincount(drawn.ravel(), minlength=resamples * group.size)
        counts[:, group] = flat.reshape(resamples, group.size)
    return counts


def interval(resampled: NDArray[np.float64]) -> tuple[float, float]:
    """Return the central 95% of resampled values."""
    low, high = np.quantile(resampled, [0.025, 0.975])
    return float(low), float(high)


def midput(
    before: Mapping[str, float],
    after: Mapping[str, float],
    accuracy_before: float,
    accuracy_after: float,
) -> tuple[float, dict[str, float]]:
    """Return MIDPUT and its share of each attack.

    The mean over attacks of the fall in balanced accuracy, minus the fall in accuracy (DynaNoise,
    2nd version, "membership inference defense privacy-utility trade-off"). Success below one
    half counts as one half: an attacker may always say the opposite.

    Raises
    ------
    ValueError
        If no attack is in both.
    """
    shared = [name for name in before if name in after]
    if not shared:
        raise ValueError("midput: no attack was run both before and after the defense")
    lost = accuracy_before - accuracy_after
    each = {name: max(before[name], 0.5) - max(after[name], 0.5) - lost for name in shared}
    return math.fsum(each.values()) / len(each), each


def calibration_error(
    probabilities: NDArray[np.floating], labels: NDArray[np.int64], *, bins: int = 15
) -> float:
    """Return the expected calibration error of the top class over equal-width bins.

    Source: Guo et al., "On Calibration of Modern Neural Networks", 2017, equation 3.
    """
    confidence = probabilities.max(axis=1)
    correct = probabilities.argmax(axis=1) == labels
    bin_of = np.minimum((confidence * bins).astype(int), bins - 1)
    gap = np.bincount(bin_of, weights=correct - confidence, minlength=bins)
    return float(np.abs(gap).sum() / len(labels))


def calibration_error_by_chance(
    probabilities: NDArray[np.floating], *, draws: int = 1000, seed: int = 0
) -> tuple[float, float, float]:
    """Return what `calibration_error` would be if every confidence were exactly right.

    Labels are drawn so that each top class is right with the probability it states; what is left
    is the sampling error of so few rows, which no calibration removes.

    Returns
    -------
    5% quantile, median and 95% quantile over the draws.
    """
    confidence = probabilities.max(axis=1)
    random = np.random.default_rng(seed)
    two = np.stack([confidence, np.zeros_like(confidence)], axis=1)
    errors = [
        calibration_error(two, (random.random(len(two)) >= confidence).astype(np.int64))
        for _ in range(draws)
    ]
    low, median, high = np.quantile(errors, (0.05, 0.5, 0.95))
    return float(low), float(median), float(high)
