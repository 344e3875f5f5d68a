"""A synthetic corpus: varied single-turn conversations of made-up people over 24 topics.

Some topics are far more common than others and some people write several times, mostly about
one thing, as with any real service; that is where clusters too small to publish come from. No
sentence may hold anything personal.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from dynaserve.canarybench.conversations import Conversation
from dynaserve.canarybench.topics import TOPICS, Topic

RETURNING = 2 / 3
"""Probability that the next conversation is by somebody who wrote before."""
SAME_TOPIC = 0.85
"""Probability that such a person writes about the same topic again."""
SKEW = 1.2
"""Topic number r, in random order, has a share proportional to r to the power of minus this."""
_TRIES = 1000

OPENINGS = (
    *("", "", "", "", "Hi. ", "Hello. ", "Hey there. ", "Good morning. ", "Hi, quick question. "),
    *("Good evening. ", "I hope you can help. ", "Maybe you know this. ", "Help, please. "),
    *("Sorry to bother you. ", "This may be a silly question. ", "I am a bit lost here. "),
    *("First time asking here. ", "So here is the thing. ", "I have been going in circles. "),
    *("Not sure where to start. ", "Let me explain. ", "It is me again. ", "Okay. "),
)
CLOSINGS = (
    *("", "", "", "", " Thanks!", " Thank you.", " Many thanks.", " Cheers.", " Thanks a lot."),
    *(" Any help is welcome.", " No hurry.", " It is rather urgent.", " Short answers, please."),
)
COMMON_WORDS = {
    "years": ("two", "three", "four", "five", "seven", "ten", "twelve"),
    "months": ("two", "three", "four", "five", "six", "eight", "nine"),
    "weeks": ("two", "three", "four", "five", "six", "ten"),
    "days": ("two", "three", "four", "five", "six", "nine"),
    "day": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"),
    "month": ("March", "April", "May", "June", "July", "September", "October"),
    "season": ("spring", "summer", "autumn", "winter"),
    "people": ("four", "six", "eight", "ten"),
    "when": ("yesterday", "on Sunday", "a week ago", "this morning"),
    "use": ("groceries", "travel", "almost everything", "work"),
}
"""Words that any topic may use."""


def generate(count: int, *, seed: int = 0, base_texts: Sequence[str] = ()) -> list[Conversation]:
    """Return synthetic conversations, no two with the same text, the same ones for a seed.

    Parameters
    ----------
    count
        How many.
    seed
        What they are drawn from.
    base_texts
        Real queries to use instead of the grammar's sentences; each is used about equally often,
        between an opening and a closing of ours.

    Raises
    ------
    ValueError
        If ``count`` is less than 1, or more than what can be said in different words.

    Examples
    --------
    >>> conversations = generate(3000, seed=1)
    >>> len({conversation.text for conversation in conversations})
    3000
    """
    if count < 1:
        raise ValueError(f"count: must be at least 1, got {count}")
    # A corpus must be repeatable, which no cryptographic generator is.
    draw = random.Random(f"{seed}/corpus")  # noqa: S311
    said: set[str] = set()
    authors = _Authors(draw, len(_GRAMMARS))
    base = draw.sample(base_texts, len(base_texts))
    conversations = []
    for number in range(count):
        user, topic = authors.next()
        for attempt in range(_TRIES):
            middle = base[(number + attempt) % len(base)] if base else _GRAMMARS[topic].say(draw)
            text = draw.choice(OPENINGS) + middle + draw.choice(CLOSINGS)
            if text not in said:
                break
        else:
            raise ValueError(f"count: only {number} different conversations were found")
        said.add(text)
        conversations.append(Conversation(f"conv-{number:06d}", f"user-{user:06d}", text))
    return conversations


class _Authors:
    """Who writes next, and about which topic."""

    def __init__(self, draw: random.Random, topics: int) -> None:
        self._draw = draw
        self._order = draw.sample(range(topics), topics)
        self._weights = _falling(topics)
        self._past: list[tuple[int, int]] = []
        self._users = 0

    def next(self) -> tuple[int, int]:
        draw, past = self._draw, self._past
        (topic,) = draw.choices(self._order, cum_weights=self._weights)
        if past and draw.random() < RETURNING:
            user, earlier = past[draw.randrange(len(past))]
            topic = earlier if draw.random() < SAME_TOPIC else topic
        else:
            user = self._users
            self._users += 1
        past.append((user, topic))
        return user, topic


def _falling(count: int) -> list[float]:
    """Return cumulated weights of ranks 1, 2, ... that fall as rank to the power of -SKEW."""
    return list(accumulate(rank**-SKEW for rank in range(1, count + 1)))


@dataclass(frozen=True)
class _Sentence:
    """A template, cut at its places for words."""

    pieces: tuple[str, ...]
    names: tuple[str, ...]

    @classmethod
    def parsed(cls, template: str) -> _Sentence:
        pieces = re.split(r"\{(\w+)\}", template)
        return cls(tuple(pieces[::2]), tuple(pieces[1::2]))

    def say(self, chosen: Mapping[str, str]) -> str:
        said = [self.pieces[0]]
        for name, piece in zip(self.names, self.pieces[1:], strict=True):
            said += (chosen[name], piece)
        text = "".join(said)
        return text[0].upper() + text[1:]


class _Grammar:
    """A topic, ready to speak."""

    def __init__(self, topic: Topic) -> None:
        self._words = {**COMMON_WORDS, **topic.words}
        self._situations, self._details, self._requests = (
            tuple(map(_Sentence.parsed, part))
            for part in (topic.situations, topic.details, topic.requests)
        )
        self._weights = _falling(len(self._situations))

    def say(self, draw: random.Random) -> str:
        details = draw.sample(self._details, draw.choice((1, 1, 1, 2)))
        (situation,) = draw.choices(self._situations, cum_weights=self._weights)
        sentences = (situation, *details, draw.choice(self._requests))
        # One choice per conversation: who wrote of a rabbit goes on about the rabbit.
        chosen = {
            name: draw.choice(self._words[name])
            for sentence in sentences
            for name in sentence.names
        }
        return " ".join(sentence.say(chosen) for sentence in sentences)


_GRAMMARS = tuple(map(_Grammar, TOPICS))
