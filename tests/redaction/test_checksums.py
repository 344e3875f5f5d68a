"""Check digits, against the examples that their standards and makers publish."""

from __future__ import annotations

import pytest

from dynaserve.redaction.checksums import iban_remainder, luhn_holds


@pytest.mark.parametrize(
    ("number", "right"),
    [("79927398713", True), ("79927398710", False), ("4242424242424242", True), ("0", True)],
)
def test_luhn_agrees_with_published_examples(number: str, right: bool) -> None:
    assert luhn_holds(number) is right


@pytest.mark.parametrize(
    "iban", ["GB82WEST12345698765432", "DE89370400440532013000", "NL91ABNA0417164300"]
)
def test_iban_remainder_agrees_with_published_examples(iban: str) -> None:
    assert iban_remainder(iban) == 1
    assert iban_remainder(iban[:-1] + str((int(iban[-1]) + 1) % 10)) != 1
