"""Where the evidence of a leak stands in a text, and how replacements get there.

Matching forgives what the eye does not see or a model does not copy: compatibility forms, case,
accents, kinds of quotes and dashes, runs of white space, invisible characters. Every span that
comes out counts code points of the original text, and whatever lies outside is never touched.
Time grows linearly with the text. Nothing here keeps a text longer than its caller does.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from operator import attrgetter

from dynaserve.redaction.graphemes import whole_clusters
from dynaserve.rlaa.records import Edit, Span

_RUNS = re.compile(r"(?P<plain>[!-~]+(?: [!-~]+)*)|\s+|(?P<other>\S)")
"""Plain English with a blank between words, white space of any other kind, a single character."""
_QUOTES = {ord(c): "'" for c in "‘’‚‛′ʼ`´"} | {ord(c): '"' for c in "“”„‟″«»"}
_ACCENT = 10
"""Combining classes from here on are accents and vowel points; below, they make another letter."""
_SELECTORS = re.compile("[\u034f\u180b-\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_FILLERS = "\u115f\u1160\u2800\u3164\uffa0"
"""Letters and symbols by category, blank to the eye."""
_GLUED = 6
"""From so many letters and digits on, a value means itself even if a word is glued to it."""
_SPELLED = 4
"""Letters from which on a value is known though it is spelled out: ``J o h n``."""
_DIGITS = re.compile(r"\d(?:[\s().\-/_]{0,3}\d)+")
_LETTER_BY_LETTER = re.compile(r"(?<![^\W_])[^\W_](?:[\s.\-_*]{1,2}[^\W_](?![^\W_]))+")
_HYPHEN = re.compile(r"(?<=[^\W_])-(?=[^\W_])")
_NO_SIGN = re.compile(r"[\W_]")
_EDGES = " \"'.,:;!?()[]{}<>*_"
"""What a model adds around a quotation."""
_EMPHASIS = re.compile("[*_]+")
_ELLIPSIS = re.compile(r"\.{3,}")


def find_mentions(text: str, evidence: str) -> tuple[Span, ...]:
    """Return every mention of ``evidence``, in order; mentions that touch become one span.

    A mention is a whole word where the evidence begins or ends with a letter or digit. Two cases
    have no such bounds: caseless scripts, which write without spaces or glue particles to words,
    and a value of six letters or digits and more next to its opposite, as in ``note212-555-0142``.
    Evidence that stands nowhere is looked for once more without the quotes, stops and brackets
    around it, and without the signs that a model puts in for emphasis.
    A number of six digits and more is found however its digits are grouped. No mention cuts what a
    reader takes for one character.

    Examples
    --------
    >>> find_mentions("PORTO is home; Porto’s bridges, not portobello.", "Porto")
    (Span(start=0, end=5), Span(start=15, end=20))
    """
    return Folded(text).mentions(evidence)


class Folded:
    """A text made ready for several searches."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._folded, self._origins = _fold(text)

    def mentions(self, evidence: str) -> tuple[Span, ...]:
        """See `find_mentions`."""
        needle = fold(evidence)
        bare = needle.strip(_EDGES)
        tried = dict.fromkeys((needle, bare, _EMPHASIS.sub("", bare)))
        found = next(filter(None, map(self._whole, tried)), ())
        return merged((*found, *self._regrouped(needle)))

    def repeats(self, value: str) -> bool:
        """Whether a value is mentioned, be it glued to letters or digits, or spelled out.

        As in ``31yo``, ``212 555 0142`` for ``2125550142``, ``P o r t o`` and ``Por-to``.
        """
        needle = fold(value)
        if self._whole(needle, glued=True) or self._regrouped(needle):
            return True
        letters = _NO_SIGN.sub("", needle)
        if len(letters) < _SPELLED or letters.isdecimal():
            return False
        spelled = (run.group() for run in _LETTER_BY_LETTER.finditer(self._folded))
        unhyphenated, sought = (_HYPHEN.sub("", words) for words in (self._folded, needle))
        return any(letters in _NO_SIGN.sub("", run) for run in spelled) or any(
            _parted(unhyphenated, at, glued=True)
            and _parted(unhyphenated, at + len(sought), glued=True)
            for at in _occurrences(sought, unhyphenated)
        )

    def words_around(self, evidence: str) -> tuple[str, ...]:
        """Return the distinct words of the text that the evidence is a part of, in order.

        For evidence that has no mention of its own: ``25`` of ``25M``, or a quotation that was
        cut off within a word.
        """
        needle = fold(evidence).strip(_EDGES)
        found: dict[str, None] = {}
        end = 0
        for at in _occurrences(needle, self._folded) if needle else ():
            if at < end:
                continue
            start, end = at, at + len(needle)
            while start > 0 and not _parted(self._folded, start, glued=False):
                start -= 1
            while end < len(self._folded) and not _parted(self._folded, end, glued=False):
                end += 1
            span = self._original(start, end)
            found.setdefault(self._text[span.start : span.end])
        return tuple(found)

    def _whole(self, needle: str, *, glued: bool = False) -> tuple[Span, ...]:
        if not needle:
            return ()
        glued = glued or sum(map(str.isalnum, needle)) >= _GLUED
        starts = (
            start
            for start in _occurrences(needle, self._folded)
            if _parted(self._folded, start, glued=glued)
            and _parted(self._folded, start + len(needle), glued=glued)
        )
        found: list[Span] = []
        for start in starts:
            # What lies within the last one needs no look at its clusters again: linear time.
            if not (found and self._origins[start + len(needle) - 1] < found[-1].end):
                found.append(self._original(start, start + len(needle)))
        return merged(found)

    def _regrouped(self, needle: str) -> tuple[Span, ...]:
        """Return where the digits of a long number stand, whatever is between them."""
        digits = "".join(filter(str.isdecimal, needle))
        if len(digits) < _GLUED or any(map(str.isalpha, needle)):
            return ()
        return tuple(
            self._original(start, end)
            for run in _DIGITS.finditer(self._folded)
            for start, end in _grouped(digits, run)
        )

    def _original(self, start: int, end: int) -> Span:
        """Return the span of the original, widened to whole grapheme clusters."""
        return Span(*whole_clusters(self._text, self._origins[start], self._origins[end - 1] + 1))


def parts(evidence: str) -> tuple[str, ...]:
    """Return what a quotation joins by an ellipsis; nothing but signs is no part.

    Examples
    --------
    >>> parts("moved to Porto … the food [...] is great")
    ('moved to Porto', 'the food', 'is great')
    """
    joined = _ELLIPSIS.split(evidence.replace("…", "..."))
    return tuple(part for each in joined if (part := each.strip(_EDGES + "\n\t")))


def fold(text: str) -> str:
    """Return a text as it is compared; of two that fold alike either can stand for the other."""
    return _fold(text)[0].strip()


def merged(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Return the union of spans in order; those that overlap or touch become one."""
    union: list[Span] = []
    for span in sorted(spans):
        if union and span.start <= union[-1].end:
            union[-1] = Span(union[-1].start, max(union[-1].end, span.end))
        else:
            union.append(span)
    return tuple(union)


def apply(text: str, edits: Iterable[Edit]) -> str:
    """Return the text with every replacement made; all else is kept as it is.

    Raises
    ------
    ValueError
        If a span lies outside the text, two overlap, or something else than ``before`` stands
        there.

    Examples
    --------
    >>> apply("I live in Porto.", [Edit(Span(10, 15), "Porto", "Portugal", "location")])
    'I live in Portugal.'
    """
    pieces: list[str] = []
    at = 0
    for edit in sorted(edits, key=lambda edit: edit.span):
        start, end = edit.span.start, edit.span.end
        if not at <= start <= end <= len(text):
            raise ValueError(f"edit of {start} to {end}: overlaps another or leaves the text")
        if text[start:end] != edit.before:
            raise ValueError(f"edit of {start} to {end}: the text there is another")
        pieces += (text[at:start], edit.after)
        at = end
    return "".join((*pieces, text[at:]))


def moved(edit: Edit, by: int) -> Edit:
    """Return an edit so many characters further on."""
    return replace(edit, span=shifted(edit.span, by))


def shifted(span: Span, by: int) -> Span:
    """Return a span so many characters further on."""
    return Span(span.start + by, span.end + by)


def touched(spans: Sequence[Span], span: Span) -> range:
    """Return which of some spans, sorted and apart, share a character with another one."""
    first = bisect_right(spans, span.start, key=attrgetter("end"))
    return range(first, bisect_left(spans, span.end, lo=first, key=attrgetter("start")))


def utf16(text: str, span: Span) -> Span:
    """Return a span in UTF-16 units, as JavaScript, Java and Windows count.

    Examples
    --------
    >>> utf16("🙂 Porto", Span(2, 7))
    Span(start=3, end=8)
    """
    start = _units(text[: span.start])
    return Span(start, start + _units(text[span.start : span.end]))


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _fold(text: str) -> tuple[str, list[int]]:
    """Return the folded text, and for each character of it the position it comes from."""
    folded: list[str] = []
    origins: list[int] = []
    for run in _RUNS.finditer(text):
        start, end = run.span()
        if run["plain"]:
            folded.append(run.group().lower().replace("`", "'"))
            origins += range(start, end)
        elif run["other"]:
            if plain := _folded(run.group()):
                folded.append(plain)
                origins += [start] * len(plain)
        elif folded and folded[-1] != " ":
            folded.append(" ")
            origins.append(start)
    return "".join(folded), origins


@lru_cache(maxsize=1 << 14)
def _folded(character: str) -> str:
    """Return what of a character counts, none for an invisible one.

    Character by character, so that no neighbour matters and everything keeps its place.
    """
    plain = (_plain(c) for c in unicodedata.normalize("NFKD", character))
    # Folding case can bring out accents again; the space in a compatibility form carries one.
    recomposed = unicodedata.normalize("NFKD", "".join(plain).casefold())
    return "".join(_plain(c) for c in recomposed if not c.isspace())


def _plain(character: str) -> str:
    category = unicodedata.category(character)
    if (
        category in {"Cf", "Me"}
        or unicodedata.combining(character) >= _ACCENT
        or character in _FILLERS
        or _SELECTORS.match(character)
    ):
        return ""
    if category == "Pd" or character == "−":
        return "-"
    digit = unicodedata.decimal(character, None)
    return _QUOTES.get(ord(character), character) if digit is None else str(digit)


def _parted(text: str, at: int, *, glued: bool) -> bool:
    """Whether a word may begin or end between two characters."""
    if not 0 < at < len(text):
        return True
    before, after = text[at - 1], text[at]
    if not (before.isalnum() and after.isalnum()):
        return True
    if "Lo" in {unicodedata.category(before), unicodedata.category(after)}:
        return True
    return glued and before.isdecimal() != after.isdecimal()


def _grouped(digits: str, run: re.Match[str]) -> Iterator[tuple[int, int]]:
    """Yield where digits stand in a run of digits with signs between them, as whole numbers."""
    places = [run.start() + at for at, sign in enumerate(run.group()) if sign.isdecimal()]
    size = len(digits)
    for at in _occurrences(digits, "".join(filter(str.isdecimal, run.group()))):
        begins = at == 0 or places[at - 1] + 1 < places[at]
        ends = at + size == len(places) or places[at + size - 1] + 1 < places[at + size]
        if begins and ends:
            yield places[at], places[at + size - 1] + 1


def _occurrences(needle: str, text: str) -> Iterator[int]:
    """Yield where a needle begins, overlaps too, in time linear in both.

    An occurrence that overlaps the one before lies a period further on, or, if none is there,
    (by Fine and Wilf) further than the needle is long but for a period.
    """
    at = text.find(needle)
    if at < 0 or text.find(needle, at + 1) < 0:  # most evidence: its period does not matter
        yield from [at] * (at >= 0)
        return
    size, period = len(needle), _period(needle)
    tail = needle[size - period :]
    while at >= 0:
        yield at
        if text.startswith(tail, at + size):
            at += period
        else:
            at = text.find(needle, at + max(period, size - period + 1))


def _period(needle: str) -> int:
    """Return the smallest shift that lays a needle over itself (Knuth, Morris and Pratt)."""
    borders = [0]
    border = 0
    for character in needle[1:]:
        while border and character != needle[border]:
            border = borders[border - 1]
        border += character == needle[border]
        borders.append(border)
    return len(needle) - border
