"""From conversations to an answer that passed its audit, or to the audit that it did not pass.

One call shares nothing with any other: clusters, canaries, their manifest and its key live as
long as the call. An `Outcome` holds bytes only if the audit of these very bytes found nothing.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from dynaserve.canarybench import Conversation
from dynaserve.canarybench.clustering import cluster
from dynaserve.canarybench.pipeline import K_MIN, prepare
from dynaserve.canarybench.summarizers import SUMMARIZERS, Summarizer, keyword_summary
from dynaserve.redaction import redact as redact_text
from dynaserve.serving.beside import plant_beside
from dynaserve.serving.settings import SummariesSettings
from dynaserve.serving.verdict import Audit, audit_answer, personal_values


@dataclass(frozen=True)
class Policy:
    """How to publish.

    Attributes
    ----------
    summarizer : callable
        From a `dynaserve.canarybench.summarizers.Group` to a string; several threads may call it.
    redact : callable
        From a string to a string; what the summarizer may see of a text, and what is published
        of its answer.
    k_min, quote_letters, max_values : int
        See `SummariesSettings`.
    """

    summarizer: Summarizer = keyword_summary
    redact: Callable[[str], str] = redact_text
    k_min: int = K_MIN
    quote_letters: int = 32
    max_values: int = 20_000

    @classmethod
    def of(
        cls,
        settings: SummariesSettings,
        summarizer: Summarizer | None = None,
        redact: Callable[[str], str] | None = None,
    ) -> Policy:
        """Return what the settings say, but for what is given."""
        return cls(
            summarizer=summarizer or SUMMARIZERS[settings.summarizer],
            redact=redact or redact_text,
            k_min=settings.k_min,
            quote_letters=settings.quote_letters,
            max_values=settings.max_values,
        )


@dataclass(frozen=True)
class Outcome:
    """What came of a request."""

    audit: Audit
    body: bytes | None = field(repr=False)
    """What to answer, byte for byte; None if the audit did not pass."""


def publish(conversations: Sequence[Conversation], policy: Policy) -> Outcome:
    """Summarize conversations by cluster, and audit the result.

    Parameters
    ----------
    conversations
        With distinct ids, of at least ``policy.k_min`` users.

    Raises
    ------
    TooLargeError
        Their texts hold too many personal values to look for.
    Exception
        Whatever goes wrong: there is no answer then.
    """
    personal = personal_values(conversations, k_min=policy.k_min, max_values=policy.max_values)
    clustering = cluster(
        [conversation.text for conversation in conversations],
        clusters=_clusters(conversations, policy.k_min),
    )
    shown = [
        number
        for number, group in enumerate(clustering.members)
        if len({conversations[at].user for at in group}) >= policy.k_min
    ]
    beside = plant_beside(conversations, clustering, shown)
    redact = functools.cache(policy.redact)  # for this call alone
    prepared = prepare(
        beside.conversations,
        beside.clustering,
        k_min=policy.k_min,
        redact=redact,
        uncounted=beside.planted,
    )
    release = prepared.summarized(policy.summarizer)
    release = replace(release, coherence=clustering.coherence(shown))  # of the real ones alone
    body = release.serialized()
    audit = audit_answer(
        body,
        conversations,
        manifest=beside.manifest,
        personal=personal,
        members=release.members,
        redact=redact,
        quote_letters=policy.quote_letters,
        k_min=policy.k_min,
    )
    return Outcome(audit, body if audit.passed else None)


def _clusters(conversations: Sequence[Conversation], k_min: int) -> int:
    """Return how many clusters to look for: so few that some are large enough, whatever is said.

    Of at most users / k_min clusters one has k_min users at least; half as many leave room.
    """
    users = len({conversation.user for conversation in conversations})
    return max(1, min(math.isqrt(len(conversations)), users // (2 * k_min)))
