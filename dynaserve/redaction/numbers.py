"""Numbers that belong to somebody: phones, cards, accounts, codes, addresses on the network.

Whether digits are taken out depends on how many stand together, not on a checksum: a number with
a typo is as personal as the right one. Checksums and the phone library only choose the label.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dynaserve.redaction.checksums import iban_remainder, luhn_holds
from dynaserve.redaction.impersonal import is_count, without_impersonal
from dynaserve.redaction.span import Span

FEWEST_DIGITS = 7
"""A phone number without its area code."""
REGIONS = ("US", "GB", "DE", "FR")
"""Where a phone number without a country code may be from."""
_MOST_PHONES = 50
"""Per text, to bound time: the library needs about 0.1 ms each. Later ones get another label."""
_BETWEEN = r"[\s().\-/_*~\u00ad\u00b7\u2010-\u2015\u2022\u2212\u200b-\u200f\u2060\ufeff]"
_RUN = re.compile(
    rf"(?P<digits>\d(?:{_BETWEEN}{{0,3}}\d){{4,}})(?:\s?(?:x|ext\.?)\s?\d{{1,6}})?", re.IGNORECASE
)
_NO_DIGIT = re.compile(r"\D")
_PLUS = "+\uff0b"
_PREFIX = "+\uff0b("
_YEARS = re.compile(r"(?:19|20)\d\d\s?[-/\u2013]\s?(?:19|20)\d\d")
_ZIP = re.compile(r"\d{5}(?:-\d{4})?")
_ZIP_CUE = re.compile(
    r"(?<![^\W_])(?:zip|zip[\s-]?codes?|post(?:al)?[\s-]?codes?|plz)(?:\s(?:is|was))?[\s:=#]{0,3}$",
    re.IGNORECASE,
)
_LONGEST_CUE = 20
_FIVE = 5
"""Digits of a code without its second part, which no count has."""
_CURRENCY = frozenset("$\u20ac\u00a3\u00a5#")

_IPV4 = re.compile(r"\d(?<![\d.+]\d)\d{0,2}(?:\.\d{1,3}){3}(?!\.?\d)")
_COLONS = re.compile(r"(?<!:)[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7}(?!:)")
_MAC = re.compile(
    r"(?<![0-9A-Fa-f:-])[0-9A-Fa-f]{2}(?P<mark>[:-])(?:[0-9A-Fa-f]{2}(?P=mark)){4}[0-9A-Fa-f]{2}"
    r"(?![0-9A-Fa-f:]|-\w)"
    r"|(?<![0-9A-Fa-f.])(?=[A-Fa-f.]{0,9}\d)[0-9A-Fa-f]{4}\.[0-9A-Fa-f]{4}\.[0-9A-Fa-f]{4}"
    r"(?![0-9A-Fa-f]|\.\w)"
)
_IBAN = re.compile(r"\d(?<=[A-Za-z]{2}\d)\d(?:[ -]?[A-Za-z0-9]){11,30}")
_IBAN_LENGTHS = {
    **dict.fromkeys(("NO",), 15),
    **dict.fromkeys(("BE",), 16),
    **dict.fromkeys(("DK", "FI", "NL", "FO", "GL"), 18),
    **dict.fromkeys(("MK", "SI"), 19),
    **dict.fromkeys(("AT", "BA", "EE", "KZ", "LT", "LU", "XK"), 20),
    **dict.fromkeys(("CH", "HR", "LI", "LV"), 21),
    **dict.fromkeys(("BG", "BH", "CR", "DE", "GB", "GE", "IE", "ME", "RS"), 22),
    **dict.fromkeys(("AE", "GI", "IL", "IQ", "TL"), 23),
    **dict.fromkeys(("AD", "CZ", "ES", "MD", "PK", "RO", "SA", "SE", "SK", "TN", "VG"), 24),
    **dict.fromkeys(("AO", "PT", "ST"), 25),
    **dict.fromkeys(("IS", "TR"), 26),
    **dict.fromkeys(("FR", "GR", "IT", "MC", "MR", "SM"), 27),
    **dict.fromkeys(("AL", "AZ", "BY", "CY", "DO", "GT", "HU", "LB", "PL", "SV"), 28),
    **dict.fromkeys(("BR", "EG", "PS", "QA", "UA"), 29),
    **dict.fromkeys(("JO", "KW", "MU"), 30),
    **dict.fromkeys(("MT", "SC"), 31),
}
"""Characters per country (the IBAN registry of ISO 13616)."""


def ip_addresses(text: str) -> Iterator[Span]:
    """Find addresses of both versions of the Internet Protocol."""
    for match in _IPV4.finditer(without_impersonal(text) if _IPV4.search(text) else ""):
        yield Span(match.start(), match.end(), "IP")
    if ":" not in text:
        return
    for match in _COLONS.finditer(text):
        found = match.group()
        if ("::" in found or found.count(":") == 7) and any(map(str.isdigit, found)):
            yield Span(match.start(), match.end(), "IP")


def mac_addresses(text: str) -> Iterator[Span]:
    """Find addresses of network cards, six pairs or three fours of hexadecimal digits."""
    for match in _MAC.finditer(text):
        yield Span(match.start(), match.end(), "MAC")


def ibans(text: str) -> Iterator[Span]:
    """Find IBANs whose check digits are right; of others `numbers` takes the digits."""
    for match in _IBAN.finditer(text):
        start = match.start() - 2
        length = _IBAN_LENGTHS.get(text[start : start + 2].upper(), 0)
        signs = [at for at in range(start, match.end()) if text[at] not in " -"][:length]
        if not length or len(signs) < length:
            continue
        if iban_remainder("".join(text[at] for at in signs)) == 1:
            yield Span(signs[0], signs[-1] + 1, "IBAN")


def numbers(text: str) -> Iterator[Span]:
    """Find long numbers, however they are grouped, and codes that look like ZIP codes."""
    phones_left = _MOST_PHONES
    text = without_impersonal(text)
    for match in _RUN.finditer(text):
        start, end = match.span("digits")
        digits = _NO_DIGIT.sub("", match["digits"])
        if _ZIP.fullmatch(text, start, end):
            if _is_zip(text, start, end):
                yield Span(start, end, "ZIP")
        elif len(digits) >= FEWEST_DIGITS and not _YEARS.fullmatch(text, start, end):
            prefix = text[max(start - 2, 0) : start]
            start -= len(prefix) - len(prefix.rstrip(_PREFIX if ")" in match["digits"] else _PLUS))
            phones_left -= 1
            yield Span(start, match.end(), _label(text[start], digits, phones_left >= 0))


def _is_zip(text: str, start: int, end: int) -> bool:
    """Whether a number of that form has a cue, or is no count, money or part of a word."""
    before, after = text[start - 1 : start], text[end : end + 1]
    if after.isalnum():
        return False
    if _ZIP_CUE.search(text, max(start - _LONGEST_CUE, 0), start):
        return True
    if before.isalnum() or before in _CURRENCY:
        return False
    return end - start > _FIVE or not is_count(text, start, end)


def _label(first: str, digits: str, ask_library: bool) -> str:
    if 13 <= len(digits) <= 19 and luhn_holds(digits):
        return "CARD"
    if len(digits) > 15 or not ask_library:
        return "NUMBER"
    return "PHONE" if _is_phone(first, digits) else "NUMBER"


def _is_phone(first: str, digits: str) -> bool:
    if first in _PLUS or digits.startswith("00"):
        return _is_valid(f"+{digits.removeprefix('00')}", None)
    return any(_is_valid(digits, region) for region in REGIONS)


def _is_valid(number: str, region: str | None) -> bool:
    try:
        import phonenumbers  # noqa: PLC0415 - of two extras
    except ImportError as error:
        raise ImportError(
            'redaction needs phonenumbers: pip install "dynaserve[canary]" (or [anonymize])'
        ) from error
    try:
        return phonenumbers.is_valid_number(phonenumbers.parse(number, region))
    except phonenumbers.NumberParseException:
        return False
