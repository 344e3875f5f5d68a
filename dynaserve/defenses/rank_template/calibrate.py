"""From held-out rows to a template: the counting behind `RankTemplate`.

What leaves this module are averages over many rows that the model was not trained on. It may
keep no row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynaserve.defenses.rows import require_logits, unwrap

MIN_ROWS = 300
"""Fewer held-out rows say too little of ten classes and three ranks."""
MAX_RANKS = 127
"""What the compiled selection holds."""
_CLASS_PRIOR_ROWS = 20
_LEAD = 0.01
_LOW_MARGIN_SHARE = 0.05


@dataclass(frozen=True)
class HeldOut:
    """Checked calibration data: n rows of logits, float64 (n, K), and their labels, (n,)."""

    logits: NDArray[np.float64]
    labels: NDArray[np.int64]

    @classmethod
    def checked(cls, logits: Any, labels: Any) -> HeldOut:
        """Return numpy or torch logits (n, K) and integer labels (n,) in their one form.

        Raises
        ------
        ValueError
            For other shapes, fewer than 300 rows, labels that are not integers in 0..K-1, or
            naming the first row of logits without a softmax.
        """
        values = unwrap(logits, "held_out_logits").values.astype(np.float64)
        if values.ndim != 2:
            raise ValueError(f"held_out_logits: needs shape (n, K), got {values.shape}")
        rows, classes = values.shape
        if rows < MIN_ROWS:
            raise ValueError(f"held_out_logits: needs at least {MIN_ROWS} rows, got {rows}")
        require_logits(values)
        integers = labels.numpy(force=True) if hasattr(labels, "numpy") else np.asarray(labels)
        if integers.shape != (rows,):
            raise ValueError(f"held_out_labels: needs shape ({rows},), got {integers.shape}")
        if integers.dtype.kind not in "iu":
            raise ValueError(f"held_out_labels: needs integers, got dtype {integers.dtype}")
        outside = (integers < 0) | (integers >= classes)
        if outside.any():
            raise ValueError(
                f"held_out_labels: row {int(outside.argmax())} is not in 0..{classes - 1}"
            )
        return cls(values, integers.astype(np.int64))

    def true_ranks(self) -> NDArray[np.int64]:
        """Return how many classes come before the true label, ties by lower index; (n,)."""
        own = np.take_along_axis(self.logits, self.labels[:, None], axis=1)
        lower_index = np.arange(self.logits.shape[1]) < self.labels[:, None]
        before = (self.logits > own) | ((self.logits == own) & lower_index)
        return np.asarray(before.sum(axis=1))


@dataclass(frozen=True)
class Template:
    """The numbers that a release is made of; refuses any that would not keep the label.

    Parameters
    ----------
    confidence
        One tuple of K probabilities per bucket: that of the top-1 class. Of two buckets the
        first is for rows whose top-1 margin is at most ``low_margin``.
    rank_weights
        Shares of the rest for ranks 1..R, falling.
    tail_weight
        Share of each class below rank R; 0 if there is none.
    low_margin
        In logits; None with one bucket.
    calibrated_on
        Number of held-out rows, at least 300.
    """

    confidence: tuple[tuple[float, ...], ...]
    rank_weights: tuple[float, ...]
    tail_weight: float
    low_margin: float | None
    calibrated_on: int

    def __post_init__(self) -> None:
        classes, ranks = self.classes, len(self.rank_weights)
        weights = (*self.rank_weights, self.tail_weight)
        _require(len(self.confidence) == (1 if self.low_margin is None else 2), "buckets disagree")
        _require(classes >= 2, "needs at least 2 classes")
        _require(len({len(bucket) for bucket in self.confidence}) == 1, "buckets differ in classes")
        _require(1 <= ranks < classes, f"{ranks} ranks do not fit {classes} classes")
        _require(ranks <= MAX_RANKS, f"{ranks} ranks, more than {MAX_RANKS}")
        _require(all(0 <= w <= 1 for w in weights), "weights must lie in [0, 1]")
        # The mean of equal weights may lie a rounding above them.
        rises = any(next_ > w * (1 + 1e-9) for w, next_ in pairwise(weights))
        _require(not rises, "weights must not rise with rank")
        total = math.fsum(self.rank_weights) + (classes - 1 - ranks) * self.tail_weight
        _require(abs(total - 1) < 1e-6, "weights of all runner-up classes must sum to 1")
        on = self.calibrated_on
        _require(
            type(on) is int and on >= MIN_ROWS,
            f"calibrated_on must be an integer of at least {MIN_ROWS}",
        )
        _require(self.low_margin is None or 0 <= self.low_margin < math.inf, "low_margin is wrong")
        lead = self.rank_weights[0] * (1 + 1e-5)
        for bucket in self.confidence:
            for class_, p in enumerate(bucket):
                _require(
                    (1 - p) * lead < p < 1, f"confidence of class {class_} must keep it on top"
                )

    @property
    def classes(self) -> int:
        """K."""
        return len(self.confidence[0]) if self.confidence else 0


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise ValueError(f"rank template: {message}")


def calibrate_template(held_out: HeldOut, *, ranks: int, buckets: int) -> Template:
    """Count held-out rows into a template.

    Parameters
    ----------
    held_out
        Rows that the model was not trained on.
    ranks
        R >= 1, how many runner-up ranks are told apart, at most 127; K - 1 or more means all.
    buckets
        1, or 2 to tell rows apart whose margin is among the lowest 5%. Each bucket's confidence
        comes from its own rows by the same formulas, so that a class with few rows in the small
        bucket falls back on that bucket's accuracy, not on the much higher one of all rows.

    Raises
    ------
    ValueError
        For ranks or buckets out of range, or margins that no threshold divides.
    """
    if ranks < 1:
        raise ValueError(f"ranks: must be at least 1, got {ranks}")
    if min(ranks, held_out.logits.shape[1] - 1) > MAX_RANKS:
        raise ValueError(f"ranks: at most {MAX_RANKS} can be told apart, got {ranks}")
    if buckets not in (1, 2):
        raise ValueError(f"buckets: must be 1 or 2, got {buckets}")
    rank_weights, tail_weight = _rank_weights(held_out, ranks)
    every_row = np.ones(len(held_out.labels), bool)
    low_margin, cells = None, [every_row]
    if buckets == 2:
        low_margin, cells = _margin_cells(held_out.logits)
    return Template(
        confidence=tuple(_confidence(held_out, cell, rank_weights[0]) for cell in cells),
        rank_weights=rank_weights,
        tail_weight=tail_weight,
        low_margin=low_margin,
        calibrated_on=len(held_out.labels),
    )


def margins(logits: NDArray[Any]) -> NDArray[np.float64]:
    """Return the distance of the two highest of each row of logits (..., k); (...)."""
    top = np.partition(logits.astype(np.float64), -2, axis=-1)[..., -2:]
    with np.errstate(over="ignore"):
        return np.asarray(top[..., 1] - top[..., 0])


def _rank_weights(held_out: HeldOut, ranks: int) -> tuple[tuple[float, ...], float]:
    rows, classes = held_out.logits.shape
    counts = np.bincount(held_out.true_ranks(), minlength=classes)
    h = np.minimum.accumulate((counts + 0.5) / (rows + classes / 2))
    tail = h[ranks + 1 :]
    tail[:] = tail.mean() if tail.size else 0
    # Once h sums to 1 this is h_r / (1 - h_0), in which h_0 cancels: no floor of it matters.
    w = h[1:] / h[1:].sum()
    return tuple(w[:ranks].tolist()), float(w[-1]) if tail.size else 0.0


def _confidence(
    held_out: HeldOut, cell: NDArray[np.bool_], first_weight: float
) -> tuple[float, ...]:
    predicted = held_out.logits[cell].argmax(axis=1)
    correct = predicted == held_out.labels[cell]
    classes = held_out.logits.shape[1]
    accuracy = (correct.sum() + 1) / (correct.size + 2)
    rows = np.bincount(predicted, minlength=classes)
    hits = np.bincount(predicted[correct], minlength=classes)
    shrunk = (hits + _CLASS_PRIOR_ROWS * accuracy) / (rows + _CLASS_PRIOR_ROWS)
    floor = (first_weight + _LEAD) / (1 + first_weight)
    return tuple(np.maximum(shrunk, floor).tolist())


def _margin_cells(logits: NDArray[np.float64]) -> tuple[float, list[NDArray[np.bool_]]]:
    margin = margins(logits)
    threshold = float(np.quantile(margin, _LOW_MARGIN_SHARE))
    low = margin <= threshold
    if low.all():
        raise ValueError("buckets: the held-out margins are all alike; use buckets=1")
    return threshold, [low, ~low]
