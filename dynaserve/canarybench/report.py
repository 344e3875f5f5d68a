"""What an audit found, in a form that may be shown to anybody.

Nothing here holds a canary's value, nor any text of the release: findings are named by the
canary's id and kind, the tier that found it, the place and a keyed hash.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import Any

from dynaserve.canarybench.exposure import Exposure
from dynaserve.canarybench.matching import Tier
from dynaserve.canarybench.rates import Rate

VERBATIM_TIERS = frozenset({Tier.EXACT, Tier.NORMALIZED, Tier.DIGITS})
"""Tiers that find a whole value, however it is written; no baseline can accept one."""


@dataclass(frozen=True, slots=True)
class Leak:
    """One canary at one place of the release, by the strongest tier that found it there."""

    canary_id: str
    kind: str
    tier: Tier
    place: str
    """A JSON pointer, or line:column of a text; keys that are no plain names are numbered."""
    keyed_hash: str
    """Stands for the value; the same in every audit with the same manifest."""
    fingerprint: str
    """Stands for the finding; the same as long as its cluster publishes the canary there."""
    cluster: str | None = None
    gates: bool = True
    """False if the tier is wrong too often, by the decoys, to fail an audit."""
    accepted: bool = False
    """Whether the baseline accepts it."""
    line: int | None = None
    """Of a text, from 1."""
    column: int | None = None
    """Of a text, in code points from 1."""

    @property
    def verbatim(self) -> bool:
        """Whether the whole value was found rather than something like it."""
        return self.tier in VERBATIM_TIERS

    @property
    def fails(self) -> bool:
        """Whether it fails the audit."""
        return self.gates and not self.accepted


@dataclass(frozen=True, slots=True)
class ClusterResult:
    """One published cluster, or one published text where no clusters are known."""

    name: str
    place: str
    fingerprint: str
    """Keyed hash of what it publishes; a baseline entry holds for this alone."""
    canaries: int | None
    """How many were planted in its conversations; None if its conversations are not known."""
    leaks: tuple[Leak, ...]

    @property
    def passed(self) -> bool:
        """Whether none of its leaks fails the audit."""
        return not any(leak.fails for leak in self.leaks)


@dataclass(frozen=True, slots=True)
class TierResult:
    """How a tier did: what it found, and how often it was wrong on decoys."""

    tier: Tier
    leaks: int
    decoys: Rate
    gates: bool


@dataclass(frozen=True, slots=True)
class Suppressed:
    """What was held back, and so has shown nothing: names of clusters, number of canaries."""

    clusters: tuple[str, ...] = ()
    canaries: int = 0


@dataclass(frozen=True)
class Report:
    """The result of an audit. ``passed`` is the verdict, the rates say how sure it is."""

    leaks: tuple[Leak, ...]
    clusters: tuple[ClusterResult, ...]
    suppressed: Suppressed
    canary_rate: Rate
    """Canaries found by a tier that gates, of those in published clusters."""
    cluster_rate: Rate
    """Published clusters with such a leak, of those that had a canary to leak."""
    tiers: tuple[TierResult, ...]
    indicators: dict[str, int]
    """What has the shape of personal data in the release, canary or not."""
    exposures: tuple[Exposure, ...]
    stale_baseline: tuple[str, ...] = ()
    """Baseline entries that accept nothing any more, as canary@cluster fingerprint."""
    control: int = 0
    """How many canaries the positive control showed, and found all of."""

    @property
    def passed(self) -> bool:
        """Whether no leak fails the audit and no baseline entry is stale."""
        return not self.stale_baseline and not any(leak.fails for leak in self.leaks)

    def to_dict(self) -> dict[str, Any]:
        """Return all of it, JSON-able."""
        return {
            "format": "dynaserve-canary-report",
            "version": 1,
            "passed": self.passed,
            "canary_rate": self.canary_rate.to_dict(),
            "cluster_rate": self.cluster_rate.to_dict(),
            "suppressed": dataclasses.asdict(self.suppressed),
            "leaks": [dataclasses.asdict(leak) for leak in self.leaks],
            "clusters": [_cluster(cluster) for cluster in self.clusters],
            "tiers": [
                {
                    "tier": tier.tier,
                    "leaks": tier.leaks,
                    "decoys": tier.decoys.to_dict(),
                    "gates": tier.gates,
                }
                for tier in self.tiers
            ],
            "indicators": self.indicators,
            "exposure": [dataclasses.asdict(exposure) for exposure in self.exposures],
            "stale_baseline": list(self.stale_baseline),
            "control": self.control,
        }

    def to_json(self) -> str:
        """Return `to_dict` as JSON."""
        return json.dumps(self.to_dict(), indent=2)


def _cluster(cluster: ClusterResult) -> dict[str, Any]:
    return {
        "name": cluster.name,
        "place": cluster.place,
        "fingerprint": cluster.fingerprint,
        "passed": cluster.passed,
        "canaries": cluster.canaries,
        "leaks": len(cluster.leaks),
    }
