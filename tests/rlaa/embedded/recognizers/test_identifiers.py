"""Direct identifiers, and how much of the words around them they take in."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dynaserve.rlaa.embedded.recognizers.identifiers import (
    cued_handles,
    cued_numbers,
    handles,
    identifiers,
)


@pytest.mark.parametrize(
    ("text", "evidence"),
    [
        ("Mail me at jo@x.org", "jo@x.org"),
        ("Mail me at jo.b@x.org", "jo.b@x.org"),
        ("reach us at jo+b@mail.x.co.uk, please", "jo+b@mail.x.co.uk"),
        ("Mail jo at x dot org", "jo at x dot org"),
        ("Mail jo (at) x.org", "jo (at) x.org"),
    ],
)
def test_the_evidence_of_an_email_is_the_address_alone(text: str, evidence: str) -> None:
    (finding,) = identifiers(text)
    assert text[finding.start : finding.end] == evidence
    assert finding.instead == "[EMAIL]"


@pytest.mark.parametrize(
    ("text", "evidence"),
    [
        ("ask @ada_quill, please", "@ada_quill"),
        ("ask @ada.quill.", "@ada.quill"),
        ("see @adaquill.Then go", "@adaquill"),
        ("I am u/ada-quill", "u/ada-quill"),
    ],
)
def test_a_handle_is_found_whole(text: str, evidence: str) -> None:
    assert [text[f.start : f.end] for f in handles(text)] == [evidence]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("my insta is ada.quill9!", ["ada.quill9"]),
        ("Telegram: @ada_q", ["ada_q"]),
        ("my username is wrong", []),
        ("Twitter is down. Reddit: ok", []),
    ],
)
def test_a_name_after_that_of_a_service_is_a_handle(text: str, found: list[str]) -> None:
    assert [text[f.start : f.end] for f in cued_handles(text)] == found


@pytest.mark.parametrize("text", ["postcode is sw1a 1aa", "zip94110", "zip: 94110", "SSN 12-34"])
def test_a_cued_number_is_replaced_whole(text: str) -> None:
    (finding,) = cued_numbers(text)
    assert (finding.start, finding.end) == (0, len(text))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It costs 1500000 dollars", []),
        ("It has 1048576 bytes.", []),
        ("my number is 1500000, dollars please", ["1500000"]),
        ("user 1500000 likes it", ["1500000"]),
    ],
)
def test_an_amount_with_its_unit_identifies_nobody(text: str, found: list[str]) -> None:
    assert [text[f.start : f.end] for f in identifiers(text)] == found


def test_a_sentence_around_an_address_stays(anonymize: Callable[[str], str]) -> None:
    assert anonymize("Reach us at jo.b@x.org, or at jo at x dot org.") == (
        "Reach us at [EMAIL], or at [EMAIL]."
    )
