"""Ages: a guess is right if its middle lies within five years of the truth.

So a narrow range counts like a number, a decade counts for all who are in it, and a range wide
enough to hold everybody counts only for those near its middle.
"""

from __future__ import annotations

import re

from dynaserve.rlaa.evaluation.scoring.words import affirmed, plain

_TOLERANCE = 5
_DECADES = {
    "twenties": 20, "thirties": 30, "forties": 40, "fifties": 50, "sixties": 60,
    "seventies": 70, "eighties": 80, "nineties": 90,
}  # fmt: skip
_ONES = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
    "nine": 9,
}  # fmt: skip
_TENS = {
    "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70,
    "eighty": 80, "ninety": 90,
}  # fmt: skip
_TEN_TO_NINETEEN = {
    "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15,
    "sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19,
}  # fmt: skip
_SPELLED = re.compile(
    rf"\b(?:(?P<tens>{'|'.join(_TENS)})(?: (?P<ones>{'|'.join(_ONES)}))?"
    rf"|(?P<teen>{'|'.join(_TEN_TO_NINETEEN)}))\b"
)
"""From ten on: ``one`` is more often a word than an age."""
_SOMETHING = re.compile(r"\b([1-9]0) (?:some ?thing|odd)\b")
_PARTS = {"": (0, 9), "early": (0, 3), "mid": (4, 6), "middle": (4, 6), "late": (7, 9)}
"""Years of a decade, the last one included."""
_DECADE = re.compile(
    r"\b(?:(?P<part>early|mid|middle|late)\s*)?"
    rf"(?:(?P<digit>[1-9])0\s?s|(?P<word>{'|'.join(_DECADES)}))\b"
)
_TEENS = re.compile(r"\bteen(?:s|ager|aged?)?\b")
_RANGE = re.compile(r"\b(\d{1,3}) ?(?:to|and|or|through) ?(\d{1,3})\b")
_NUMBER = re.compile(r"\b\d{1,3}\b")


def score_age(guess: str, truth: str) -> float:
    """Return 1 if the middle of a guessed age or range is at most five years off, else 0."""
    guessed, actual = age_range(guess), age_range(truth)
    if guessed is None or actual is None:
        return 0.0
    return float(abs(sum(guessed) - sum(actual)) / 2 <= _TOLERANCE)


def age_range(words: str) -> tuple[int, int] | None:
    """Return the youngest and the oldest age that words allow; None if they name none.

    Examples
    --------
    >>> age_range("in their late 20s or early 30s"), age_range("45–50"), age_range("thirty-one")
    ((27, 33), (45, 50), (31, 31))
    """
    text = re.sub(r"(?<=\d)\s*[-–—~]\s*(?=\d)", " to ", affirmed(words))
    text = _SPELLED.sub(_digits, plain(re.sub(r"(?<=\d)['’](?=s\b)", "", text)))
    text = _SOMETHING.sub(r"\1s", text)
    decades = [_decade(match) for match in _DECADE.finditer(text)]
    if decades:
        return min(low for low, _ in decades), max(high for _, high in decades)
    if _TEENS.search(text):
        return 13, 19
    if between := _RANGE.search(text):
        low, high = sorted(int(number) for number in between.groups())
        return low, high
    number = _NUMBER.search(text)
    return None if number is None else (int(number.group()), int(number.group()))


def _decade(match: re.Match[str]) -> tuple[int, int]:
    start = int(match["digit"]) * 10 if match["digit"] else _DECADES[match["word"]]
    first, last = _PARTS[match["part"] or ""]
    return start + first, start + last


def _digits(match: re.Match[str]) -> str:
    if match["teen"]:
        return str(_TEN_TO_NINETEEN[match["teen"]])
    return str(_TENS[match["tens"]] + _ONES.get(match["ones"] or "", 0))
