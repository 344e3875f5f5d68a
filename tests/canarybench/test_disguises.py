from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.canary_variants import false_positives, minted, variant_row
from benchmarks.sentences import real_sentences
from dynaserve.canarybench.disguises import DISGUISES, Stage, claims
from dynaserve.canarybench.matching import Matcher

CANARIES = minted(4, seed=11)
MATCHER = Matcher(CANARIES)
BY_NAME = {disguise.name: disguise for disguise in DISGUISES}
PAIRS = [pair for pair in itertools.product(DISGUISES, repeat=2) if claims(*pair)]
# No letters that could be read as more of a value: number words, hex digits, parts of escapes.
AROUND = st.text(st.sampled_from("lm,.!? \n¿жÅ"), max_size=30)


def test_there_are_at_least_25_of_them_each_by_a_name_of_its_own() -> None:
    assert len(BY_NAME) == len(DISGUISES) >= 25


def test_all_but_parts_are_claimed_alone() -> None:
    plain = DISGUISES[0]
    assert {d for d in DISGUISES if claims(d, plain)} == {
        d for d in DISGUISES if d.stage is not Stage.PART
    }


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("capitals", "Ab1", "AB1"),
        ("mixed case", "abcd", "aBcD"),
        ("full width", "a@1", "ａ＠１"),
        ("mathematical letters", "aZ9.", "𝐚𝐙𝟗."),
        ("reversed", "ab1", "1ba"),
        ("spaced out", "abc", "a b c"),
        ("no separators", "a.b-c_d", "abcd"),
        ("signs in words", "a.b@c", "a dot b at c"),
        ("digits in words", "a12-3", "a one two - three"),
        ("percent escapes", "é@", "%C3%A9%40"),
        ("HTML escapes", "a@", "&#97;&#64;"),
        ("JSON escapes", "@", "\\u0040"),
        ("base64", "abc", "YWJj"),
        ("hexadecimal", "@a", "4061"),
    ],
)
def test_a_disguise_does_what_it_says(name: str, value: str, expected: str) -> None:
    assert BY_NAME[name].apply(value, "phrase") == expected


@pytest.mark.parametrize(
    ("name", "kind", "value", "expected"),
    [
        ("national prefix", "phone", "+49 30 23125 407", "0049/30 23125 407"),
        ("main part alone", "email", "ada@example.org", "ada"),
        ("main part alone", "phone", "+49 30 23125 407", "3125 407"),
        ("main part alone", "address", "1 Elm Road, Town", "1 Elm Road"),
    ],
)
def test_parts_depend_on_the_kind(name: str, kind: str, value: str, expected: str) -> None:
    assert BY_NAME[name].apply(value, kind) == expected


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(CANARIES), st.sampled_from(PAIRS), AROUND, AROUND)
def test_any_two_claimed_disguises_are_seen_through(canary, pair, before, after) -> None:  # type: ignore[no-untyped-def]
    first, second = pair
    hidden = second.apply(first.apply(canary.value, canary.kind), canary.kind)
    if second.name == "spaced out":  # a letter that touches a word is that word's
        before, after = f"{before} ", f" {after}"
    found = MATCHER.find(f"{before}{hidden}{after}")
    assert canary.id in {match.canary_id for match in found}


def test_nineteen_in_twenty_of_all_disguised_values_are_found() -> None:
    rows = [variant_row(disguise, CANARIES, MATCHER) for disguise in DISGUISES]
    caught = sum(row.caught.total() for row in rows)
    tried = sum(row.tried.total() for row in rows)
    assert tried > 500
    assert caught / tried >= 0.95


def test_decoys_are_not_found_in_real_sentences() -> None:
    try:
        sentences = real_sentences()
    except OSError:
        pytest.skip("the data is not beside the checkout")
    sample = random.Random(0).sample(sentences, 20_000)
    decoys = minted(250, seed=12)
    wrong = false_positives(decoys, sample)
    assert all(count / len(decoys) <= 1 / 1000 for count in wrong.values())
