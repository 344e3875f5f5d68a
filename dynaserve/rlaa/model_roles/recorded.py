"""Replies that a large model once gave, read and played as an Attacker.

The records of llmprivacy keep them as prose: what kind of attribute, how it was inferred, and
guesses, the likeliest first. Prose has no end that could be checked, so this is for replies that
are known to be whole; what a model says now is read by `replies`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from dynaserve.rlaa.model_roles.attributes import canonical, canonical_all
from dynaserve.rlaa.records import Leak
from dynaserve.rlaa.roles import RoleError
from dynaserve.rlaa.spans import Folded, fold

_REPLY = re.compile(
    r"\s*Type:[ \t]*(?P<type>\S+)\s*\nInference:(?P<reasoning>.+?)\nGuess:(?P<guesses>[^\n]+)\s*",
    re.DOTALL,
)
_QUOTED = re.compile(r'"([^"\n]+)"|“([^”\n]+)”|(?<!\w)[\'‘]((?:[^\'’\n]|[\'’](?=\w))+)[\'’](?!\w)')
_WORD = re.compile(r"\w+(?:['’-]\w+)*")
_MOST_SHARED = 3
_TELLING_LENGTH = 5


@dataclass(frozen=True)
class RecordedReply:
    """One attack on one text.

    Attributes
    ----------
    attribute
        What was asked, by our name.
    reasoning
        How it was inferred.
    guesses
        The likeliest first; at least one.
    """

    attribute: str
    reasoning: str = field(repr=False)
    guesses: tuple[str, ...] = field(repr=False)

    @property
    def certainty(self) -> int:
        """From 3 to 5, by how many of the guesses say the same as the first: none was recorded."""
        first = self.guesses[0].casefold()
        return min(5, 2 + sum(guess.casefold() == first for guess in self.guesses))

    def leaks(self, text: str) -> tuple[Leak, ...]:
        """Return a leak for each piece of evidence that stands in the text.

        Evidence is what the reasoning quotes; where it quotes nothing that stands in the text,
        the longest stretches of words that both share. If there are none either, the reply is
        one leak whose evidence is its reasoning: a guess without evidence, not no guess.
        """
        evidence = _quoted(self.reasoning, text) or _shared(self.reasoning, text)
        return tuple(
            Leak(self.attribute, self.guesses[0], words, self.certainty, self.reasoning)
            for words in evidence or [self.reasoning]
        )


def read_recorded(reply: str) -> RecordedReply:
    r"""Read the prose of a recorded reply: ``Type:``, ``Inference:``, ``Guess: a; b; c.``.

    Raises
    ------
    RoleError
        If a part is missing, stands twice or is empty, or the type is no attribute.

    Examples
    --------
    >>> read_recorded("Type: sex\nInference: Says \"my beard\".\nGuess: male; female.").guesses
    ('male', 'female')
    """
    found = _REPLY.fullmatch(reply)
    if found is None or found["reasoning"].count("\nGuess:"):
        raise RoleError("a recorded reply without its three parts")
    guesses = tuple(
        guess.strip() for guess in found["guesses"].strip().removesuffix(".").split(";")
    )
    reasoning = found["reasoning"].strip()
    if not reasoning or not all(guesses):
        raise RoleError("a recorded reply with an empty part")
    try:
        attribute = canonical(found["type"])
    except ValueError as error:
        raise RoleError(str(error)) from None
    return RecordedReply(attribute, reasoning, guesses)


class RecordedAttacker:
    """Plays what was once replied about one text, as far as its evidence still stands there.

    Parameters
    ----------
    replies
        About one text.
    """

    def __init__(self, replies: Iterable[RecordedReply]) -> None:
        self._replies = tuple(replies)

    def attack(self, text: str, attributes: Sequence[str]) -> tuple[Leak, ...]:
        """Return the leaks of all replies about these attributes."""
        asked = canonical_all(attributes)
        return tuple(
            leak
            for reply in self._replies
            if reply.attribute in asked
            for leak in reply.leaks(text)
        )


def _quoted(reasoning: str, text: str) -> list[str]:
    phrases = ("".join(match.groups("")).strip(" .,;:!?…") for match in _QUOTED.finditer(reasoning))
    return list(_standing(phrases, text))


def _shared(reasoning: str, text: str) -> list[str]:
    """Return the longest stretches of words that stand in both, as the text writes them."""
    there = [word.group().casefold() for word in _WORD.finditer(text)]
    here = [word.group() for word in _WORD.finditer(reasoning)]
    stretches = set()
    lengths = [0] * (len(there) + 1)
    for i, word in enumerate(here):
        # lengths[j + 1] = how many words up to here[i] are those up to there[j]
        lengths = [0, *(lengths[j] + 1 if word.casefold() == w else 0 for j, w in enumerate(there))]
        stretches |= {" ".join(here[i + 1 - n : i + 1]) for n in lengths if n > 1}
    longest = sorted(filter(_tells, stretches), key=lambda words: (-len(words), words))
    return list(islice(_standing(longest, text), _MOST_SHARED))


def _tells(stretch: str) -> bool:
    """Return whether a stretch of words has more in it than grammar."""
    return any(len(w) >= _TELLING_LENGTH or w[0].isdigit() for w in stretch.split())


def _standing(phrases: Iterable[str], text: str) -> Iterator[str]:
    """Yield the phrases that stand in a text as they stand there first, none within another."""
    folded = Folded(text)
    seen: list[str] = []
    for phrase in phrases:
        mentions = folded.mentions(phrase) if len(phrase) > 1 else ()
        if mentions and not any(fold(phrase) in longer for longer in seen):
            seen.append(fold(phrase))
            yield text[mentions[0].start : mentions[0].end]
