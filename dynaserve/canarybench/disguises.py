"""The ways of writing a value that the matcher is measured and tested against.

Every disguise changes what a reader or a machine can still recognize. `claims` says which
compositions of two must be found, always; the others are measured, and the table in the
documentation shows what they cost.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_SIGNS = {"@": " at ", ".": " dot ", "_": " underscore ", "-": " dash ", ":": " colon "}
_LATIN = "ABCEHIJKMOPSTXYaceijopsxy"
_CYRILLIC = "АВСЕНІЈКМОРЅТХУасеіјорѕху"
_NATIONAL = re.compile(r"\+(44|33|49|61|1)\D*")
_ZERO_WIDTH = "\u200b"


class Stage(Enum):
    """What a disguise works on; how far two of them go together depends on it."""

    PART = "part"
    """Leaves something out or gets it wrong."""
    WORDS = "words"
    """Says characters in words."""
    SEPARATORS = "separators"
    """Puts other signs, or none, between the letters and digits."""
    LETTERS = "letters"
    """Other forms of the same letters."""
    CASE = "case"
    LAYOUT = "layout"
    """Puts something between or around characters, or turns them around."""
    ESCAPE = "escape"
    """Writes characters by their codes."""
    ENCODING = "encoding"
    """Writes the value's bytes in another alphabet."""


@dataclass(frozen=True)
class Disguise:
    """One way of writing a value; ``apply(value, kind)`` returns the value as it is if it can't."""

    name: str
    stage: Stage
    apply: Callable[[str, str], str]


def claims(first: Disguise, second: Disguise) -> bool:
    """Return whether a value must be found on which ``second`` was applied after ``first``.

    Parts and typing errors may leave too little. Words and signs are chosen for what is
    written, not for how it is encoded: they come first. Letters and case are what base64 consists
    of: changing the case of a token destroys it.
    """
    if Stage.PART in {first.stage, second.stage}:
        return False
    if second.stage is Stage.WORDS:
        return first.stage in {Stage.WORDS, Stage.LETTERS, Stage.CASE}
    if second.stage is Stage.SEPARATORS:
        return first.stage in {Stage.WORDS, Stage.LETTERS, Stage.CASE, Stage.SEPARATORS}
    return not (second.stage is Stage.CASE and first.stage is Stage.ENCODING)


def _middle(value: str) -> int:
    return len(value) // 2


def _mixed_case(value: str) -> str:
    return "".join(c.upper() if i % 2 else c.lower() for i, c in enumerate(value))


def _homoglyphs(value: str) -> str:
    return value.translate(str.maketrans(_LATIN, _CYRILLIC))


def _glued(value: str) -> str:
    return f"the{value}and"


def _reversed(value: str) -> str:
    return value[::-1]


def _full_width(value: str) -> str:
    return "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in value)


def _mathematical(value: str) -> str:
    """Bold letters and digits of the mathematical alphabets."""

    def bold(c: str) -> str:
        if not (c.isascii() and c.isalnum()):
            return c
        zero, first = ("0", 0x1D7CE) if c.isdecimal() else ("A", 0x1D400)
        if c.islower():
            zero, first = "a", 0x1D41A
        return chr(first + ord(c) - ord(zero))

    return "".join(map(bold, value))


def _arabic_digits(value: str) -> str:
    return "".join(chr(0x660 + int(c)) if c in "0123456789" else c for c in value)


def _accents(value: str) -> str:
    return "".join(c + "\u0301" if c.isalpha() else c for c in value)


def _other_separators(value: str) -> str:
    return re.sub(r"[^\w]|_", " / ", value)


def _no_separators(value: str) -> str:
    return "".join(filter(str.isalnum, value))


def _signs_in_words(value: str) -> str:
    return "".join(_SIGNS.get(c, c) for c in value)


def _digits_in_words(value: str) -> str:
    pieces = re.split(r"([0-9])", value)
    spoken = [f" {_WORDS[int(p)]} " if len(p) == 1 and p in "0123456789" else p for p in pieces]
    return " ".join("".join(spoken).split())


def _wrapped(value: str) -> str:
    return f"{value[: _middle(value)]}\n    {value[_middle(value) :]}"


def _hyphenated(value: str) -> str:
    return f"{value[: _middle(value)]}-\n{value[_middle(value) :]}"


def _marked_up(value: str) -> str:
    return f"{value[: _middle(value)]}<b>{value[_middle(value) :]}</b>"


def _percent_escaped(value: str) -> str:
    return "".join(f"%{byte:02X}" for byte in _bytes(value))


def _html_escaped(value: str) -> str:
    return "".join(f"&#{ord(c)};" for c in value)


def _base64(value: str) -> str:
    return base64.b64encode(_bytes(value)).decode()


def _hexadecimal(value: str) -> str:
    return _bytes(value).hex()


def _json_escaped(value: str) -> str:
    units = value.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4))


def _bytes(value: str) -> bytes:
    return value.encode("utf-8", "surrogatepass")


def _main_part(value: str, kind: str) -> str:
    """Keep what somebody could act on: who, which house, the last seven digits, most of it."""
    if kind == "email":
        return value.partition("@")[0]
    if kind == "address":
        return value.partition(",")[0]
    if kind == "phone":
        digits = [i for i, c in enumerate(value) if c.isdecimal()]
        return value[digits[-7] :] if len(digits) >= 7 else value
    return value[: -(len(value) // 4)]


def _national(value: str, kind: str) -> str:
    """Write a phone as it is dialled from abroad, ``0049/...``."""
    return _NATIONAL.sub(r"00\1/", value, count=1) if kind == "phone" else value


def _without_one(value: str) -> str:
    return value[: _middle(value)] + value[_middle(value) + 1 :]


def _wrong_one(value: str) -> str:
    at = _middle(value)
    while at < len(value) - 1 and not value[at].isalnum():
        at += 1
    wrong = "7" if value[at] in "012345689" else "q" if value[at] != "q" else "z"
    return value[:at] + ("3" if value[at] == "7" else wrong) + value[at + 1 :]


def _swapped(value: str) -> str:
    at = _middle(value)
    return value[:at] + value[at : at + 2][::-1] + value[at + 2 :]


def _any_kind(apply: Callable[[str], str]) -> Callable[[str, str], str]:
    return lambda value, _kind: apply(value)


DISGUISES = (
    Disguise("as it is", Stage.LAYOUT, _any_kind(str)),
    Disguise("capitals", Stage.CASE, _any_kind(str.upper)),
    Disguise("mixed case", Stage.CASE, _any_kind(_mixed_case)),
    Disguise("homoglyphs", Stage.LETTERS, _any_kind(_homoglyphs)),
    Disguise("full width", Stage.LETTERS, _any_kind(_full_width)),
    Disguise("mathematical letters", Stage.LETTERS, _any_kind(_mathematical)),
    Disguise("digits of another script", Stage.LETTERS, _any_kind(_arabic_digits)),
    Disguise("accents", Stage.LETTERS, _any_kind(_accents)),
    Disguise("zero-width characters", Stage.LAYOUT, _any_kind(_ZERO_WIDTH.join)),
    Disguise("spaced out", Stage.LAYOUT, _any_kind(" ".join)),
    Disguise("glued to words", Stage.LAYOUT, _any_kind(_glued)),
    Disguise("wrapped lines", Stage.LAYOUT, _any_kind(_wrapped)),
    Disguise("markup within", Stage.LAYOUT, _any_kind(_marked_up)),
    Disguise("reversed", Stage.LAYOUT, _any_kind(_reversed)),
    Disguise("other separators", Stage.SEPARATORS, _any_kind(_other_separators)),
    Disguise("no separators", Stage.SEPARATORS, _any_kind(_no_separators)),
    Disguise("hyphenated", Stage.SEPARATORS, _any_kind(_hyphenated)),
    Disguise("signs in words", Stage.WORDS, _any_kind(_signs_in_words)),
    Disguise("digits in words", Stage.WORDS, _any_kind(_digits_in_words)),
    Disguise("national prefix", Stage.PART, _national),
    Disguise(
        "percent escapes",
        Stage.ESCAPE,
        _any_kind(_percent_escaped),
    ),
    Disguise("HTML escapes", Stage.ESCAPE, _any_kind(_html_escaped)),
    Disguise("JSON escapes", Stage.ESCAPE, _any_kind(_json_escaped)),
    Disguise("base64", Stage.ENCODING, _any_kind(_base64)),
    Disguise("hexadecimal", Stage.ENCODING, _any_kind(_hexadecimal)),
    Disguise("main part alone", Stage.PART, _main_part),
    Disguise("one character missing", Stage.PART, _any_kind(_without_one)),
    Disguise("one character wrong", Stage.PART, _any_kind(_wrong_one)),
    Disguise("two characters swapped", Stage.PART, _any_kind(_swapped)),
)
"""The catalogue."""
