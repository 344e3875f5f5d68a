"""Numbers and signs in words, "five five five" and "at example dot com".

Skeletons know no word boundaries (they may be wrapped, spaced, glued), so number words count only
where three follow each other. Values and texts go through the same `rewritten`: what it leaves
alone it leaves alone on both sides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise, product

import numpy as np

from dynaserve.canarybench.matching.layers import Positions, Skeleton, skeleton_of

_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_NUMBERS = {**{word: str(digit) for digit, word in enumerate(_WORDS)}, "oh": "0"}
_TIMES = {"double": 2, "triple": 3}
_DIGITS = str.maketrans({str(digit): word for digit, word in enumerate(_WORDS)})
_SIGN_WORDS = "@at .dot _underscore -dash :colon /slash +plus"
_SIGNS = str.maketrans({word[0]: word[1:] for word in _SIGN_WORDS.split()})
_NO_PLUS = {sign: word for sign, word in _SIGNS.items() if sign != ord("+")}
_AT_DOT = {ord(sign): _SIGNS[ord(sign)] for sign in "@."}
_BETWEEN = "|".join(("dash", "dot", "point", "hyphen", "space", "slash", "plus", "colon"))
_NUMBER = "|".join(_NUMBERS)
_TOKEN = re.compile(f"({'|'.join(_TIMES)})?({_NUMBER}|[0-9])|{_BETWEEN}")
_ONE = f"(?:(?:{'|'.join(_TIMES)})?(?:{_NUMBER}|[0-9]))"
_RUN = re.compile(f"{_ONE}(?:(?:{_BETWEEN})*{_ONE})*")
_THREE = re.compile(f"(?:{_NUMBER}){{3}}")

OPENINGS = frozenset(
    text[:8] for text in map("".join, product(_NUMBERS, repeat=3)) if len(text) >= 8
)
"""The first eight letters of three number words in a row."""


def spellings(value: str) -> set[str]:
    """Return the skeletons of a value as it stands and with signs, digits or both in words."""
    texts = {value} if value.isascii() else {value, value.upper(), value.lower()}
    texts |= {value.translate(signs) for signs in (_AT_DOT, _NO_PLUS, _SIGNS)}
    if not skeleton_of(value).isdecimal():
        texts |= {text.translate(_DIGITS) for text in texts}
    texts |= _spelled_mails(value)
    return {_rewritten(skeleton_of(text)) for text in texts}


def _spelled_mails(value: str) -> set[str]:
    """Return a mail address with its at or dots, or those of its domain alone, in words."""
    name, at, domain = value.partition("@")
    if not at:
        return set()
    names, domains = ({part, part.translate(_AT_DOT)} for part in (name, domain))
    return set(map("".join, product(names, (at, "at"), domains)))


def rewritten(skeleton: Skeleton, openings: Positions, reach: int) -> Iterator[Skeleton]:
    """Give the surroundings of number words, with digits in their place.

    Parameters
    ----------
    skeleton
        The text.
    openings
        Where three number words may begin, ascending.
    reach
        How many characters around them belong to their surroundings.
    """
    for start, end in surroundings(openings, reach, len(skeleton.text)):
        if _THREE.search(skeleton.text, start, end):
            yield _digits_for_words(skeleton.part(start, end))


def surroundings(places: Positions, reach: int, length: int) -> list[tuple[int, int]]:
    """Return the stretches of a text within ``reach`` of ascending places, merged."""
    if not len(places):
        return []
    gaps = np.flatnonzero(np.diff(places) > 2 * reach)
    firsts = places[np.r_[0, gaps + 1]] - reach
    lasts = places[np.r_[gaps, len(places) - 1]] + reach
    return list(
        zip(np.maximum(firsts, 0).tolist(), np.minimum(lasts, length).tolist(), strict=True)
    )


def _digits_for_words(skeleton: Skeleton) -> Skeleton:
    text, first, last = [], [], []
    done = 0
    for start, end, digit in _digits(skeleton.text):
        word = skeleton.part(start, end)
        text += [skeleton.text[done:start], digit]
        first += [skeleton.first[done:start], np.repeat(word.first.min(), len(digit))]
        last += [skeleton.last[done:start], np.repeat(word.last.max(), len(digit))]
        done = end
    rest = skeleton.part(done, len(skeleton.text))
    return Skeleton(
        skeleton.layer,
        "".join([*text, rest.text]),
        np.concatenate([*first, rest.first]),
        np.concatenate([*last, rest.last]),
    )


def _digits(text: str) -> Iterator[tuple[int, int, str]]:
    """Give (start, end, digits) for each word of runs that hold three number words in a row."""
    if not _THREE.search(text):
        return
    for run in _RUN.finditer(text):
        if _THREE.search(run[0]):
            for token in _TOKEN.finditer(text, run.start(), run.end()):
                times, number = token.groups()
                digit = _NUMBERS.get(number, number) if number else ""
                yield token.start(), token.end(), digit * _TIMES.get(times, 1)


def _rewritten(text: str) -> str:
    spans = [(0, 0, ""), *_digits(text), (len(text), len(text), "")]
    return "".join(digit + text[end:start] for (_, end, digit), (start, _, _) in pairwise(spans))
