"""Numbers that belong to nobody, and those beside them."""

from __future__ import annotations

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaserve.redaction import impersonal
from dynaserve.redaction.impersonal import FILL, is_count, without_impersonal


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("2024-05-17", ""),
        ("17.05.2024 and 5/17/2024", " and "),
        ("2024-13-45", "2024-13-45"),
        ("12024-05-17", "12024-05-17"),
        ("2024-05-17-1234", "2024-05-17-1234"),
        ("at 12:30:45.123, 9:05am", "at , am"),
        ("12:30:45.5550123", "12:30:45.5550123"),
        ("5ee7:27bf", "5ee7:27bf"),
        ("v1.2.3.4 of 10.0.1.2", "v of 10.0.1.2"),
        ("version 1.2.3-4", "version 1.2.3-4"),
        ("Chrome/120.0.0.0", "Chrome/"),
        ("build 10.0.19045.3693", "build "),
        ("Client/203.0.113.7", "Client/203.0.113.7"),
        ("v203.0.113.7:8080", "v203.0.113.7:8080"),
        ("patch 203.0.113.7", "patch 203.0.113.7"),
        ("release 415.555.0123", "release 415.555.0123"),
        ("Login/1.415.555.0123", "Login/1.415.555.0123"),
        ("v203.0.113.7.example", "v203.0.113.7.example"),
        ('"ts": 1700000000, "at": 1700000000', '"ts": , "at": 1700000000'),
        ("timestamp=1700000000123", "timestamp="),
        ("epoch: 1700000000-1234", "epoch: 1700000000-1234"),
    ],
)
def test_only_whole_forms_are_blanked(text: str, kept: str) -> None:
    assert without_impersonal(text).replace(FILL, "") == kept


@given(st.text("0123456789:.-/T v", max_size=60))
def test_offsets_and_everything_else_stay(text: str) -> None:
    blanked = without_impersonal(text)
    assert len(blanked) == len(text)
    assert all(new in {old, FILL} for new, old in zip(blanked, text, strict=True))


@pytest.mark.parametrize(
    ("text", "counts"),
    [("84000 steps", True), ("84000 more people", True), ("84000 is", False), ("84000", False),
     ("84000 this", False), ("84000 across", False), ("84000, users", False),
     ("94103 works", False), ("94103 sometimes", False), ("94103 residents", False)],
)  # fmt: skip
def test_a_number_counts_things_if_they_follow(text: str, counts: bool) -> None:
    assert is_count(text, 0, 5) is counts


@pytest.mark.parametrize(
    ("before", "number", "counts"),
    [
        ("more than ", "84000", True),
        ("more than ", "94103", False),
        ("rather than ", "84000", False),
        ("other than ", "84000", False),
        ("a population of ", "84103", True),
        ("moved up to ", "94103", False),
    ],
)
def test_only_round_numbers_are_counts_by_what_is_before(
    before: str, number: str, counts: bool
) -> None:
    assert is_count(before + number, len(before), len(before) + 5) is counts


def test_the_examples_run() -> None:
    result = doctest.testmod(impersonal)
    assert result.attempted > 0
    assert result.failed == 0
