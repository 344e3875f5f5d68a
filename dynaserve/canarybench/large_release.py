"""From clusters of many conversations to what is published of them, with few texts in memory.

A cluster is told from the numbers of all its conversations and the texts of a few. Users are
counted over all of them by 64-bit hashes: two that fall together make a count too low, never too
high, so that nothing is published for a user too few.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dynaserve.canarybench.clustering import Clustering
from dynaserve.canarybench.conversations import Conversation
from dynaserve.canarybench.pipeline import K_MIN, Release, prepare
from dynaserve.canarybench.summarizers import Summarizer, keyword_summary
from dynaserve.redaction import redact as redact_text

QUOTED = 50
"""Conversations of a cluster that a summarizer sees, each of another user."""
LONGEST = 10_000
"""Characters of a conversation that may be one of them."""


def user_hash(user: str) -> int:
    """Return 64 bits that stand for a user."""
    digest = hashlib.blake2b(user.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


@dataclass(frozen=True)
class Assigned:
    """Which cluster each of n conversations is in, and what else is to be known of all.

    Attributes
    ----------
    labels
        Its cluster, int32 (n,).
    users
        `user_hash` of who wrote it, uint64 (n,).
    similarity, value
        As in `dynaserve.canarybench.large.Nearest`, float32 (n,).
    quotable
        Whether it is at most `LONGEST` characters long, bool (n,).
    """

    labels: NDArray[np.int32]
    users: NDArray[np.uint64]
    similarity: NDArray[np.float32]
    value: NDArray[np.float32]
    quotable: NDArray[np.bool_]


@dataclass(frozen=True)
class Selection:
    """Clusters, the largest first, and which of their conversations are to be read.

    Attributes
    ----------
    labels
        What they are called in `Assigned`, (c,).
    users, conversations
        How many there are in each, (c,).
    similarity
        Summed over the conversations of each, float64 (c,).
    members
        Of each the positions, in all conversations, of those that a summarizer may see: of a
        user the one that says most of the subject, and of these at most so many that say most.
    k_min
        Fewest users of a cluster that is published.
    """

    labels: NDArray[np.intp]
    users: NDArray[np.intp]
    conversations: NDArray[np.intp]
    similarity: NDArray[np.float64]
    members: tuple[NDArray[np.intp], ...]
    k_min: int

    @property
    def shown(self) -> list[int]:
        """Numbers of the clusters that are published."""
        return [at for at, group in enumerate(self.members) if len(group) >= self.k_min]

    @property
    def positions(self) -> NDArray[np.intp]:
        """Of the conversations whose texts are needed, ascending."""
        return np.sort(np.concatenate([self.members[at] for at in self.shown] or [_NONE]))


_NONE = np.empty(0, np.intp)


def select(assigned: Assigned, *, k_min: int = K_MIN) -> Selection:
    """Count the users of every cluster, and choose what to read of it.

    Parameters
    ----------
    k_min
        A cluster is published only if at least so many users wrote it, of whom as many wrote
        something that may be read.

    Raises
    ------
    ValueError
        For ``k_min`` below 1.
    """
    if k_min < 1:
        raise ValueError(f"k_min: must be at least 1, got {k_min}")
    labels, users = assigned.labels, assigned.users
    order = np.lexsort((-assigned.value, ~assigned.quotable, users, labels))
    first = np.ones(len(order), bool)  # of its user in its cluster
    first[1:] = (np.diff(labels[order]) != 0) | (users[order][1:] != users[order][:-1])
    best = order[first]
    sizes = np.bincount(labels)
    distinct = np.bincount(labels[best], minlength=len(sizes))
    similarity = np.asarray(np.bincount(labels, assigned.similarity, len(sizes)), np.float64)
    by_size = np.lexsort((np.arange(len(sizes)), -sizes))[: np.count_nonzero(sizes)]
    readable = best[assigned.quotable[best]]
    readable = readable[np.lexsort((readable, -assigned.value[readable], labels[readable]))]
    starts = np.searchsorted(labels[readable], np.arange(len(sizes) + 1))
    most = max(QUOTED, k_min)
    return Selection(
        labels=by_size,
        users=distinct[by_size],
        conversations=sizes[by_size],
        similarity=similarity[by_size],
        members=tuple(
            readable[starts[at] : min(starts[at] + most, starts[at + 1])] for at in by_size
        ),
        k_min=k_min,
    )


def publish_selected(
    selection: Selection,
    texts: Mapping[int, Conversation],
    planted: Mapping[int, Iterable[str]],
    *,
    summarizer: Summarizer = keyword_summary,
    redact: Callable[[str], str] | None = redact_text,
) -> Release:
    """Summarize clusters by the conversations that were chosen of them.

    Parameters
    ----------
    texts
        The conversation at each of ``selection.positions``.
    planted
        Label of a cluster -> ids of its conversations that an audit must know of.
    summarizer, redact
        See `dynaserve.canarybench.pipeline.prepare`; of the texts only those chosen, and what is
        made of them, are redacted.

    Returns
    -------
    Release
        Its ``members`` are those in ``planted``; its numbers are those of all conversations.
    """
    positions, shown = selection.positions, selection.shown
    prepared = prepare(
        [texts[int(at)] for at in positions],
        _clustering(selection, positions),
        k_min=selection.k_min,
        redact=redact,
    )
    release = prepared.summarized(summarizer)
    held_back = sorted({*range(len(selection.members))} - {*shown})
    names = zip(release.members, [*shown, *held_back], strict=True)
    return replace(
        release,
        clusters=tuple(
            replace(
                cluster,
                users=int(selection.users[at]),
                conversations=int(selection.conversations[at]),
            )
            for cluster, at in zip(release.clusters, shown, strict=True)
        ),
        coherence=_coherence(selection, shown),
        members={name: tuple(planted.get(int(selection.labels[at]), ())) for name, at in names},
    )


def _clustering(selection: Selection, positions: NDArray[np.intp]) -> Clustering:
    """Return the clusters with positions in what was read; none of those that are held back."""
    shown = {*selection.shown}
    return Clustering(
        members=tuple(
            np.searchsorted(positions, group) if at in shown else _NONE
            for at, group in enumerate(selection.members)
        ),
        similarity=np.zeros(len(positions)),
    )


def _coherence(selection: Selection, shown: Sequence[int]) -> float:
    """Return the mean cosine of the conversations of published clusters; NaN of none."""
    count = selection.conversations[shown].sum() if shown else 0
    return float(selection.similarity[shown].sum() / count) if count else float("nan")
