"""Tokens, pass phrases, and what follows "my password is"."""

from __future__ import annotations

import pytest

from dynaserve.redaction import redact


@pytest.mark.parametrize(
    "secret",
    [
        "tok_aB3dE6gH9jK2mN5pQ8rS1tU4vW7xY0z",
        "sk-test47110815",
        "ghp_0123456789abcdefABCDEF",
        "9f86d081884c7d659a2feaa0c55ad015",
        "550e8400-e29b-41d4-a716-446655440000",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmN",
        "QWxhZGRpbjpvcGVuIHNlc2FtZQ==",
        "hGtRwQpLmNbVcXzAsDfG",
        "velvet-quince-otter-4821",
        "velvet_quince_otter_4821",
        "velvet-quince-otter-lantern",
        "CANARY-7f3a",
    ],
)
def test_what_is_no_word_is_taken_out(secret: str) -> None:
    assert redact(f"It is {secret}, yes.") == "It is [SECRET], yes."


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("my password is hunter2!", "my password is [SECRET]!"),
        ("Passphrase: 'blue moon over hills'", "Passphrase: '[SECRET]'"),
        ("the code word was \u201cmarmalade\u201d.", "the code word was \u201c[SECRET]\u201d."),
        ("pin=0815", "pin=[SECRET]"),
        ("my security answer is: Rex_7", "my security answer is: [SECRET]"),
    ],
)
def test_what_is_called_a_secret_is_taken_out(text: str, redacted: str) -> None:
    assert redact(text) == redacted


@pytest.mark.parametrize(
    "text",
    [
        "my password is wrong",
        "the pin is missing",
        "a well-known word-of-mouth story",
        "antidisestablishmentarianism",
        "one_two_three and snake_case",
        "covid-19 and mp3-player",
        "............",
    ],
)
def test_words_stay(text: str) -> None:
    assert redact(text) == text
