"""Canary conversations beside the real ones, in a way that changes nothing that is counted.

A canary conversation is a copy of a real one with a made-up value in it, and stands right before
that one in its cluster: what a summarizer would do with a user's secret it does with the canary.
The clusters themselves are those of the real conversations alone.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np

from dynaserve.canarybench import CanaryManifest, Conversation, plant
from dynaserve.canarybench.canaries import KINDS
from dynaserve.canarybench.clustering import Clustering

EVERY = 10
"""One canary to so many conversations of a cluster, the most typical one first."""
MOST = 2000
"""Canaries of one request, about; more would say little more, and take longer to look for."""


@dataclass(frozen=True)
class Beside:
    """Real conversations and canary conversations, in common clusters."""

    conversations: tuple[Conversation, ...] = field(repr=False)
    """The real ones first."""
    clustering: Clustering
    planted: frozenset[str]
    """Ids of the canary conversations."""
    manifest: CanaryManifest


def plant_beside(
    conversations: Sequence[Conversation], clustering: Clustering, clusters: Collection[int]
) -> Beside:
    """Plant fresh canaries of all kinds, drawn from the operating system's randomness.

    Parameters
    ----------
    conversations, clustering
        The real ones.
    clusters
        Numbers of those clusters that get canaries, each at least one.
    """
    step = max(EVERY, len(conversations) // MOST)
    bases = [int(at) for number in clusters for at in clustering.members[number][::step]]
    token = secrets.token_hex(16)
    names = [f"planted-{token}-{number}" for number in range(len(bases))]
    copies = [
        Conversation(name, name, conversations[at].text)
        for name, at in zip(names, bases, strict=True)
    ]
    planted, manifest = plant(copies, probability=1, kinds=tuple(KINDS), seed=secrets.randbits(128))
    copy_of = {at: len(conversations) + number for number, at in enumerate(bases)}
    members = tuple(
        np.array(
            [
                each
                for at in group.tolist()
                for each in ((copy_of[at], at) if at in copy_of else (at,))
            ],
            np.intp,
        )
        for group in clustering.members
    )
    similarity = clustering.similarity
    return Beside(
        conversations=(*conversations, *planted),
        clustering=Clustering(members, np.concatenate([similarity, similarity[bases]])),
        planted=frozenset(names),
        manifest=manifest,
    )
