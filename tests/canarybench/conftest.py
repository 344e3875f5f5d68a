"""A report with one of everything, made by hand."""

from __future__ import annotations

import pytest

from dynaserve.canarybench.exposure import Exposure
from dynaserve.canarybench.matching import Tier
from dynaserve.canarybench.rates import Rate
from dynaserve.canarybench.report import ClusterResult, Leak, Report, Suppressed, TierResult


def leak(canary_id, tier, place, fingerprint, **more):
    return Leak(canary_id, "email", tier, place, "ab" * 16, fingerprint, **more)


@pytest.fixture
def report():
    leaks = (
        leak("c1", Tier.EXACT, "/clusters/0/title", "f1", cluster="a"),
        leak("c2", Tier.SUBSTRING, "/clusters/0/slug", "f2", cluster="a", accepted=True),
        leak("c3", Tier.EDIT, "7:12", "f3", cluster="b", gates=False, line=7, column=12),
    )
    clusters = (
        ClusterResult("a", "/clusters/0", "aa", 2, leaks[:2]),
        ClusterResult("b", "/clusters/1", "bb", 3, leaks[2:]),
        ClusterResult("c", "/clusters/2", "cc", None, ()),
    )
    return Report(
        leaks=leaks,
        clusters=clusters,
        suppressed=Suppressed(("d", "e"), 4),
        canary_rate=Rate(2, 9),
        cluster_rate=Rate(1, 3),
        tiers=tuple(
            TierResult(tier, 1, Rate(5 if tier is Tier.EDIT else 0, 1000), tier is not Tier.EDIT)
            for tier in Tier
        ),
        indicators={"email": 17, "phone": 20, "zip": 27},
        exposures=(Exposure("email", 1.5, 3.0, 10.0, 8, 1000),),
        stale_baseline=("c9@dd",),
        control=13,
    )
