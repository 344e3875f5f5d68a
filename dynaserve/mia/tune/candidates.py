"""The defenses that a search tries, and the grids of their parameters.

Making a candidate may read held-out rows. It reads neither membership nor audited rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynaserve.defenses import Defense, DynaNoise, RankTemplate, Undefended
from dynaserve.defenses.rank_template.calibrate import HeldOut
from dynaserve.mia.peers.simple import TopOne
from dynaserve.mia.signals import log_softmax, own

_VARIANCES = (0.1, 0.3, 1.0, 3.0)
_SCALES = (0.0, 2.0)
_TEMPERATURES = (1.0, 10.0)
_RANKS = (1, 2, 3, 5)
_FITTED = np.geomspace(0.25, 16.0, 97)


@dataclass(frozen=True)
class Candidate:
    """One defense to try.

    Attributes
    ----------
    name, family, defense, protects
        As in `Trial`.
    by_number
        Whether its queries are row numbers, for which the search has to put them.
    leaks_like
        The name of an earlier candidate that differs in temperature alone, which an attacker
        undoes.
    """

    name: str
    family: str
    defense: Defense
    protects: bool = True
    by_number: bool = False
    leaks_like: str | None = None


@dataclass(frozen=True)
class ReferenceScores:
    """What a model trained on public data alone says of the same rows.

    Attributes
    ----------
    audited
        (n, k) probabilities of the audited rows.
    held_out
        (h, k) of the held-out rows.
    """

    audited: NDArray[Any]
    held_out: NDArray[Any]

    def __call__(self, numbers: Any) -> NDArray[Any]:
        """Return the probabilities of rows by number, (..., 1); held-out rows follow the audited.

        A near-duplicate gets those of its row. Whatever the public model says of it, anyone can
        compute: it tells nothing of who was trained on.
        """
        both = np.concatenate([self.audited, self.held_out])
        return np.asarray(both[np.asarray(numbers)[..., 0]])


class Remarks(list[str]):
    """Sentences on what could not be tried."""


def candidates(
    held_out: HeldOut | None, reference: ReferenceScores | None, *, seed: int, remarks: Remarks
) -> Iterator[Candidate]:
    """Yield all defenses to try, the two ends of the frontier first."""
    yield Candidate("none", "none", Undefended(), protects=False)
    yield Candidate("top-1 only", "top-1 only", TopOne(), protects=False)
    yield from _temperatures(held_out)
    yield from _noise(np.random.default_rng([seed, 8]).bytes(32))
    if held_out is None:
        remarks.append("RankTemplate: there are no held-out rows to calibrate it on.")
        return
    yield from _templates(held_out, remarks)
    if reference is not None:
        yield _with_reference(held_out, reference)


def _temperatures(held_out: HeldOut | None) -> Iterator[Candidate]:
    """Yield noise of variance zero: it protects nothing, and shows what temperature does."""
    chosen = {10.0} if held_out is None else {10.0, _fitted_temperature(held_out)}
    for t in sorted(chosen):
        yield Candidate(
            f"temperature {t:.3g}", "temperature only", DynaNoise.paper(0.0, 0.0, t), protects=False
        )


def _fitted_temperature(held_out: HeldOut) -> float:
    """Return the temperature of the least log-loss; Guo et al. 2017, section 4.2."""
    losses = [-own(log_softmax(held_out.logits / t), held_out.labels).mean() for t in _FITTED]
    return float(_FITTED[int(np.argmin(losses))])


def _noise(key: bytes) -> Iterator[Candidate]:
    """Yield both kinds of noise; the key is a throw-away one, not that of who serves the file."""
    for variance in _VARIANCES:
        for scale in _SCALES:
            yield from _over_temperatures(
                f"DynaNoise paper s0²={variance:g} λ={scale:g}",
                "DynaNoise paper",
                partial(DynaNoise.paper, variance, scale),
            )
            yield from _over_temperatures(
                f"DynaNoise keyed s0²={variance:g} λ={scale:g}",
                "DynaNoise keyed",
                partial(DynaNoise.keyed, key, variance, scale),
            )


def _over_temperatures(
    name: str, family: str, make: Callable[[float], Defense]
) -> Iterator[Candidate]:
    first = None
    for t in _TEMPERATURES:
        candidate = Candidate(f"{name} T={t:g}", family, make(t), leaks_like=first)
        yield candidate
        first = first or candidate.name


def _templates(held_out: HeldOut, remarks: Remarks) -> Iterator[Candidate]:
    most = held_out.logits.shape[1] - 1
    for buckets in (1, 2):
        for ranks in dict.fromkeys(min(ranks, most) for ranks in _RANKS):
            try:
                template = RankTemplate.calibrate(
                    held_out.logits, held_out.labels, ranks=ranks, buckets=buckets
                )
            except ValueError as error:
                remarks.append(f"RankTemplate with {buckets} buckets: {error}.")
                break
            yield Candidate(f"RankTemplate R={ranks} buckets={buckets}", "RankTemplate", template)


def _with_reference(held_out: HeldOut, reference: ReferenceScores) -> Candidate:
    """Return the public model's scores with the private label; it needs the public model."""
    numbers = len(reference.audited) + np.arange(len(held_out.labels))[:, None]
    defense = RankTemplate.calibrate(
        held_out.logits, held_out.labels, reference=reference, queries=numbers
    )
    return Candidate(
        "public reference", "public reference", defense, protects=False, by_number=True
    )
