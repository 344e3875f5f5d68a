r"""Single characters written by their codes: percent, HTML and ``\u`` escapes, and markup."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

import numpy as np

from dynaserve.canarybench.matching.pieces import Piece, bytes_of

_HEX = "[0-9A-Fa-f]"
_ENTITY = rf"&(?:\#[0-9]{{1,7}}|\#[xX]{_HEX}{{1,6}}|[A-Za-z][A-Za-z0-9]{{1,31}});"
_SIGN = r"[nrtbf\"'\\/]"
_LEAD = re.compile(r"[%&\\<]")
_ESCAPE = re.compile(
    r"[%&\\<](?:"
    rf"(?<=%)(?P<percent>{_HEX}{{2}}(?:%{_HEX}{{2}})*)"
    rf"|(?<=&)(?P<entity>{_ENTITY[1:]}(?:{_ENTITY})*)"
    rf"|(?<=\\)(?P<unicode>[uU]{_HEX}{{4}}(?:\\[uU]{_HEX}{{4}})*)"
    rf"|(?<=\\)(?P<byte>[xX]{_HEX}{{2}}(?:\\[xX]{_HEX}{{2}})*)"
    rf"|(?<=\\)(?P<simple>{_SIGN}(?:\\{_SIGN})*)"
    r"|(?<=<)(?P<tag>[!/?A-Za-z][^<>]{0,200}>)"
    r")"
)
_BROKEN = re.compile(r"[%&\\]\S{0,8}?(?P<joint>[ \t]{0,200}\r?\n[ \t]{0,200})(?=\S)")
_SIMPLE = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}


def unescaped(text: str) -> Iterator[Piece]:
    """Give what escapes stand for, and nothing for tags and for line breaks within an escape."""
    done = 0
    for lead in _LEAD.finditer(text):
        broken = _BROKEN.match(text, lead.start())
        if broken:
            yield Piece.of(*broken.span("joint"), "")
        match = _ESCAPE.match(text, lead.start()) if lead.start() >= done else None
        if not match:
            continue
        start, done = match.span()
        kind, escape = match.lastgroup, match[0]
        if kind == "percent":
            yield _bytes(start, done, escape.replace("%", ""), 3)
        elif kind == "byte":
            yield _bytes(start, done, re.sub(r"\\[xX]", "", escape), 4)
        elif kind == "unicode":
            yield _units(start, done, re.sub(r"\\[uU]", "", escape))
        elif kind == "tag":
            yield Piece.of(start, done, "")
        elif kind == "simple":
            signs = [_SIMPLE.get(sign, sign) for sign in escape[1::2]]
            yield _run(start, done, signs, [2] * len(signs))
        else:
            entities = escape[:-1].split(";")
            signs = [html.unescape(f"{entity};") for entity in entities]
            if "".join(signs) != escape:
                yield _run(start, done, signs, [len(entity) + 1 for entity in entities])


def _run(start: int, end: int, texts: list[str], widths: list[int]) -> Piece:
    """Return what escapes in a row, of these widths, stand for."""
    lasts = start + np.cumsum(widths)
    lengths = [len(text) for text in texts]
    return Piece(
        start, end, "".join(texts), np.repeat(lasts - widths, lengths), np.repeat(lasts, lengths)
    )


def _bytes(start: int, end: int, digits: str, width: int) -> Piece:
    """Return what hexadecimal bytes, each written in ``width`` characters, stand for."""
    text = bytes.fromhex(digits).decode("utf-8", "surrogateescape")
    firsts, lasts = bytes_of(text)
    return Piece(start, end, text, start + width * firsts, start + width * lasts)


def _units(start: int, end: int, digits: str) -> Piece:
    r"""Return what UTF-16 code units, each written as ``\uXXXX``, stand for."""
    text = bytes.fromhex(digits).decode("utf-16-be", "surrogatepass")
    return _run(start, end, list(text), [12 if ord(sign) > 0xFFFF else 6 for sign in text])
