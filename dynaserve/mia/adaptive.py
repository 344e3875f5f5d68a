"""What the attacker sees: each row asked once, many times or by its near-duplicates.

Every attack is offered several ways of reading the answers of one form of asking, and the bare
labels of the same answers. All models answer behind the defenses that `defended` put before them.
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
from dynaserve.mia.signals import Floats, log_released, log_softmax, own

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
    bare
        The same answers, one way for each jitter, when each is nothing but its top-1 label.
    shadows_alike
        Whether the shadows were asked in this form too, so that they show which view is best.
    """

    form: str
    views: tuple[View, ...]
    bare: tuple[View, ...]
    shadows_alike: bool = True


def undefended_looks(data: AuditData) -> Iterator[Look]:
    """Yield one query, then near-duplicates, without a defense and at full precision."""
    log_p = np.stack([log_softmax(logits) for logits in data.models])
    votes = np.zeros(log_p.shape)
    np.put_along_axis(votes, log_p.argmax(axis=-1)[..., None], 1.0, axis=-1)
    hits = own(votes, data.labels)
    yield Look(ONE_QUERY, (View("as computed", log_p, hits),), (_bare("label", votes, hits),))
    yield from _near_looks(data, [softmax_of] * (1 + data.shadows), 1.0)


def looks(data: AuditData, defended: Defended, repeats: Sequence[int]) -> Iterator[Look]:
    """Yield each number of repeats, then near-duplicates, all models defended.

    Repeats are nested: the first of 100 answers is the one of a single query.
    """
    asked = [_ask(data, model, release, repeats) for model, release in enumerate(defended.release)]
    for place, times in enumerate(repeats):
        averages = [one[place] for one in asked]
        yield _look(str(times), [("", averages)], data.labels, defended.temperature)
    del asked
    yield from _near_looks(data, defended.release, defended.temperature)


@dataclass
class Average:
    """Running sums over several answers to the same rows."""

    log_p: Floats
    p: Floats
    votes: Floats
    count: int = 0

    @classmethod
    def of(cls, shape: tuple[int, ...]) -> Average:
        """Return the average of nothing yet for answers (n, k)."""
        return cls(np.zeros(shape), np.zeros(shape), np.zeros(shape))

    def add(self, p: NDArray[Any], rows: slice = slice(None)) -> None:
        """Take in probabilities (n, M, k): M answers to each of the ``rows``."""
        self.log_p[rows] += log_released(p).sum(axis=1)
        self.p[rows] += p.sum(axis=1, dtype=np.float64)
        self.votes[rows] += _counts(p.argmax(axis=-1), p.shape[-1])

    def copy(self) -> Average:
        """Return the state so far."""
        return Average(self.log_p.copy(), self.p.copy(), self.votes.copy(), self.count)


def _counts(top: NDArray[np.intp], classes: int) -> NDArray[np.int64]:
    """Return how often each class is the top one, (n, k), of top classes (n, M)."""
    rows = np.arange(len(top))[:, None]
    return np.bincount((rows * classes + top).ravel(), minlength=len(top) * classes).reshape(
        len(top), classes
    )


def _ask(data: AuditData, model: int, release: Release, repeats: Sequence[int]) -> list[Average]:
    """Return the averages of a model's first answers, one for each of the rising ``repeats``."""
    logits, queries = data.models[model], queries_of(data)
    average, snapshots = Average.of(logits.shape), []
    for time in range(1, repeats[-1] + 1):
        average.add(release(logits, queries=queries)[:, None])
        average.count = time
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
            target = _ask_near(neighbors.logits, neighbors, release[0])
            averages = [target]
            for index in range(data.shadows):
                if neighbors.shadow_logits is None:
                    alike = False
                    averages += _ask(data, index + 1, release[index + 1], (1,))
                else:
                    shadow = neighbors.shadow_logits[index]
                    averages.append(_ask_near(shadow, neighbors, release[index + 1]))
            read.append((f"jitter {size}" if size else "", averages))
        yield _look(f"near{count}", read, data.labels, temperature, alike)


def _ask_near(logits: NDArray[Any], neighbors: Neighbors, release: Release) -> Average:
    """Return the average of answers to near-duplicates with logits (n, M, k)."""
    rows, count, classes = logits.shape
    queries = neighbors.queries
    if queries is None:
        queries = -1 - numbered(rows, count)  # none of them a row's own
    whole = Average.of((rows, classes))
    step = max(1, _ROWS_AT_ONCE // (count * classes))
    for start in range(0, rows, step):
        part = slice(start, start + step)
        whole.add(release(logits[part], queries=queries[part]), part)
    whole.count = count
    return whole


def _look(
    form: str,
    read: list[tuple[str, list[Average]]],
    labels: NDArray[np.int64],
    temperature: float,
    shadows_alike: bool = True,
) -> Look:
    """Return every way of reading: jitter, mean of logarithms or of probabilities, temperature."""
    views, bare = [], []
    for jitter, averages in read:
        votes = np.stack([one.votes / one.count for one in averages])
        # One array for all views: attacks on the label see that they are the same to them.
        hits = own(votes, labels)
        bare.append(_bare(", ".join(filter(None, ("label", jitter))), votes, hits))
        for mean_of, log_p in _means(averages):
            words = ", ".join(filter(None, (jitter, mean_of)))
            views.append(View(words or "as released", log_softmax(log_p), hits))
            if temperature != 1:
                words = ", ".join(filter(None, (words, "temperature undone")))
                views.append(View(words, log_softmax(temperature * log_p), hits))
    return Look(form, tuple(views), tuple(bare), shadows_alike)


def _bare(words: str, votes: Floats, hits: Floats) -> View:
    return View(words, log_softmax(log_released(votes)), hits)


def _means(averages: list[Average]) -> Iterator[tuple[str, Floats]]:
    log_p = np.stack([one.log_p / one.count for one in averages])
    if averages[0].count == 1:
        yield "", log_p
        return
    yield "mean of log-probabilities", log_p
    yield "mean of probabilities", log_released(np.stack([one.p / one.count for one in averages]))
