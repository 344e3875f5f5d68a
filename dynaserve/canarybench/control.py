"""The positive control: an audit that could not have found a leak is no audit.

Before a release is judged, one is made that holds every canary, and goes through the same
serialization, reading and search. If a single one is not found, there is no verdict.
"""

from __future__ import annotations

import json

from dynaserve.canarybench.manifest import CanaryManifest
from dynaserve.canarybench.matching import Matcher, Tier
from dynaserve.canarybench.search import search
from dynaserve.canarybench.serialized import read_release


class ControlError(RuntimeError):
    """The audit did not find what it was shown: something in it is broken."""


def require_control(matcher: Matcher, manifest: CanaryManifest, *, as_text: bool) -> None:
    """Prove that a release which repeats every canary word for word would have been caught.

    Parameters
    ----------
    as_text
        Make it plain text rather than JSON, as is what will be judged.

    Raises
    ------
    ControlError
        If not; it names one canary by its id.
    """
    quotes = [f"One of them wrote: {canary.value} (as quoted)" for canary in manifest.canaries]
    release = "\n".join(quotes).encode() if as_text else _as_json(quotes)
    finds = search(matcher, read_release(release, "text" if as_text else "json"))
    found = {find.canary_id for find in finds if find.tier == Tier.EXACT}
    missed = [canary.id for canary in manifest.canaries if canary.id not in found]
    if missed:
        raise ControlError(
            f"the positive control failed: of {len(manifest.canaries)} canaries written out in "
            f"full, {len(missed)} were not found, {missed[0]} the first; nothing that this audit "
            "says about a release would mean anything"
        )


def _as_json(quotes: list[str]) -> bytes:
    clusters = [{"id": at, "exemplars": [quote]} for at, quote in enumerate(quotes)]
    return json.dumps({"clusters": clusters}).encode()
