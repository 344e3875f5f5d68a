"""Recognizers made of phrases: a pattern each, what it says, and what to write instead."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from dynaserve.rlaa.embedded.finding import Finding
from dynaserve.rlaa.embedded.wording import lowered
from dynaserve.rlaa.records import Level

DENIAL = r"(?:no|not|never|neither|nor|hardly|barely|scarcely|nobody|none|non|without)\b"
"""Words that turn what follows into its opposite: no gap in a claim may hold one."""
_GROUP_NAME = re.compile(r"\?P<\w+>")
_BEGIN, _END = r"(?<!\w)(?<!\w-)", r"(?!-?\w)"
"""Words that a hyphen joins are another word: "single" is not "single-minded"."""
_CAPITAL = re.compile(r"(?<!\\)[A-Z]")


@dataclass(frozen=True)
class Phrase:
    r"""One way to say something.

    Attributes
    ----------
    pattern
        Regular expression without case; repetitions in it must be bounded. A blank stands for one
        to three blanks or line ends, one with a question mark for up to three, and both ends are
        ends of words. A gap for any word, ``(?:\w{2,9} )``, takes none that denies.
    guess
        What it gives away; may refer to groups, as ``\1``.
    instead
        What to write instead; may refer to groups that give nothing away.
    level
        If it is said of the writer.
    """

    pattern: str
    guess: str
    instead: str
    level: Level
    compiled: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        whole = rf"{_BEGIN}(?:{self.bounded}){_END}"
        object.__setattr__(self, "compiled", re.compile(whole, re.IGNORECASE))

    @property
    def bounded(self) -> str:
        """The pattern with its blanks spelled out."""
        gaps = self.pattern.replace(r"(?:\w{", rf"(?:(?!{DENIAL})\w{{")
        return gaps.replace(" ?", r"\s{0,3}").replace(" ", r"\s{1,3}")


class Phrases:
    """All phrases of an attribute, searched for together.

    One pattern finds where any of them begins, over lower case: several times as fast as one search
    each. Only there they are tried one by one, in the text itself.
    """

    def __init__(self, attribute: str, phrases: Sequence[Phrase]) -> None:
        self.attribute, self.phrases = attribute, tuple(phrases)
        nameless = "|".join(_GROUP_NAME.sub("?:", phrase.bounded) for phrase in self.phrases)
        lower = _CAPITAL.sub(lambda found: found.group().lower(), nameless)
        self._begins = re.compile(rf"{_BEGIN}(?=[\w(\[])(?=(?:{lower}){_END})")

    def find(self, text: str) -> Iterator[Finding]:
        """Find every phrase wherever it begins."""
        for hit in self._begins.finditer(lowered(text)):
            for phrase in self.phrases:
                if match := phrase.compiled.match(text, hit.start()):
                    guess, instead = match.expand(phrase.guess), match.expand(phrase.instead)
                    yield Finding(*match.span(), self.attribute, guess, instead, phrase.level)
