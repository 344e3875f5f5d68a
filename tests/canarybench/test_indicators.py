from __future__ import annotations

import pytest

from dynaserve.canarybench.indicators import count_indicators


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("write to ada.q+x@mail.example.co.uk.", "email"),
        ("call +1 (415) 555-2671", "phone"),
        ("call 0049 30 901820 today", "phone"),
        ("415.555.2671", "phone"),
        ("4155552671", "phone"),
        ("Springfield, IL 62704", "zip"),
        ("IL 62704-1234", "zip"),
    ],
)
def test_what_looks_personal_is_counted_once(text, kind):
    expected = dict.fromkeys(("email", "phone", "zip"), 0) | {kind: 1}
    assert count_indicators([text]) == expected


@pytest.mark.parametrize(
    "text", ["on 2024-05-06 at 10:30", "4111 1111 1111 1111", "ada at example", "version 123456"]
)
def test_what_does_not_is_not(text):
    assert not any(count_indicators([text]).values())


def test_counts_add_up_over_texts():
    assert count_indicators(["a@b.org", "a@b.org c@d.org"])["email"] == 3


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "unit", ["1", "1-", "12-", "a@", "a.b@c.", "(12)", "+1 ", "12 12a ", "b.", "(", "12345-"]
)
def test_hostile_text_takes_linear_time(unit):
    count_indicators([unit * (300_000 // len(unit))])
