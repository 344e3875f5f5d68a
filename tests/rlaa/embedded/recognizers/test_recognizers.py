"""What every recognizer owes: places that exist, general words, linear time."""

from __future__ import annotations

import pytest

from benchmarks.anonymizer_recall import HOSTILE
from benchmarks.redaction import milliseconds
from dynaserve.rlaa.embedded.finding import Recognizer
from dynaserve.rlaa.embedded.recognizers import recognizers
from dynaserve.rlaa.records import ATTRIBUTES, IDENTIFIER

EXAMPLES = {
    "identifiers": "mail ada@example.com",
    "postal": "I sent it to 12 Lindenova 45, Apt. 3\nGrauburg\n12345",
    "cued_numbers": "my zip code is 610",
    "codes": "licence F162823540",
    "handles": "ask @ada_quill or u/adaquill",
    "cued_handles": "my insta is ada.quill9",
    "persons": "my name is Ada Quill",
    "places": "I live in Porto",
    "tags": "I (25F) need advice",
    "age": "I'm 31",
    "calendar": "I was born in 1985",
    "sex": "I'm a woman",
    "relationship": "my wife",
    "occupation": "as a nurse",
    "education": "my PhD",
    "income": "I earn 85k",
}
"""In their order."""
RECOGNIZERS = dict(zip(EXAMPLES, recognizers(), strict=True))


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_finding_stands_in_the_text_and_is_generalized(name: str) -> None:
    text = EXAMPLES[name]
    findings = list(RECOGNIZERS[name](text))
    assert findings
    for finding in findings:
        assert 0 <= finding.start < finding.end <= len(text)
        assert finding.attribute in {*ATTRIBUTES, IDENTIFIER}
        assert finding.instead not in {"", text[finding.start : finding.end]}


@pytest.mark.parametrize("recognize", RECOGNIZERS.values(), ids=RECOGNIZERS)
def test_time_grows_with_the_length_of_a_hostile_text(recognize: Recognizer) -> None:
    def work(text: str) -> object:
        return sum(1 for _ in recognize(text))

    work("Porto")  # the gazetteer is loaded once
    for unit in HOSTILE:
        short, long = (unit * (length // len(unit)) for length in (500, 4_000))
        # Eight times the text: 8 if linear, 64 if quadratic; below a millisecond clocks say little.
        assert milliseconds(work, long) < 24 * max(milliseconds(work, short), 1), unit
