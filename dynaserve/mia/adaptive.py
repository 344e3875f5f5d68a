"""What the attacker sees: each row asked once, many times or by its near-duplicates.

Every attack is offered several ways of reading the answers of one form of asking. All models
answer behind the defenses that `defended` put before them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynaserve.mia.data import AuditData, Neighbors
from dynaserve.mia.defended import Defended, Release, numbered, queries_of, softmax_of
from dynaserve.mia.results import ONE_QUERY
from dynaserve.mia.signals import Floats, log_released, log_softmax

_ROWS_AT_ONCE = 1 << 22
"""Released values held at a time while near-duplicates are averaged."""


@dataclass(frozen=True)
class View:
    """One way of reading the answers of all models, target first.

    Parameters
    ----------
    words
        For people.
    log_p
        (1 + S, n, k) normalized log-probabilities.
    hits
        (1 + S, n) share of answers with the right label.
    """

    words: str
    log_p: Floats
    hits: Floats


@dataclass(frozen=True)
class Look:
    """One form of asking, and the ways of reading what came back.

    Parameters
    ----------
    form
        As in `AttackResult`.
    views
        The first is the plainest.
    shadows_alike
        Whether the shadows were asked in this form too, so that they show which view is best.
    """

    form: str
    views: tuple[View, ...]
    shadows_alike: bool = True


def undefended_looks(data: AuditData) -> Iterator[Look]:
    """Yield one query, then near-duplicates, without a defense and at full precision."""
    log_p = np.stack([log_softmax(logits) for logits in data.models])
    hits = (log_p.argmax(axis=-1) == data.labels).astype(np.float64)
    yield Look(ONE_QUERY, (View("as computed", log_p, hits),))
    yield from _near_looks(data, [softmax_of] * (1 + data.shadows), 1.0)


def looks(data: AuditData, defended: Defended, repeats: Sequence[int]) -> Iterator[Look]:
    """Yield each number of repeats, then near-duplicates, all models defended.

    Repeats are nested: the first of 100 answers is the one of a single query.
    """
    asked = [_ask(data, model, release, repeats) for model, release in enumerate(defended.release)]
    for place, times in enumerate(repeats):
        averages = [one[place] for one in asked]
        yield Look(str(times), tuple(_views([("", averages)], defended.temperature)))
    del asked
    yield from _near_looks(data, defended.release, defended.temperature)


@dataclass
class Average:
    """Running sums over several answers to the same rows."""

    log_p: Floats
    p: Floats
    hits: Floats
    count: int = 0

    @classmethod
    def of(cls, shape: tuple[int, ...]) -> Average:
        """Return the average of nothing yet for answers (n, k)."""
        return cls(np.zeros(shape), np.zeros(shape), np.zeros(shape[:-1]))

    def add(self, p: NDArray[Any], labels: NDArray[np.int64]) -> None:
        """Take in probabilities (n, k)."""
        self.log_p += log_released(p)
        self.p += p
        self.hits += p.argmax(axis=-1) == labels
        self.count += 1

    def copy(self) -> Average:
        """Return the state so far."""
        return Average(self.log_p.copy(), self.p.copy(), self.hits.copy(), self.count)


def _ask(data: AuditData, model: int, release: Release, repeats: Sequence[int]) -> list[Average]:
    """Return the averages of a model's first answers, one for each of the rising ``repeats``."""
    logits, queries = data.models[model], queries_of(data)
    average, snapshots = Average.of(logits.shape), []
    for time in range(1, repeats[-1] + 1):
        average.add(release(logits, queries=queries), data.labels)
        if time in repeats:
            snapshots.append(average.copy())
    return snapshots


def _near_looks(data: AuditData, release: Sequence[Release], temperature: float) -> Iterator[Look]:
    by_count: dict[int, list[tuple[str, Neighbors]]] = {}
    for size, neighbors in data.neighbors.items():
        by_count.setdefault(neighbors.logits.shape[1], []).append((size, neighbors))
    for count, group in by_count.items():
        read, alike = [], True
        for size, neighbors in group:
            target = _ask_near(neighbors.logits, neighbors, release[0], data.labels)
            averages = [target]
            for index in range(data.shadows):
                if neighbors.shadow_logits is None:
                    alike = False
                    averages += _ask(data, index + 1, release[index + 1], (1,))
                else:
                    shadow = neighbors.shadow_logits[index]
                    averages.append(_ask_near(shadow, neighbors, release[index + 1], data.labels))
            read.append((f"jitter {size}" if size else "", averages))
        yield Look(f"near{count}", tuple(_views(read, temperature)), alike)


def _ask_near(
    logits: NDArray[Any], neighbors: Neighbors, release: Release, labels: NDArray[np.int64]
) -> Average:
    """Return the average of answers to near-duplicates with logits (n, M, k)."""
    rows, count, classes = logits.shape
    queries = neighbors.queries
    if queries is None:
        queries = -1 - numbered(rows, count)  # none of them a row's own
    whole = Average.of((rows, classes))
    step = max(1, _ROWS_AT_ONCE // (count * classes))
    for start in range(0, rows, step):
        part = slice(start, start + step)
        p = release(logits[part], queries=queries[part])
        whole.log_p[part] = log_released(p).sum(axis=1)
        whole.p[part] = p.sum(axis=1, dtype=np.float64)
        whole.hits[part] = (p.argmax(axis=-1) == labels[part, None]).sum(axis=1)
    whole.count = count
    return whole


def _views(read: list[tuple[str, list[Average]]], temperature: float) -> Iterator[View]:
    """Yield every way of reading: jitter, mean of logarithms or of probabilities, temperature."""
    for jitter, averages in read:
        # One array for all views: attacks on the label see that they are the same to them.
        hits = np.stack([one.hits / one.count for one in averages])
        for mean_of, log_p in _means(averages):
            words = [part for part in (jitter, mean_of) if part]
            yield View(", ".join(words) or "as released", log_softmax(log_p), hits)
            if temperature != 1:
                words.append("temperature undone")
                yield View(", ".join(words), log_softmax(temperature * log_p), hits)


def _means(averages: list[Average]) -> Iterator[tuple[str, Floats]]:
    log_p = np.stack([one.log_p / one.count for one in averages])
    if averages[0].count == 1:
        yield "", log_p
        return
    yield "mean of log-probabilities", log_p
    yield "mean of probabilities", log_released(np.stack([one.p / one.count for one in averages]))
