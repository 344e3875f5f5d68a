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
from dynaserve.mia.data import FEWEST_SHADOWS
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
    """For each model, the shadows that its rows are compared with.

    The target is compared with all shadows, a shadow with all others. Where IN and OUT are
    compared with each other, some are left out at random, so that a row has as many of either: a
    statistic over 8 models is less noisy than one over 7, which would give away whether a row was
    in the shadow that was left out. An offline attack takes every OUT shadow.

    Parameters
    ----------
    member
        (S, n): whether a shadow was trained on a row; at least two were not for every row.
    seed
        Decides who is left out.
    """

    def __init__(self, member: Mask, seed: int) -> None:
        self.member = member
        inside = member.sum(axis=0)
        self._outside = len(member) - inside
        self._pairs = np.minimum(inside, self._outside)
        self._priority = random_of(seed).random(member.shape)
        self._both: dict[int, tuple[Mask, Mask]] = {}
        self._out: dict[int, Mask] = {}

    @property
    def online(self) -> bool:
        """Whether every row has IN shadows too; else only offline attacks can use these."""
        return has_both(self.member)

    def of(self, model: int) -> tuple[Mask, Mask]:
        """Return which shadows, (S, n), count as IN and as OUT when ``model`` is attacked.

        Raises
        ------
        ValueError
            If they are not `online`.
        """
        if not self.online:
            raise ValueError("this attack needs shadows that were trained on each row")
        if model not in self._both:
            others = self._others(model)
            pairs = self._pairs - (model > 0)
            self._both[model] = (
                self._choose(others & self.member, pairs),
                self._choose(others & ~self.member, pairs),
            )
        return self._both[model]

    def out(self, model: int) -> Mask:
        """Return which shadows, (S, n), an offline attack on ``model`` takes: all OUT ones."""
        if model not in self._out:
            available = self._others(model) & ~self.member
            self._out[model] = self._choose(available, self._outside - (model > 0))
        return self._out[model]

    def _others(self, model: int) -> Mask:
        """Return the shadows that may judge a model, (S, n): all but itself.

        A shadow has one less of each kind for every row, also of the kind that it is not of: a
        count that depends on its membership would be an attack on itself.
        """
        others = np.ones(self.member.shape, bool)
        if model > 0:
            others[model - 1] = False
        return others

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
        """Return scores (1 + S, n): each model's statistics against those of IN and OUT shadows.

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

    def per_model_offline(
        self, score: Callable[[Floats, Floats, Mask], Floats], of: Floats
    ) -> Floats:
        """Return what `per_model` does, by all OUT shadows alone: ``score`` gets no IN mask."""
        shadows = self._shadows
        return np.stack([score(of[model], of[1:], shadows.out(model)) for model in range(len(of))])

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
    offline: ClassVar[bool] = False
    """Whether shadows that were never trained on the row are enough for it."""
    per_class: ClassVar[bool] = False
    """Whether each class has a threshold of its own."""
    costly: ClassVar[bool] = False
    """Whether it is only worth running on the most telling way of reading the answers."""
    paper_threshold: ClassVar[float | None] = None
    """The score from which the DynaNoise paper calls a row a member, if it fixes one."""

    @classmethod
    def possible_with(cls, references: References | None) -> bool:
        """Whether the shadows, if there are any, are what it needs."""
        if references is None:
            return not cls.needs_shadows
        return references.online or cls.offline or not cls.needs_shadows

    @abstractmethod
    def scores(self, evidence: Evidence) -> Floats:
        """Return finite scores, (1 + S, n): of the target, then of each shadow by the others."""


def has_both(shadow_member: Mask) -> bool:
    """Whether enough shadows (S, n) were trained on every row, and enough were not."""
    inside = shadow_member.sum(axis=0)
    fewest = np.minimum(inside, len(shadow_member) - inside).min(initial=len(shadow_member))
    return bool(fewest >= FEWEST_SHADOWS)


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
