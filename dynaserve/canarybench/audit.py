"""Audit what a system would publish: find out whether any of it repeats what was planted.

The audit looks at the release as it leaves, not at what the system meant to say, and first
proves on a release made to leak that it would have found every single canary. It fails closed:
what cannot be read, or would show nothing, is an exception and never a pass.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import islice
from typing import Any

from dynaserve.canarybench.baseline import Accepted
from dynaserve.canarybench.control import require_control
from dynaserve.canarybench.exposure import exposures
from dynaserve.canarybench.findings import Sorter, cluster_rate, tier_results
from dynaserve.canarybench.indicators import count_indicators
from dynaserve.canarybench.manifest import SHORTEST_VALUE, CanaryManifest
from dynaserve.canarybench.matching import Matcher
from dynaserve.canarybench.pipeline import Release
from dynaserve.canarybench.published import Membership, Publication, publication
from dynaserve.canarybench.rates import Rate
from dynaserve.canarybench.report import ClusterResult, Report, Suppressed
from dynaserve.canarybench.search import Find, Places, search, search_leaves
from dynaserve.canarybench.serialized import (
    Format,
    Leaf,
    NothingToCheck,
    Serialized,
    read_release,
)


class Auditor:
    """Audits releases made from conversations in which one manifest was planted.

    Preparing takes longer than an audit, so keep it for several releases. It may be used by
    several threads.

    Raises
    ------
    NothingToCheck
        If nothing was planted.
    """

    def __init__(self, manifest: CanaryManifest) -> None:
        if not manifest.canaries:
            raise NothingToCheck("the manifest holds no canaries: there is nothing to look for")
        self.manifest = manifest
        self._matcher = Matcher((*manifest.canaries, *manifest.decoys))
        self._controlled: dict[bool, int] = {}

    def audit(
        self,
        release: Any,
        *,
        clusters: Membership | None = None,
        baseline: Collection[Accepted] = (),
        form: Format = "auto",
    ) -> Report:
        """Audit one release; see `audit_release`."""
        if isinstance(release, Release):
            clusters = release.members if clusters is None else clusters
            release = release.serialized()
        serialized = read_release(release, form)
        control = self._require_control(as_text=serialized.is_text)
        published = publication(serialized, self.manifest, clusters)
        finds = search(self._matcher, serialized)
        # Names of clusters that were held back are not in the release, yet in the report.
        named = search_leaves(self._matcher, [Leaf((), name) for name in published.suppressed])
        places = Places(serialized, (*finds, *named))
        report = _report(
            self.manifest,
            serialized,
            published,
            finds,
            places,
            baseline=frozenset(baseline),
            control=control,
        )
        if report.passed:
            _require_shown(serialized, published)
        return report

    def _require_control(self, *, as_text: bool) -> int:
        """Prove, once for each form of release, that a leak in it would be found."""
        if as_text not in self._controlled:
            found = require_control(self._matcher, self.manifest, as_text=as_text)
            self._controlled[as_text] = found
        return self._controlled[as_text]


def audit_release(
    manifest: CanaryManifest,
    release: Any,
    *,
    clusters: Membership | None = None,
    baseline: Collection[Accepted] = (),
    form: Format = "auto",
) -> Report:
    """Look for the canaries of a manifest in a release.

    Parameters
    ----------
    manifest
        What was planted in the conversations that the release was made from.
    release
        What would be published: bytes or text (JSON, JSON lines or any other), or a JSON-like
        object. Bytes are best: nothing comes after them. Of the `Release` that `publish` returns
        its bytes are audited, and its clusters are known.
    clusters
        Cluster id -> ids of its conversations, if known. Rates then count only canaries and
        clusters that were at risk; without it all do.
    baseline
        Accepted findings, see `dynaserve.canarybench.baseline.load_baseline`.
    form
        What bytes or text hold: ``json``, ``jsonl``, ``text``, or ``auto`` to go by how they
        begin.

    Raises
    ------
    NothingToCheck
        If the release is empty or shorter than any canary, nothing was planted, or all clusters
        that hold canaries were held back: no verdict is possible.
    ReleaseError
        If the release cannot be read whole.
    ControlError
        If a release made to leak was not found to: this audit could not have failed.
    ValueError
        If the release publishes clusters that ``clusters`` does not know.

    Examples
    --------
    >>> from dynaserve.canarybench import Canary, CanaryManifest
    >>> canary = Canary("c0", "email", "ada.quill@example.com", conversation_id="conv-7")
    >>> report = audit_release(CanaryManifest((canary,)), {"summary": "Ask ada.quill@example.com"})
    >>> report.passed, report.leaks[0].canary_id, report.leaks[0].place
    (False, 'c0', '/summary')
    """
    return Auditor(manifest).audit(release, clusters=clusters, baseline=baseline, form=form)


def _require_shown(release: Serialized, published: Publication) -> None:
    """Refuse to pass a release that publishes nothing in which a canary could have been."""
    if not any(leaf.text.strip() for leaf in release.leaves if not leaf.is_key):
        raise NothingToCheck("the release has keys and no values: there is nothing to audit")
    letters = (sign for leaf in release.leaves for sign in leaf.text if sign.isalnum())
    if len(list(islice(letters, SHORTEST_VALUE))) < SHORTEST_VALUE:
        raise NothingToCheck("the release is shorter than any canary: none could have leaked")
    if not published.clusters:
        raise NothingToCheck("the release publishes no cluster: nothing could have leaked")
    if not published.at_risk:
        raise NothingToCheck("every cluster that holds a canary was held back: nothing was shown")


def _report(
    manifest: CanaryManifest,
    release: Serialized,
    published: Publication,
    finds: Sequence[Find],
    places: Places,
    *,
    baseline: frozenset[Accepted],
    control: int,
) -> Report:
    tiers = tier_results(finds, manifest)
    gates = {tier.tier: tier.gates for tier in tiers}
    sorter = Sorter(manifest, published, places, gates, baseline)
    planted = {canary.id for canary in manifest.canaries}
    results = sorter.results(find for find in finds if find.canary_id in planted)
    leaks = tuple(leak for result in results for leak in result.leaks)
    found = {leak.canary_id for leak in leaks if leak.gates}
    at_risk = published.at_risk | found
    texts = [leaf.text for leaf in release.leaves]
    return Report(
        leaks=leaks,
        clusters=results,
        suppressed=Suppressed(
            tuple(places.name(name, at) for at, name in enumerate(published.suppressed)),
            len(planted) - len(at_risk),
        ),
        canary_rate=Rate(len(found), len(at_risk)),
        cluster_rate=cluster_rate(results),
        tiers=tiers,
        indicators=count_indicators(texts),
        exposures=exposures(manifest, "\n".join(texts)),
        stale_baseline=tuple(map(str, sorted(baseline - _accepting(results)))),
        control=control,
    )


def _accepting(results: Iterable[ClusterResult]) -> set[Accepted]:
    """Return the baseline entries that did accept something."""
    return {
        Accepted(leak.canary_id, result.fingerprint)
        for result in results
        for leak in result.leaks
        if leak.accepted
    }
