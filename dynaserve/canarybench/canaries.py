"""Kinds of canary: how a value looks, and the sentences people write such a value in.

Values are made up, yet real validators accept them: a phone number that a phone library
rejects would be passed over by a redactor that uses one, and the audit would test nothing. Where a
range is set apart for fiction, documentation or tests, they come from it. They may never be
those of a person.

The benchmark's paper (arXiv 2601.18834) does not publish its formats; these are our choice.
"""

from __future__ import annotations

import random
import string
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from dynaserve.canarybench import words
from dynaserve.canarybench.carriers import CARRIERS
from dynaserve.redaction.checksums import iban_remainder, luhn_holds

Draw = random.Random
_TRIES = 10_000
_BASE62 = string.ascii_letters + string.digits

PHONE_RANGES = (
    # Ofcom's numbers for drama
    *("+44 20 7946 0###", "+44 113 496 0###", "+44 191 498 0###", "+44 28 9649 6###"),
    *("+44 29 2018 0###", "+44 808 157 0###", "+44 306 999 0###"),
    # ARCEP's for audiovisual works
    *("+33 1 99 00 ## ##", "+33 2 61 91 ## ##", "+33 3 53 01 ## ##"),
    *("+33 4 65 71 ## ##", "+33 5 36 49 ## ##"),
    # the Bundesnetzagentur's for media
    *("+49 30 23125 ###", "+49 69 90009 ###", "+49 40 66969 ###", "+49 89 99998 ###"),
    # ACMA's for creative works
    *("+61 2 5550 ####", "+61 3 5550 ####", "+61 2 7010 ####", "+61 8 7010 ####"),
    # 555-0100 to 555-0199 of the North American plan
    *("+1 212-555-01##", "+1 415-555-01##", "+1 503-555-01##"),
)
CARD_PREFIXES = (("424242", 16), ("400000", 16), ("555555", 16), ("222300", 16), ("378282", 15))
"""The first digits of payment processors' test cards, and how long such a number is."""
IBAN_FORMATS = {"DE": "0" + "#" * 17, "GB": "TEST" + "#" * 14, "NL": "TEST0" + "#" * 9}
"""Bank codes that no bank has, then the account, per country."""


@dataclass(frozen=True)
class Kind:
    """One kind of canary."""

    make: Callable[[Draw], str]
    """Draws a value."""
    identity: Callable[[str], str]
    """What of a value must not repeat. No two values with different ones may contain each other,
    nor, of phone numbers, end in the same seven digits: an audit could not tell them apart."""
    carriers: tuple[str, ...]
    """Sentences with a place for ``{value}``."""


class CanaryMint:
    """Draws values that it never drew before, the same ones for the same seed.

    Parameters
    ----------
    seed
        Where every value comes from. Whoever knows it knows the values: choose a secret one
        where somebody might cheat.

    Examples
    --------
    >>> CanaryMint(seed=1).draw("email") == CanaryMint(seed=1).draw("email")
    True
    """

    def __init__(self, seed: int) -> None:
        # Canaries must be repeatable, which no cryptographic generator is.
        self._draws = {name: Draw(f"{seed}/canary/{name}") for name in KINDS}
        self._drawn: set[tuple[str, str]] = set()

    def draw(self, kind: str) -> str:
        """Return a fresh value.

        Raises
        ------
        ValueError
            If the kind is unknown or has no more values.
        """
        require_kinds((kind,))
        maker = KINDS[kind]
        for _ in range(_TRIES):
            value = maker.make(self._draws[kind])
            identity = kind, maker.identity(value)
            if identity not in self._drawn:
                self._drawn.add(identity)
                return value
        raise ValueError(f"canaries: no more values of kind {kind!r}; use fewer, or more kinds")


def require_kinds(kinds: tuple[str, ...]) -> None:
    """Refuse kinds that are not among `KINDS`.

    Raises
    ------
    ValueError
        If there are none, or naming the first unknown one.
    """
    if not kinds:
        raise ValueError("kinds: needs at least one")
    for kind in kinds:
        if kind not in KINDS:
            raise ValueError(f"kinds: {kind!r} is not one of {', '.join(KINDS)}")


def _digits(draw: Draw, pattern: str) -> str:
    """Return a pattern with a random digit for each ``#``."""
    return "".join(str(draw.randrange(10)) if sign == "#" else sign for sign in pattern)


def _email(draw: Draw) -> str:
    given, family = _name(draw, words.GIVEN), _name(draw, words.FAMILY)
    first, second = draw.choice(((given, family), (family, given)))
    number = draw.randrange(10, 1000)
    return f"{first}.{second}{number}@{draw.choice(words.MAIL_DOMAINS)}"


def _name(draw: Draw, parts: tuple[list[str], list[str]]) -> str:
    return draw.choice(parts[0]) + draw.choice(parts[1])


def _after(joint: str) -> Callable[[str], str]:
    """Return a function to what follows a value's first part, however that begins."""
    return lambda value: value.partition(joint)[2]


def _phone(draw: Draw) -> str:
    number = _digits(draw, draw.choice(PHONE_RANGES))
    separator = draw.choice((None, None, "-", ".", ""))
    return number if separator is None else number.replace("-", " ").replace(" ", separator)


def _last_seven_digits(value: str) -> str:
    return "".join(filter(str.isdigit, value))[-7:]


def _address(draw: Draw) -> str:
    street = f"{_name(draw, words.STREET)} {draw.choice(words.STREET_TYPES)}"
    town = f"{_name(draw, words.TOWN)}, {draw.choice(words.STATES)}"
    house, zip_code = draw.randrange(100, 10_000), draw.randrange(10_000, 100_000)
    return f"{house} {street}, {town} {zip_code}"


def _phrase(draw: Draw) -> str:
    return "-".join((*draw.sample(words.PHRASE, 3), str(draw.randrange(1000, 10_000))))


def _card(draw: Draw) -> str:
    prefix, length = draw.choice(CARD_PREFIXES)
    body = _digits(draw, prefix + "#" * (length - len(prefix) - 1))
    number = body + next(d for d in string.digits if luhn_holds(body + d))
    separator = draw.choice((" ", " ", "-", ""))
    cuts = (0, 4, 10, 15) if length == 15 else (0, 4, 8, 12, 16)
    return separator.join(number[a:b] for a, b in pairwise(cuts))


def _iban(draw: Draw) -> str:
    country = draw.choice(tuple(IBAN_FORMATS))
    account = _digits(draw, IBAN_FORMATS[country])
    check = 98 - iban_remainder(f"{country}00{account}")
    plain = f"{country}{check:02d}{account}"
    if draw.random() < 0.5:
        return plain
    return " ".join(plain[at : at + 4] for at in range(0, len(plain), 4))


def _ip(draw: Draw) -> str:
    if draw.random() < 0.5:
        # 198.18.0.0/15 is for benchmarks (RFC 2544); three digits at the end keep one address
        # from being the beginning of another.
        return f"198.{draw.choice((18, 19))}.{draw.randrange(256)}.{draw.randrange(100, 256)}"
    groups = (f"{draw.randrange(0x1000, 0x10000):x}" for _ in range(6))
    return "2001:db8:" + ":".join(groups)  # for documentation (RFC 3849)


def _token(draw: Draw) -> str:
    return draw.choice(("api_", "key_", "tok_", "sec_")) + "".join(draw.choices(_BASE62, k=32))


def _alphanumeric(value: str) -> str:
    return "".join(filter(str.isalnum, value))


KINDS = {
    "email": Kind(_email, _after("."), CARRIERS["email"]),
    "phone": Kind(_phone, _last_seven_digits, CARRIERS["phone"]),
    "address": Kind(_address, _after(" "), CARRIERS["address"]),
    "phrase": Kind(_phrase, _after("-"), CARRIERS["phrase"]),
    "card": Kind(_card, _alphanumeric, CARRIERS["card"]),
    "iban": Kind(_iban, _alphanumeric, CARRIERS["iban"]),
    "ip": Kind(_ip, str, CARRIERS["ip"]),
    "token": Kind(_token, str, CARRIERS["token"]),
}
PAPER_KINDS = ("email", "phone", "address", "phrase")
"""Those of the paper."""
