"""The positive control: an audit that could not have found a leak is no audit.

Before a release is judged, one is made that holds canaries of every kind, and goes through the
same serialization, reading and search. If a single one is not found, there is no verdict.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from dynaserve.canarybench.manifest import Canary, CanaryManifest
from dynaserve.canarybench.matching import Matcher, Tier
from dynaserve.canarybench.search import search
from dynaserve.canarybench.serialized import read_release

MOST_SHOWN = 500
"""Canaries in the control: a search that finds so many of all kinds finds the others alike."""


class ControlError(RuntimeError):
    """The audit did not find what it was shown: something in it is broken."""


def require_control(matcher: Matcher, manifest: CanaryManifest, *, as_text: bool) -> int:
    """Prove that a release which repeats canaries word for word would have been caught.

    Parameters
    ----------
    as_text
        Make it plain text rather than JSON, as is what will be judged.

    Returns
    -------
    int
        How many canaries were shown and found: all that were planted, or 500 and a few more.

    Raises
    ------
    ControlError
        If not; it names one canary by its id.
    """
    shown = _shown(manifest.canaries)
    quotes = [f"One of them wrote: {canary.value} (as quoted)" for canary in shown]
    release = "\n".join(quotes).encode() if as_text else _as_json(quotes)
    finds = search(matcher, read_release(release, "text" if as_text else "json"))
    found = {find.canary_id for find in finds if find.tier == Tier.EXACT}
    missed = [canary.id for canary in shown if canary.id not in found]
    if missed:
        raise ControlError(
            f"the positive control failed: of {len(shown)} canaries written out in full, "
            f"{len(missed)} were not found, {missed[0]} the first; nothing that this audit says "
            "about a release would mean anything"
        )
    return len(shown)


def _shown(canaries: Sequence[Canary]) -> list[Canary]:
    """Return one of each kind, and every so many of all."""
    first_of_kind = {canary.kind: canary for canary in reversed(canaries)}
    step = max(1, len(canaries) // MOST_SHOWN)
    return list(
        {canary.id: canary for canary in (*first_of_kind.values(), *canaries[::step])}.values()
    )


def _as_json(quotes: list[str]) -> bytes:
    clusters = [{"id": at, "exemplars": [quote]} for at, quote in enumerate(quotes)]
    return json.dumps({"clusters": clusters}).encode()
