"""Stretches of an answer that too few people wrote word for word.

Only letters and digits count, folded as for canaries: a quote is one in other capitals, with
other punctuation, broken into lines or spread over a list. It may not keep a text, and what it
returns holds none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dynaserve.canarybench import Conversation
from dynaserve.canarybench.matching.layers import skeleton_of
from dynaserve.canarybench.serialized import Leaf


@dataclass(frozen=True, slots=True)
class Quote:
    """A stretch from ``first`` to ``last`` of the leaves of an answer."""

    first: Leaf
    last: Leaf
    letters: int
    """How many letters and digits it has."""
    conversation: int
    """Position of the first conversation that it begins like."""


def find_quotes(
    leaves: Sequence[Leaf],
    conversations: Sequence[Conversation],
    redact: Callable[[str], str],
    *,
    letters: int,
    k_min: int,
) -> list[Quote]:
    """Return the stretches that an answer shares with the conversations of too few users.

    Parameters
    ----------
    leaves
        Strings of the answer in its order; keys are passed over.
    conversations
        What was summarized, each compared as it was written and as the summarizer saw it.
    redact
        What the summarizer's texts went through.
    letters
        A stretch has at least so many letters and digits.
    k_min
        What so many different users wrote is nobody's.

    Returns
    -------
    Maximal stretches, in order. Time grows with the answer and the conversations, not with their
    product.
    """
    texts = [(leaf, skeleton_of(leaf.text)) for leaf in leaves if not leaf.is_key]
    answer = "".join(text for _, text in texts)
    owners = [leaf for leaf, text in texts for _ in text]
    windows = _windows(answer, letters)
    wanted = set(windows)
    users: dict[str, set[str]] = defaultdict(set)
    origin: dict[str, int] = {}
    for number, conversation in enumerate(conversations):
        for text in {conversation.text, redact(conversation.text)}:
            for window in wanted.intersection(_windows(skeleton_of(text), letters)):
                users[window].add(conversation.user)
                origin.setdefault(window, number)
    places = [at for at, window in enumerate(windows) if 0 < len(users.get(window, ())) < k_min]
    return [
        Quote(owners[start], owners[end - 1], end - start, origin[windows[start]])
        for start, end in _stretches(places, letters)
    ]


def _windows(text: str, letters: int) -> list[str]:
    return [text[at : at + letters] for at in range(len(text) - letters + 1)]


def _stretches(places: Sequence[int], letters: int) -> list[tuple[int, int]]:
    """Return [start, end) of what windows at neighbouring places cover together."""
    stretches: list[tuple[int, int]] = []
    for at in places:
        if stretches and at == stretches[-1][1] - letters + 1:
            stretches[-1] = (stretches[-1][0], at + letters)
        else:
            stretches.append((at, at + letters))
    return stretches
