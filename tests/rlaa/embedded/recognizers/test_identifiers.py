"""Direct identifiers, and how much of the words around them they take in."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dynaserve.rlaa.embedded.recognizers.identifiers import identifiers


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


def test_a_sentence_around_an_address_stays(anonymize: Callable[[str], str]) -> None:
    assert anonymize("Reach us at jo.b@x.org, or at jo at x dot org.") == (
        "Reach us at [EMAIL], or at [EMAIL]."
    )
