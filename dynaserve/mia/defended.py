"""The attacker's side of a defense: what it looks like to someone who knows all but the key.

It puts before every shadow what stands before the target, fitted to the shadow where the defense
is fitted to its model. It may use the target's key only for the target.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dynaserve import _core
from dynaserve.defenses import Defense, DynaNoise, NoiseKey, RankTemplate
from dynaserve.mia.data import AuditData
from dynaserve.mia.signals import Floats, log_softmax

_FIRST_LOOK = 64


class Release(Protocol):
    """What turns logits (..., k) into probabilities; a `Defense` is one."""

    def __call__(self, logits: NDArray[Any], *, queries: Any = None) -> NDArray[Any]:
        """Return probabilities of the shape of ``logits``."""
        ...


class SeededNoise:
    """DynaNoise with fresh noise, drawn from a seed so that an audit can be repeated.

    The noise has the distribution of the real one. It hides nothing and is never served.
    """

    def __init__(self, defense: DynaNoise, rng: np.random.Generator) -> None:
        self._config, self._rng = defense.config, rng

    def __call__(self, logits: NDArray[Any], *, queries: Any = None) -> NDArray[np.float32]:  # noqa: ARG002
        """Return probabilities as `DynaNoise` does."""
        rows = int(np.prod(logits.shape[:-1]))
        keys = self._rng.integers(0, 2**32, (rows, 4), dtype=np.uint32)
        config = self._config
        return _core.dynanoise(
            logits,
            keys,
            config.base_variance,
            config.sensitivity_scale,
            config.temperature,
            config.preserve_top1,
        )


@dataclass(frozen=True)
class Defended:
    """The defenses of all models, target first, as functions from logits to probabilities."""

    release: tuple[Release, ...]
    temperature: float
    remarks: tuple[str, ...] = ()

    @classmethod
    def known(
        cls,
        defense: Defense,
        data: AuditData,
        *,
        shadow_defenses: Sequence[Defense] | None,
        seed: int,
    ) -> Defended:
        """Return the target's defense and what the attacker puts before each shadow.

        Keyed noise gets another key for each shadow. A `RankTemplate` is calibrated anew on the
        rows that the shadow was not trained on, if they are enough. Any other defense serves
        all models, unless ``shadow_defenses`` brings one for each.

        Raises
        ------
        ValueError
            For another number of ``shadow_defenses`` than of shadows.
        """
        rng = np.random.default_rng(seed)
        failures: list[str] = []
        if shadow_defenses is None:
            shadow_defenses = [
                _of_shadow(defense, data, index, rng, failures) for index in range(data.shadows)
            ]
        elif len(shadow_defenses) != data.shadows:
            raise ValueError(
                f"shadow_defenses: {len(shadow_defenses)} for {data.shadows} shadows; one is "
                "needed for each"
            )
        release = tuple(_seeded(one, rng) for one in (defense, *shadow_defenses))
        remarks: tuple[str, ...] = ()
        if failures:
            remarks = (
                f"Templates of their own for {len(failures)} of {data.shadows} shadows: the "
                f"target's stood in ({failures[0]}).",
            )
        return cls(release, temperature_of(defense), remarks)

    @classmethod
    def naive(cls, defense: Defense, data: AuditData, *, seed: int) -> Defended:
        """Return the target's defense and none on the shadows: the attacker of the paper."""
        target = _seeded(defense, np.random.default_rng(seed))
        return cls((target, *[softmax_of] * data.shadows), temperature=1.0)

    def repeats_itself(self, data: AuditData) -> bool:
        """Whether the target gives the same queries the same answers, all of them."""
        queries, release = queries_of(data), self.release[0]
        # A few rows betray most noise; only what never changes is asked about all of them.
        for rows in (slice(_FIRST_LOOK), slice(None)):
            first, second = (release(data.logits[rows], queries=queries[rows]) for _ in range(2))
            if not np.array_equal(first, second):
                return False
        return True


def temperature_of(defense: Defense) -> float:
    """Return the temperature that the attacker undoes: ``config.temperature`` or 1."""
    config = getattr(defense, "config", None)
    return float(getattr(config, "temperature", getattr(defense, "temperature", 1.0)))


def _seeded(defense: Defense, rng: np.random.Generator) -> Release:
    if isinstance(defense, DynaNoise) and defense.config.noise == "fresh":
        return SeededNoise(defense, np.random.default_rng(rng.integers(2**63)))
    return defense


def _of_shadow(
    defense: Defense,
    data: AuditData,
    index: int,
    rng: np.random.Generator,
    failures: list[str],
) -> Defense:
    if isinstance(defense, DynaNoise) and defense.config.noise == "keyed":
        return DynaNoise(defense.config, key=NoiseKey(rng.bytes(32)))
    if isinstance(defense, RankTemplate):
        logits, out = data.models[index + 1], ~data.trained_on(index)
        template = defense.template
        try:
            return RankTemplate.calibrate(
                logits[out],
                data.labels[out],
                ranks=len(template.rank_weights),
                buckets=len(template.confidence),
            )
        except ValueError as error:
            failures.append(str(error))
    return defense


def softmax_of(logits: NDArray[Any], *, queries: Any = None) -> Floats:  # noqa: ARG001
    """Return the softmax, (..., k): what is released without a defense."""
    return np.exp(log_softmax(logits))


def queries_of(data: AuditData) -> NDArray[Any]:
    """Return the models' inputs, or numbers in their place: all that keyed noise needs."""
    return numbered(len(data.labels)) if data.queries is None else data.queries


def numbered(*shape: int) -> NDArray[np.int64]:
    """Return a different query for each place of a shape, (*shape, 1)."""
    return np.arange(int(np.prod(shape))).reshape(*shape, 1)
