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


def test_an_iban_ends_where_its_country_says() -> None:
    assert redact("DE89 3704 0044 0532 0130 00 and more") == "[IBAN] and more"


def test_an_iban_with_a_typo_still_loses_its_digits() -> None:
    assert "0532" not in redact("Use DE89 3704 0044 0532 0130 01 please")


def test_so_many_phones_that_the_library_is_not_asked_are_redacted_all_the_same() -> None:
    text = ", ".join(f"+44 20 7946 {number:04d}" for number in range(200))
    labels = [span.label for span in numbers(text)]
    assert labels[:50] == ["PHONE"] * 50
    assert labels[50:] == ["NUMBER"] * 150
