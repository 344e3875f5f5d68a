"""What every attack gets: the answers of all models, and which of them may judge which.

Model 0 is the target, model s + 1 is shadow s. Nothing here holds the target's membership: no
attack can read it by mistake.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dynaserve.mia import signals
from dynaserve.mia.results import Access
from dynaserve.mia.signals import Floats

Mask = NDArray[np.bool_]


def random_of(seed: int) -> np.random.Generator:
    """Return the randomness of attacks, a stream that nothing else draws from ``seed``.

    Members are often drawn by ``default_rng(seed)``. Rows that an attack divides by the same
    stream would be divided into members and non-members.
    """
    return np.random.default_rng([int.from_bytes(b"dynaserve.mia.attacks", "big"), seed])


class References:
    """For each model, the shadows that its rows are compared with: as many IN as OUT.

    The target is compared with all shadows, a shadow with all others. Counts are made equal for
    each row by leaving some out, at random: a statistic over 8 models is less noisy than one
    over 7, which would give away whether a row was in the shadow that was left out.

    Parameters
    ----------
    member
        (S, n): whether a shadow was trained on a row; at least two of each for every row.
    seed
        Decides who is left out.
    """

    def __init__(self, member: Mask, seed: int) -> None:
        self.member = member
        inside = member.sum(axis=0)
        self._pairs = np.minimum(inside, len(member) - inside)
        self._priority = random_of(seed).random(member.shape)
        self._chosen: dict[int, tuple[Mask, Mask]] = {}

    def of(self, model: int) -> tuple[Mask, Mask]:
        """Return which shadows, (S, n), count as IN and as OUT when ``model`` is attacked."""
        if model not in self._chosen:
            present = np.ones(self.member.shape, bool)
            # One less for every row, also where the shadow left out was not among the scarcer
            # kind: a count that depends on its membership would be an attack on itself.
            pairs = self._pairs - (model > 0)
            if model > 0:
                present[model - 1] = False
            self._chosen[model] = (
                self._choose(present & self.member, pairs),
                self._choose(present & ~self.member, pairs),
            )
        return self._chosen[model]

    def _choose(self, available: Mask, count: NDArray[np.int64]) -> Mask:
        priority = np.where(available, self._priority, np.inf)
        last = np.take_along_axis(np.sort(priority, axis=0), count[None] - 1, axis=0)
        return np.asarray(priority <= last)


@dataclass(frozen=True)
class Evidence:
    """The answers of the target and of S shadows to the same n rows, read in one way.

    Parameters
    ----------
    log_p
        (1 + S, n, k) normalized log-probabilities.
    hits
        (1 + S, n) share of a row's answers with the right top-1 label: 0 or 1 for one query.
    labels
        (n,) the true classes.
    references
        None without shadows.
    seed
        Of whatever an attack draws.
    """

    log_p: Floats
    hits: Floats
    labels: NDArray[np.int64]
    references: References | None
    seed: int

    @cached_property
    def logit(self) -> Floats:
        """log(p_y / (1 - p_y)), (1 + S, n)."""
        return signals.logit_confidence(self.log_p, self.labels)

    def own_probability(self, temperature: float) -> Floats:
        """Return p_y, (1 + S, n), of the softmax of log p / temperature."""
        if temperature not in self._own_probability:
            softened = signals.log_softmax(self.log_p / temperature)
            logit = signals.logit_confidence(softened, self.labels)
            self._own_probability[temperature] = np.exp(signals.log_own_probability(logit))
        return self._own_probability[temperature]

    @cached_property
    def log_entropy(self) -> Floats:
        """Logarithm of the entropy, (1 + S, n)."""
        return signals.log_entropy(self.log_p)

    @cached_property
    def log_modified_entropy(self) -> Floats:
        """The logarithm of the modified entropy, (1 + S, n)."""
        return signals.log_modified_entropy(self.log_p, self.labels)

    @cached_property
    def _own_probability(self) -> dict[float, Floats]:
        return {}

    @property
    def shadow_member(self) -> Mask:
        """(S, n)."""
        return self._shadows.member

    @property
    def _shadows(self) -> References:
        if self.references is None:
            raise ValueError("this attack needs shadow models")
        return self.references

    def per_model(
        self, score: Callable[[Floats, Floats, Mask, Mask], Floats], of: Floats
    ) -> Floats:
        """Return scores (1 + S, n): each model's statistics against those of its references.

        Parameters
        ----------
        score
            From a model's statistic (n,), that of all shadows (S, n), and the IN and OUT masks
            (S, n), to scores (n,).
        of
            (1 + S, n) the statistic.
        """
        return np.stack(
            [score(of[model], of[1:], inside, outside) for model, inside, outside in self.compared]
        )

    @property
    def compared(self) -> Iterator[tuple[int, Mask, Mask]]:
        """Each model with its IN and OUT shadows (S, n)."""
        for model in range(len(self.log_p)):
            yield model, *self._shadows.of(model)


class Attack(ABC):
    """A rule from evidence to scores; higher means "more likely a member"."""

    access: ClassVar[Access] = "scores"
    """What of an answer it reads."""
    needs_shadows: ClassVar[bool] = True
    """Whether it is nothing without shadow models."""
    per_class: ClassVar[bool] = False
    """Whether each class has a threshold of its own."""
    costly: ClassVar[bool] = False
    """Whether it is only worth running on the most telling way of reading the answers."""
    paper_threshold: ClassVar[float | None] = None
    """The score from which the DynaNoise paper calls a row a member, if it fixes one."""

    @abstractmethod
    def scores(self, evidence: Evidence) -> Floats:
        """Return finite scores, (1 + S, n): of the target, then of each shadow by the others."""


def mean(values: Floats, mask: Mask) -> Floats:
    """Return the mean (n,) over the masked of S values (S, n)."""
    return np.asarray((values * mask).sum(axis=0) / mask.sum(axis=0))


def median(values: Floats, mask: Mask) -> Floats:
    """Return the median (n,) over the masked of S values (S, n)."""
    ordered = np.sort(np.where(mask, values, np.inf), axis=0)
    count = mask.sum(axis=0)
    low, high = ((count - 1) // 2)[None], (count // 2)[None]
    pair = np.take_along_axis(ordered, low, 0) + np.take_along_axis(ordered, high, 0)
    return np.asarray(pair[0] / 2)


def deviation(values: Floats, mask: Mask) -> Floats:
    """Return the standard deviation (n,) over the masked of S values (S, n)."""
    return np.sqrt(mean((values - mean(values, mask)) ** 2, mask))
