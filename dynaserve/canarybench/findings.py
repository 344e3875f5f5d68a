"""From what was found in a release to leaks, each in the cluster that publishes it."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from dynaserve.canarybench.baseline import Accepted
from dynaserve.canarybench.manifest import CanaryManifest
from dynaserve.canarybench.matching import Tier
from dynaserve.canarybench.published import Cluster, Publication
from dynaserve.canarybench.rates import Rate
from dynaserve.canarybench.report import VERBATIM_TIERS, ClusterResult, Leak, TierResult
from dynaserve.canarybench.search import Find, Places
from dynaserve.canarybench.serialized import Leaf

FALSE_POSITIVE_LIMIT = 1 / 1000
"""A tier that finds a larger share of the decoys is reported, but fails no audit."""
OUTSIDE = "outside-clusters"
"""The name of the result that holds leaks which no published cluster holds."""


def tier_results(finds: Collection[Find], manifest: CanaryManifest) -> tuple[TierResult, ...]:
    """Return how each tier did on the canaries and, for its rate of false alarms, the decoys.

    The exact tier always gates: a decoy that stands in a release letter by letter is no mistake
    of the matcher. Nor is a decoy that shares its stretch with a canary that was found there:
    many leaks of like values would otherwise look like many false alarms.
    """
    planted = {canary.id for canary in manifest.canaries}
    leaked: dict[Leaf, list[tuple[int, int]]] = defaultdict(list)
    for find in finds:
        if find.canary_id in planted:
            for leaf, start, end in find.stretches():
                leaked[leaf].append((start, end))
    found: dict[Tier, set[str]] = {tier: set() for tier in Tier}
    for find in finds:
        if find.canary_id in planted or not _overlaps(find, leaked):
            found[find.tier].add(find.canary_id)
    results = []
    for tier, ids in found.items():
        decoys = Rate(len(ids - planted), len(manifest.decoys))
        gates = tier == Tier.EXACT or not decoys.total or decoys.value <= FALSE_POSITIVE_LIMIT
        results.append(TierResult(tier, len(ids & planted), decoys, gates))
    return tuple(results)


def _overlaps(find: Find, taken: Mapping[Leaf, list[tuple[int, int]]]) -> bool:
    return any(
        start < other_end and other_start < end
        for leaf, start, end in find.stretches()
        for other_start, other_end in taken.get(leaf, ())
    )


@dataclass(frozen=True)
class Sorter:
    """Sorts finds into clusters, and makes them leaks that may be shown."""

    manifest: CanaryManifest
    published: Publication
    places: Places
    gates: Mapping[Tier, bool]
    """Tier -> whether what it finds fails the audit."""
    baseline: Collection[Accepted]

    def results(self, finds: Iterable[Find]) -> tuple[ClusterResult, ...]:
        """Return the result of each cluster, leaking or not, and of what is outside, if it leaks.

        Parameters
        ----------
        finds
            Of canaries, no decoys.
        """
        grouped: dict[int | None, list[Find]] = defaultdict(list)
        for find in finds:
            grouped[self.published.position_of(find.canary_id, find.first.path)].append(find)
        results = [
            self._result(cluster, self.places.name(cluster.id, position), grouped[position])
            for position, cluster in enumerate(self.published.clusters)
        ]
        if None in grouped:
            outside = Cluster(OUTSIDE, None, self.published.document, frozenset())
            results.append(self._result(outside, OUTSIDE, grouped[None]))
        return tuple(results)

    def _result(self, cluster: Cluster, name: str, finds: Sequence[Find]) -> ClusterResult:
        content = json.dumps([cluster.id, cluster.content])
        fingerprint = self.manifest.hashed(content)
        strongest: dict[tuple[str, str], Find] = {}
        for find in sorted(finds, key=self._weakness):
            strongest.setdefault((find.canary_id, self.places.of(find)), find)
        times: Counter[str] = Counter()
        leaks = []
        for (canary_id, place), find in strongest.items():
            line, column = self.places.in_text(find) or (None, None)
            leaks.append(
                Leak(
                    canary_id=canary_id,
                    kind=self.manifest.by_id[canary_id].kind,
                    tier=find.tier,
                    place=place,
                    keyed_hash=self.manifest.keyed_hash(canary_id),
                    fingerprint=_fingerprint(canary_id, name, times[canary_id]),
                    cluster=name,
                    gates=self.gates[find.tier],
                    accepted=find.tier not in VERBATIM_TIERS
                    and Accepted(canary_id, fingerprint) in self.baseline,
                    line=line,
                    column=column,
                )
            )
            times[canary_id] += 1
        return ClusterResult(
            name=name,
            place="" if cluster.path is None else self.places.pointer(cluster.path),
            fingerprint=fingerprint,
            canaries=None if cluster.canaries is None else len(cluster.canaries),
            leaks=tuple(leaks),
        )

    def _weakness(self, find: Find) -> tuple[bool, int]:
        return not self.gates[find.tier], find.tier.rank


def cluster_rate(results: Iterable[ClusterResult]) -> Rate:
    """Return the rate of clusters that leak, of those that had something to leak."""
    clusters = [result for result in results if result.name != OUTSIDE]
    leaking = [any(leak.gates for leak in cluster.leaks) for cluster in clusters]
    total = sum(
        leaks or cluster.canaries != 0 for leaks, cluster in zip(leaking, clusters, strict=True)
    )
    return Rate(sum(leaking), total)


def _fingerprint(canary_id: str, cluster: str, time: int) -> str:
    """Name a finding by what stays when other clusters, or the text around it, change."""
    return hashlib.sha256(json.dumps([canary_id, cluster, time]).encode()).hexdigest()[:32]
