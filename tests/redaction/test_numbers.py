"""Phones, cards, accounts, codes: redacted by length, named by checksum."""

from __future__ import annotations

import pytest

from dynaserve.redaction import redact
from dynaserve.redaction.numbers import numbers


@pytest.mark.parametrize(
    ("number", "label"),
    [
        ("+44 20 7946 0123", "PHONE"),
        ("020 7946 0123", "PHONE"),
        ("0049 30 23125 111", "PHONE"),
        ("(415) 555-0123", "PHONE"),
        ("1-415-555-0123", "PHONE"),
        ("415-555-0123x4711", "PHONE"),
        ("415-555-0123 ext. 7", "PHONE"),
        ("+1.415.555.0123", "PHONE"),
        ("415\u2011555\u20110123", "PHONE"),
        ("415\n555\n0123", "PHONE"),
        ("４１５ ５５５ ０１２３", "PHONE"),
        ("4\u200b155\u200b550123", "PHONE"),
        ("555-0123", "PHONE"),
        ("5550123", "PHONE"),
        ("4242 4242 4242 4242", "CARD"),
        ("4242-4242-4242-4242", "CARD"),
        ("4242 4242 4242 4241", "NUMBER"),
        ("123-4567", "NUMBER"),
        ("1" * 40, "NUMBER"),
        ("43127", "ZIP"),
        ("43127-1234", "ZIP"),
        ("192.0.2.7", "IP"),
        ("00:1A:2B:3C:4D:5E", "MAC"),
        ("00-1a-2b-3c-4d-5e", "MAC"),
        ("001a.2b3c.4d5e", "MAC"),
        ("2001:db8::1", "IP"),
        ("fe80::1ff:fe23:4567:890a", "IP"),
        ("DE89 3704 0044 0532 0130 00", "IBAN"),
        ("DE89370400440532013000", "IBAN"),
        ("gb82 west 1234 5698 7654 32", "IBAN"),
    ],
)
def test_a_number_gets_its_label(number: str, label: str) -> None:
    assert redact(f"It is {number}, yes.") == f"It is [{label}], yes."


@pytest.mark.parametrize(
    "text",
    ["2024-05-17", "1/2/2024", "2019 - 2023", "123456", "$43127", "€12345", "A43127", "10:30:45.5"],
)
def test_dates_amounts_and_short_numbers_stay(text: str) -> None:
    assert redact(f"It is {text}.") == f"It is {text}."


@pytest.mark.parametrize(
    "text",
    ["v1.2.3.4", "version 1.2.3.4", "release 10.0.1.2", "Chrome/120.0.6099.109", "10000 steps",
     "a population of 84000", "50000 new users", "12345 km", "[2023-10-11 12:30:45]",
     "2023-10-11T12:30:45.123456Z", "11/10/2023 12:30", "ab:cd:12"],
)  # fmt: skip
def test_versions_counts_and_moments_stay(text: str) -> None:
    assert redact(f"It is {text}.") == f"It is {text}."


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("2023-10-11 415-555-0123", "2023-10-11 [PHONE]"),
        ("I moved to 94110 this year", "I moved to [ZIP] this year"),
        ("94110 is nice", "[ZIP] is nice"),
        ("zip94110 or zip code94110", "zip[ZIP] or zip code[ZIP]"),
        ("the server 10.0.1.2", "the server [IP]"),
        ("my zip code 94103 works", "my zip code [ZIP] works"),
        ("Zip: 94103 belongs", "Zip: [ZIP] belongs"),
        ("zip #94103 times", "zip #[ZIP] times"),
        ("postal code = 94103 miles", "postal code = [ZIP] miles"),
        ("my zip is 94103 people say", "my zip is [ZIP] people say"),
        ("94103-1234 users", "[ZIP] users"),
        ("in 94103 people say", "in [ZIP] people say"),
        ("in 10000 steps", "in 10000 steps"),
        ("94103 sometimes", "[ZIP] sometimes"),
        ("rather than 94103", "rather than [ZIP]"),
        ("I like 94110 more than 94103", "I like [ZIP] more than [ZIP]"),
        ("Client/203.0.113.7", "Client/[IP]"),
        ("Login/203.0.113.7", "Login/[IP]"),
        ("patch 203.0.113.7", "patch [IP]"),
        ("Client/415.555.0123", "Client/[PHONE]"),
        ("rev 01.23.45.67.89", "rev [PHONE]"),
    ],
)
def test_what_stands_beside_is_taken_out_all_the_same(text: str, after: str) -> None:
    assert redact(text) == after


def test_an_iban_ends_where_its_country_says() -> None:
    assert redact("DE89 3704 0044 0532 0130 00 and more") == "[IBAN] and more"


def test_an_iban_with_a_typo_still_loses_its_digits() -> None:
    assert "0532" not in redact("Use DE89 3704 0044 0532 0130 01 please")


def test_so_many_phones_that_the_library_is_not_asked_are_redacted_all_the_same() -> None:
    text = ", ".join(f"+44 20 7946 {number:04d}" for number in range(200))
    labels = [span.label for span in numbers(text)]
    assert labels[:50] == ["PHONE"] * 50
    assert labels[50:] == ["NUMBER"] * 150
