"""The audit of an answer, which says whether these very bytes may leave.

It looks for the canaries that were planted, for what is personal in the real conversations, and
for stretches that somebody wrote word for word. Every find refuses, by whatever tier: the price of
a false alarm is another try with fresh canaries. What it returns names kinds, places, positions
and keyed hashes, and holds nothing of any text.
"""

from __future__ import annotations

import dataclasses
import hashlib
import secrets
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, Literal

from dynaserve.canarybench import Canary, CanaryManifest, Conversation, Leak
from dynaserve.canarybench.audit import Auditor
from dynaserve.canarybench.manifest import SHORTEST_VALUE
from dynaserve.canarybench.matching.layers import skeleton_of
from dynaserve.canarybench.matching.patterns import SHORTEST
from dynaserve.canarybench.rates import Rate
from dynaserve.canarybench.search import Places
from dynaserve.canarybench.serialized import Leaf, read_release
from dynaserve.redaction import find_personal
from dynaserve.serving.quotes import find_quotes
from dynaserve.serving.refused import TooLargeError

MOST_LISTED = 500
"""Findings that an audit lists one by one; it counts all."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One reason why an answer may not leave."""

    what: Literal["canary", "personal", "quote"]
    kind: str
    """Such as ``email``; of a quote ``text``."""
    place: str
    """JSON pointers into the answer."""
    tier: str | None = None
    """How a value was found, surest first: exact, normalized, digits, substring, edit."""
    keyed_hash: str | None = None
    """Stands for the value, within this audit."""
    conversation: int | None = None
    """Position in the request, from 0, of the first conversation that says it."""
    letters: int | None = None
    """Letters and digits of a quote."""


@dataclass(frozen=True)
class Audit:
    """What was looked for, and what was found. ``passed`` is the verdict."""

    findings: tuple[Finding, ...]
    planted: int
    """Canaries, each of which the positive control found in a text made to leak."""
    canary_rate: Rate
    """Of canaries."""
    cluster_rate: Rate
    """Of published clusters."""
    personal: int
    """Different personal values of the conversations that were looked for."""
    published_clusters: int
    suppressed_clusters: int
    digest: str
    """SHA-256 of the answer, hexadecimal."""
    id: str = dataclasses.field(default_factory=lambda: secrets.token_hex(16))
    made: datetime = dataclasses.field(default_factory=lambda: datetime.now(timezone.utc))

    @property
    def passed(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    def to_dict(self) -> dict[str, Any]:
        """Return all that may be shown, JSON-able.

        The digest of an answer that was refused is left out: it would confirm a guess at it.
        """
        counts = Counter(finding.what for finding in self.findings)
        return {
            "format": "dynaserve-summaries-audit",
            "version": 1,
            "id": self.id,
            "made": self.made.isoformat(timespec="seconds"),
            "passed": self.passed,
            "sha256": self.digest if self.passed else None,
            "looked_for": {"canaries": self.planted, "personal_values": self.personal},
            "control": {"shown": self.planted, "found": self.planted},
            "found": {what: counts[what] for what in ("canary", "personal", "quote")},
            "findings": [
                {
                    name: value
                    for name, value in dataclasses.asdict(each).items()
                    if value is not None
                }
                for each in self.findings[:MOST_LISTED]
            ],
            "canary_rate": self.canary_rate.to_dict(),
            "cluster_rate": self.cluster_rate.to_dict(),
            "published_clusters": self.published_clusters,
            "suppressed_clusters": self.suppressed_clusters,
        }


def audit_answer(
    body: bytes,
    conversations: Sequence[Conversation],
    *,
    manifest: CanaryManifest,
    personal: CanaryManifest,
    members: Mapping[str, Sequence[str]],
    redact: Callable[[str], str],
    quote_letters: int,
    k_min: int,
) -> Audit:
    """Audit the bytes of an answer.

    Parameters
    ----------
    body
        All of it.
    conversations
        The real ones.
    manifest
        Of the canaries beside them.
    personal
        Of their own values, by `personal_values`.
    members
        Cluster id -> ids of its conversations, real or planted.
    redact
        What the summarizer's texts went through.
    quote_letters, k_min
        See `dynaserve.serving.quotes.find_quotes`.

    Raises
    ------
    Exception
        Whatever goes wrong; among them ``ControlError`` if the search did not find each value
        that it was shown, and ``NothingToCheck`` if no canary was at risk. There is no verdict.
    """
    report = Auditor(manifest).audit(body, clusters=members, form="json")
    number_of = {conversation.id: number for number, conversation in enumerate(conversations)}
    findings = [_finding("canary", leak) for leak in report.leaks]
    if personal.canaries:
        for leak in Auditor(personal).audit(body, form="json").leaks:
            writer = personal.by_id[leak.canary_id].conversation_id
            findings.append(_finding("personal", leak, number_of[str(writer)]))
    release = read_release(body, "json")
    places = Places(release, ())
    findings += [
        Finding(
            what="quote",
            kind="text",
            place=_between(places, quote.first, quote.last),
            conversation=quote.conversation,
            letters=quote.letters,
        )
        for quote in find_quotes(
            release.leaves, conversations, redact, letters=quote_letters, k_min=k_min
        )
    ]
    return Audit(
        findings=tuple(findings),
        planted=report.control,
        canary_rate=report.canary_rate,
        cluster_rate=report.cluster_rate,
        personal=len(personal.canaries),
        published_clusters=len([c for c in report.clusters if c.place]),
        suppressed_clusters=len(report.suppressed.clusters),
        digest=hashlib.sha256(body).hexdigest(),
    )


def personal_values(
    conversations: Sequence[Conversation], *, k_min: int, max_values: int
) -> CanaryManifest:
    """Return what looks personal or secret in conversations, as canaries that are there already.

    Spellings of one value count as one. What ``k_min`` different users share, such as the number
    of a hotline, is nobody's; what has fewer than six characters cannot be told from chance.

    Raises
    ------
    TooLargeError
        There are more than ``max_values``.
    """
    users: dict[str, set[str]] = defaultdict(set)
    first: dict[str, tuple[str, str, str]] = {}
    for conversation in conversations:
        text = conversation.text
        for start, end, label in find_personal(text):
            value = text[start:end]
            letters = skeleton_of(value)
            if len(value) >= SHORTEST_VALUE and len(letters) >= SHORTEST:
                users[letters].add(conversation.user)
                first.setdefault(letters, (label.lower(), value, conversation.id))
        if len(first) > max_values:
            raise TooLargeError(
                f"the texts hold more than {max_values} different personal values (emails, "
                "phones, numbers and the like); send fewer conversations"
            )
    return CanaryManifest(
        tuple(
            Canary(f"{kind}-{number:06d}", kind, value, writer)
            for number, (letters, (kind, value, writer)) in enumerate(first.items())
            if len(users[letters]) < k_min
        )
    )


def _finding(
    what: Literal["canary", "personal"], leak: Leak, conversation: int | None = None
) -> Finding:
    return Finding(what, leak.kind, leak.place, leak.tier.value, leak.keyed_hash, conversation)


def _between(places: Places, first: Leaf, last: Leaf) -> str:
    ends = dict.fromkeys((places.pointer(first.path), places.pointer(last.path)))
    return " to ".join(ends)
