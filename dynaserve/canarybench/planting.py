"""Planting: canaries into conversations, at known places, in sentences that people write.

It decides which conversations get which canary and may not look at how they will be
summarized.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Sequence

from dynaserve.canarybench.canaries import KINDS, PAPER_KINDS, CanaryMint, require_kinds
from dynaserve.canarybench.conversations import Conversation, require_distinct
from dynaserve.canarybench.manifest import Canary, CanaryManifest
from dynaserve.extras import needing

PROBABILITY = 0.6
"""The paper's probability that a conversation gets a canary."""
DECOYS = 1000
"""Enough to see a false-positive rate of one in a thousand."""
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=\S)")


def plant(
    conversations: Sequence[Conversation],
    *,
    probability: float = PROBABILITY,
    kinds: Iterable[str] = PAPER_KINDS,
    seed: int = 0,
    decoys: int = DECOYS,
) -> tuple[list[Conversation], CanaryManifest]:
    """Hide canaries in conversations.

    Parameters
    ----------
    conversations
        With distinct ids.
    probability
        That a conversation gets one canary, each for itself; 0.6 in the paper.
    kinds
        Names out of ``KINDS``, equally likely; by default the paper's four.
    seed
        Of the values and places. Whoever knows it knows the canaries, so use a secret one where
        somebody might cheat.
    decoys
        How many values of these kinds to hold back: what an audit finds of them is a false
        positive.

    Returns
    -------
    planted, manifest
        The conversations in their order with their ids and users, and what was planted in them.

    Raises
    ------
    ValueError
        For values out of range, unknown kinds or conversations that share an id.

    Examples
    --------
    >>> talks = [Conversation("c0", "u0", "My parcel is late. What can I do?")]
    >>> planted, manifest = plant(talks, probability=1, seed=5)
    >>> manifest.canaries[0].value in planted[0].text
    True
    """
    kinds = tuple(kinds)
    require_kinds(kinds)
    require_distinct(conversations)
    if not 0 <= probability <= 1:
        raise ValueError(f"probability: must lie in [0, 1], got {probability}")
    if decoys < 0:
        raise ValueError(f"decoys: must not be negative, got {decoys}")
    # Plantings must be repeatable, which no cryptographic generator is.
    draw = random.Random(f"{seed}/planting")  # noqa: S311
    places = [
        (position, draw.choice(kinds))
        for position in range(len(conversations))
        if draw.random() < probability
    ]
    held_back = [kinds[number % len(kinds)] for number in range(decoys)]
    values = _unsaid_values(
        [*(kind for _, kind in places), *held_back],
        [conversation.text for conversation in conversations],
        CanaryMint(seed),
    )
    planted = list(conversations)
    canaries = []
    for number, (position, kind) in enumerate(places):
        old = conversations[position]
        text, start = _insert(old.text, kind, values[number], draw)
        planted[position] = Conversation(old.id, old.user, text)
        canaries.append(Canary(f"{kind}-{number:06d}", kind, values[number], old.id, start))
    never = zip(held_back, values[len(places) :], strict=True)
    return planted, CanaryManifest(
        canaries=tuple(canaries),
        decoys=tuple(
            Canary(f"decoy-{kind}-{number:06d}", kind, value)
            for number, (kind, value) in enumerate(never)
        ),
        seed=seed,
    )


def _unsaid_values(kinds: list[str], texts: list[str], mint: CanaryMint) -> list[str]:
    """Return a fresh value of each kind that none of the texts holds already."""
    values = [mint.draw(kind) for kind in kinds]
    suspects: Sequence[int] = range(len(values))
    while suspects := _said(values, suspects, texts):
        for index in suspects:
            values[index] = mint.draw(kinds[index])
    return values


def _said(values: list[str], suspects: Sequence[int], texts: list[str]) -> list[int]:
    """Return those of the suspected values that are in the texts, whatever their case."""
    with needing("planting needs pyahocorasick", extra="canary"):
        import ahocorasick  # noqa: PLC0415 - the canary extra
    automaton = ahocorasick.Automaton()
    for index in suspects:
        automaton.add_word(values[index].lower(), index)
    if not len(automaton):
        return []
    automaton.make_automaton()
    return sorted({index for text in texts for _, index in automaton.iter(text.lower())})


def _insert(text: str, kind: str, value: str, draw: random.Random) -> tuple[str, int]:
    """Return the text with a carrier sentence between two of its own, and where the value is."""
    ends = [match.start() for match in _SENTENCE_END.finditer(text)]
    at = draw.choice((*ends, len(text)))
    before, after = draw.choice(KINDS[kind].carriers).split("{value}")
    head = f"{text[:at]} {before}" if at else before
    return f"{head}{value}{after}{text[at:]}", len(head)
