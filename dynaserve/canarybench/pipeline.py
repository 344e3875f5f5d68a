"""From conversations to what is published of them: cluster, hold back, redact, summarize.

The defaults are the safe ones. Whatever goes wrong is an exception, never a release with less
protection, and only `Release.serialized` may leave the machine.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from dynaserve.canarybench.clustering import Clustering, Embedding, cluster
from dynaserve.canarybench.conversations import Conversation, require_distinct
from dynaserve.canarybench.summarizers import Group, Summarizer, class_keywords, keyword_summary
from dynaserve.redaction import redact as redact_text

K_MIN = 25
"""The paper's fewest users of a published cluster."""
_TITLE_WORDS = 3


@dataclass(frozen=True)
class PublishedCluster:
    """What the world sees of a cluster."""

    id: str
    title: str = field(repr=False)
    keywords: tuple[str, ...] = field(repr=False)
    summary: str = field(repr=False)
    users: int
    """How many different users wrote its conversations."""
    conversations: int


@dataclass(frozen=True)
class Release:
    """The published clusters, largest first, and what an audit must know besides."""

    clusters: tuple[PublishedCluster, ...]
    coherence: float
    """Mean cosine of the conversations in published clusters to their centroid; NaN of none."""
    members: Mapping[str, tuple[str, ...]] = field(repr=False)
    """Cluster id -> ids of its conversations, of suppressed clusters too. Never published."""
    suppressed: tuple[str, ...] = ()
    """Ids of the clusters held back by k-min."""

    def serialized(self) -> bytes:
        """Return the release as JSON, UTF-8: all that is published, byte for byte."""
        document = {
            "clusters": [asdict(cluster) for cluster in self.clusters],
            "suppressed_clusters": len(self.suppressed),
            "coherence": None if math.isnan(self.coherence) else round(self.coherence, 4),
        }
        # Escapes hold what UTF-8 cannot, lone surrogates.
        return json.dumps(document, ensure_ascii=True, indent=1).encode()


def publish(
    conversations: Sequence[Conversation],
    *,
    summarizer: Summarizer = keyword_summary,
    k_min: int = K_MIN,
    redact: Callable[[str], str] | None = redact_text,
    seed: int = 0,
    clusters: int | None = None,
    embed: Embedding | None = None,
    uncounted: Collection[str] = (),
) -> Release:
    """Summarize conversations by cluster.

    Parameters
    ----------
    conversations
        At least one, with distinct ids.
    summarizer
        `keyword_summary`, `Exemplars` or any function from a `Group` to a string.
    k_min, redact, uncounted
        See `prepare`.
    seed, clusters, embed
        See `dynaserve.canarybench.clustering.cluster`.

    Raises
    ------
    ValueError
        For parameters out of range or conversations that share an id.
    TypeError
        If the summarizer returns something else than a string.

    Examples
    --------
    >>> talks = [Conversation(f"c{n}", f"u{n}", f"My parcel {n} is late.") for n in range(30)]
    >>> release = publish(talks, clusters=1)
    >>> release.clusters[0].keywords, release.clusters[0].users
    (('late', 'parcel'), 30)
    """
    texts = [conversation.text for conversation in conversations]
    clustering = cluster(texts, clusters=clusters, embed=embed, seed=seed)
    prepared = prepare(conversations, clustering, k_min=k_min, redact=redact, uncounted=uncounted)
    return prepared.summarized(summarizer)


def prepare(
    conversations: Sequence[Conversation],
    clustering: Clustering,
    *,
    k_min: int = K_MIN,
    redact: Callable[[str], str] | None = redact_text,
    uncounted: Collection[str] = (),
) -> Prepared:
    """Hold back small clusters and redact the others: all but the summarizing.

    Parameters
    ----------
    conversations
        With distinct ids.
    clustering
        Of their texts.
    k_min
        A cluster is published only if at least so many different users wrote it in at least so
        many conversations, and a keyword only if so many users said it. 1 publishes all.
    redact
        Applied to every conversation before it is summarized and to every summary afterwards;
        None leaves everything in.
    uncounted
        Ids of conversations that are summarized, but count neither for ``k_min`` nor in the
        published numbers nor for keywords: those that an auditor added.

    Raises
    ------
    ValueError
        For ``k_min`` below 1, conversations that share an id, or a clustering of others.
    """
    if k_min < 1:
        raise ValueError(f"k_min: must be at least 1, got {k_min}")
    require_distinct(conversations)
    if len(clustering.similarity) != len(conversations):
        raise ValueError("clustering: is one of other conversations")
    ignored = frozenset(uncounted)
    members = [[conversations[at] for at in group] for group in clustering.members]
    sizes = [_Size.of(group, ignored) for group in members]
    # Who writes a conversation is one user, so there are as many conversations too.
    shown = [number for number, size in enumerate(sizes) if size.users >= k_min]
    held_back = [number for number, size in enumerate(sizes) if size.users < k_min]
    names = _names("cluster", shown) | _names("suppressed", held_back)
    return Prepared(
        groups=tuple(_groups([members[n] for n in shown], redact or str, k_min, ignored)),
        sizes=tuple(sizes[number] for number in shown),
        redact=redact or str,
        coherence=clustering.coherence(shown),
        members={
            names[number]: tuple(member.id for member in members[number])
            for number in (*shown, *held_back)
        },
    )


@dataclass(frozen=True)
class Prepared:
    """Clusters that may be published, ready to be summarized in one way or several."""

    groups: tuple[Group, ...]
    sizes: tuple[_Size, ...]
    redact: Callable[[str], str]
    coherence: float
    members: Mapping[str, tuple[str, ...]] = field(repr=False)
    """As in `Release`: first those of the groups, then the suppressed ones."""

    def summarized(self, summarizer: Summarizer) -> Release:
        """Return the release with what the summarizer makes of each group.

        Raises
        ------
        TypeError
            If it returns something else than a string.
        """
        names = tuple(self.members)
        return Release(
            clusters=tuple(
                _published(name, group, size, summarizer, self.redact)
                for name, group, size in zip(names, self.groups, self.sizes, strict=False)
            ),
            coherence=self.coherence,
            members=self.members,
            suppressed=names[len(self.groups) :],
        )


@dataclass(frozen=True)
class _Size:
    """How many people and conversations stand behind a cluster."""

    users: int
    conversations: int

    @classmethod
    def of(cls, members: Sequence[Conversation], uncounted: frozenset[str]) -> _Size:
        counted = [member.user for member in members if member.id not in uncounted]
        return cls(len(set(counted)), len(counted))


def _names(prefix: str, numbers: Sequence[int]) -> dict[int, str]:
    return {number: f"{prefix}-{rank:03d}" for rank, number in enumerate(numbers, start=1)}


def _groups(
    members: Sequence[Sequence[Conversation]],
    redact: Callable[[str], str],
    k_min: int,
    uncounted: frozenset[str],
) -> list[Group]:
    """Return what the summarizer may see of each cluster that is published."""
    texts = [tuple(redact(member.text) for member in group) for group in members]
    counted = [
        [at for at, member in enumerate(group) if member.id not in uncounted] for group in members
    ]
    keywords = class_keywords(
        [[texts[n][at] for at in chosen] for n, chosen in enumerate(counted)],
        [[members[n][at].user for at in chosen] for n, chosen in enumerate(counted)],
        k_min=k_min,
    )
    # A word that a redactor would take out of a sentence is no keyword either.
    return [
        Group(own, tuple(word for word in words if redact(word) == word))
        for own, words in zip(texts, keywords, strict=True)
    ]


def _published(
    name: str, group: Group, size: _Size, summarizer: Summarizer, redact: Callable[[str], str]
) -> PublishedCluster:
    summary: Any = summarizer(group)
    if not isinstance(summary, str):
        raise TypeError(f"summarizer: must return a string, got {type(summary).__name__}")
    return PublishedCluster(
        id=name,
        title=", ".join(group.keywords[:_TITLE_WORDS]).capitalize() or name,
        keywords=group.keywords,
        summary=redact(summary),
        users=size.users,
        conversations=size.conversations,
    )
