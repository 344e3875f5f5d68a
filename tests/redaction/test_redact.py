"""Redaction as a whole: every kind of canary goes, the rest stays, and time grows with the text."""

from __future__ import annotations

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.redaction import HOSTILE, milliseconds
from dynaserve import redaction
from dynaserve.canarybench.canaries import KINDS, CanaryMint
from dynaserve.redaction import LAYERS, Span, find_personal, redact

LABELS = {
    "email": "EMAIL",
    "phone": "PHONE",
    "address": "ADDRESS",
    "phrase": "SECRET",
    "card": "CARD",
    "iban": "IBAN",
    "ip": "IP",
    "token": "SECRET",
}
SURROUNDINGS = ("{value}", "({value})", "It is {value}, I think.", "x: {value}\nnext", '"{value}"')


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("surroundings", SURROUNDINGS)
def test_every_canary_is_taken_out_whole(kind: str, surroundings: str) -> None:
    mint = CanaryMint(17)
    want = surroundings.format(value=f"[{LABELS[kind]}]")
    for _ in range(100):
        assert redact(surroundings.format(value=mint.draw(kind))) == want


@pytest.mark.parametrize("kind", KINDS)
def test_every_canary_is_taken_out_of_its_carriers(kind: str) -> None:
    mint = CanaryMint(18)
    for carrier in KINDS[kind].carriers * 10:
        redacted = redact(carrier.format(value=mint.draw(kind)))
        assert redacted.endswith(f"[{LABELS[kind]}]{carrier.partition('{value}')[2]}")


@pytest.mark.parametrize(
    "text",
    [
        "My parcel is late. What can I do?",
        "I have 3 cats, 12 plants and 250 books on the way.",
        "It was on 2024-05-17 or 17.05.2024, between 10:30 and 11:45.",
        "He lived there 2019-2023, or 1999/2004.",
        "I paid $12500 or 1,250.00 for it, 50% off.",
        "Python 3.11.7 is state-of-the-art and up-to-date.",
        "My password is not working and the token is expired.",
        "Meet me at noon, dot the i.",
        "We ran five miles on the road, 4 laps each.",
        "Internationalization matters.",
        "a < b and c > d, e & f, 100 % sure",
        "",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize("kind", KINDS)
def test_glued_words_hide_no_canary(kind: str) -> None:
    mint = CanaryMint(19)
    for _ in range(50):
        value = mint.draw(kind)
        longest = max(value.replace(",", " ").split(), key=len)
        for text in (f"see{value}", f"{value}next", f"see{value}next"):
            assert longest not in redact(text)


def test_overlapping_finds_become_one_named_by_the_first_layer() -> None:
    text = "https://example.com/?to=ada@example.org&key=tok_aB3dE6gH9jK2mN5p"
    assert redact(f"See {text} now") == "See [EMAIL] now"


def test_finds_are_where_the_text_is() -> None:
    text = "é ada@example.com, 192.0.2.7"
    assert find_personal(text) == [Span(2, 17, "EMAIL"), Span(19, 28, "IP")]


PIECES = st.sampled_from(
    ["ada@example.com", "+44 20 7946 0123", "4821 Elm Street", "a-b", "-", "_", ".", " ", "12", "[",
     "4242 4242 4242 4242", "pin: ", "is", "'", "velvet-quince-otter-4821", "x", "@", "(", "é"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=12).map(" ".join))
def test_nothing_is_left_to_find(text: str) -> None:
    assert find_personal(redact(text)) == []


@given(st.text(st.characters(codec=None), max_size=60))
def test_any_text_is_redacted_and_the_rest_kept(text: str) -> None:
    spans = find_personal(text)
    assert all(0 <= span.start < span.end <= len(text) for span in spans)
    kept = [text[a.end : b.start] for a, b in zip([Span(0, 0, ""), *spans], spans, strict=False)]
    assert all(part in redact(text) for part in kept)


@pytest.mark.parametrize("unit", HOSTILE)
def test_time_grows_with_the_length_of_a_hostile_text(unit: str) -> None:
    short, long = (unit * (length // len(unit)) for length in (4_000, 32_000))
    # Eight times the text: 8 if linear, 64 if quadratic; below a millisecond clocks say little.
    assert milliseconds(redact, long) < 24 * max(milliseconds(redact, short), 1)


def test_there_is_a_layer_for_each_label() -> None:
    found = {
        span.label for value in map(CanaryMint(1).draw, KINDS) for span in find_personal(value)
    }
    assert found == set(LABELS.values())
    assert len(LAYERS) == 10


def test_the_examples_run() -> None:
    result = doctest.testmod(redaction)
    assert result.attempted > 0
    assert result.failed == 0
