"""Which clusters a release publishes, and whose conversations stand behind each.

A cluster that was held back has leaked nothing and shown nothing, so it is counted apart. What
is known of clusters comes from the release itself, from the caller, or from both.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dynaserve.canarybench.manifest import CanaryManifest
from dynaserve.canarybench.serialized import Document, Members, Path, Serialized, Step, leaves_of

Membership = Mapping[str, Iterable[str]]
"""Cluster id -> ids of its conversations."""

_LISTS = ("clusters", "summaries")
_IDS = ("id", "cluster_id", "cluster")


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster that is published."""

    id: str
    path: Path | None
    """Where it stands in the document; None if the release does not tell."""
    content: Document
    canaries: frozenset[str] | None
    """Ids of those planted in its conversations; None if its conversations are not known."""


@dataclass(frozen=True)
class Publication:
    """The clusters of a release."""

    document: Document
    """All that is published, in clusters or not."""
    clusters: tuple[Cluster, ...]
    suppressed: tuple[str, ...]
    """Ids of clusters that were held back."""
    at_risk: frozenset[str]
    """Canaries that could have leaked: all but those whose cluster was held back."""

    def position_of(self, canary_id: str, path: Path) -> int | None:
        """Return which cluster publishes a canary found at a path; None if none does."""
        for depth in range(3):  # the whole document, an entry of a list, one of a named list
            if (position := self._by_path.get(path[:depth])) is not None:
                return position
        return self._by_canary.get(canary_id)

    @functools.cached_property
    def _by_path(self) -> dict[Path, int]:
        return {
            cluster.path: position
            for position, cluster in enumerate(self.clusters)
            if cluster.path is not None
        }

    @functools.cached_property
    def _by_canary(self) -> dict[str, int]:
        return {
            canary_id: position
            for position, cluster in enumerate(self.clusters)
            if cluster.path is None
            for canary_id in cluster.canaries or ()
        }


def publication(
    release: Serialized, manifest: CanaryManifest, membership: Membership | None
) -> Publication:
    """Return the clusters that a release publishes.

    Its entries are those under ``clusters`` or ``summaries``, or the release itself if it is a
    list of objects or JSON lines; an entry is named by its ``id``, ``cluster_id`` or
    ``cluster``, else by its position. An entry with a true ``suppressed``, or whose members are
    all empty but for its name, counts as held back.

    Raises
    ------
    ValueError
        If the release publishes a cluster that ``membership`` does not know.
    """
    planted = _planted(manifest, membership)
    everything = frozenset(canary.id for canary in manifest.canaries)
    entries = _entries(release.document)
    if entries is None:
        whole = _without_entries(release, planted)
        return Publication(release.document, whole, (), everything)
    shown = [entry for entry in entries if not _held_back(entry[2])]
    known = [name for name, _, _ in entries] if planted is None else list(planted)
    if planted is not None:
        unknown = sum(name not in planted for name, _, _ in shown)
        if unknown:
            raise ValueError(
                f"the release publishes {unknown} clusters that the given memberships do not "
                "know: both must name a cluster alike"
            )
    clusters = tuple(
        Cluster(name, path, content, None if planted is None else planted[name])
        for name, path, content in shown
    )
    at_risk = everything
    if planted is not None:
        at_risk = frozenset().union(*(cluster.canaries or () for cluster in clusters))
    published = {cluster.id for cluster in clusters}
    held = tuple(dict.fromkeys(name for name in known if name not in published))
    return Publication(release.document, clusters, held, at_risk)


def _planted(
    manifest: CanaryManifest, membership: Membership | None
) -> dict[str, frozenset[str]] | None:
    """Return the canaries in each cluster's conversations."""
    if membership is None:
        return None
    by_conversation = manifest.by_conversation
    return {
        str(name): frozenset(
            canary.id
            for conversation in conversations
            for canary in by_conversation.get(conversation, ())
        )
        for name, conversations in membership.items()
    }


def _without_entries(
    release: Serialized, planted: dict[str, frozenset[str]] | None
) -> tuple[Cluster, ...]:
    if planted is None:
        return (Cluster("release", (), release.document, None),)
    return tuple(
        Cluster(name, None, release.document, canaries) for name, canaries in planted.items()
    )


def _entries(document: Document) -> list[tuple[str, Path, Document]] | None:
    """Return (name, path, content) of each entry, None if the release has no such list."""
    path: Path = ()
    if isinstance(document, Members):
        if (member := document.first(*_LISTS)) is None:
            return None
        path, document = (member[0],), member[1]
    if isinstance(document, Members):
        return [
            (name, (*path, Step(position, name)), content)
            for position, (name, content) in enumerate(document)
        ]
    if isinstance(document, list):
        return [
            (_id(content, position), (*path, Step(position)), content)
            for position, content in enumerate(document)
        ]
    return None


def _id(content: Document, position: int) -> str:
    member = content.first(*_IDS) if isinstance(content, Members) else None
    return member[1] if member and isinstance(member[1], str) and member[1] else str(position)


def _held_back(content: Document) -> bool:
    values = [content]
    if isinstance(content, Members):
        member = content.first("suppressed")
        if member is not None and member[1] == "true":
            return True
        values = [value for name, value in content if name not in _IDS]
    leaves = (leaf for value in values for leaf in leaves_of(value))
    return bool(values) and not any(leaf.text.strip() for leaf in leaves if not leaf.is_key)
