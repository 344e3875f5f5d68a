"""Summaries: keywords weighted as by hand, exemplars as they stand."""

from __future__ import annotations

import math

import pytest

from dynaserve.canarybench.summarizers import Exemplars, Group, class_keywords, keyword_summary

PARCELS = ["parcel late courier", "parcel parcel refund"]
TRAINS = ["train late", "train ticket refund", "train"]


def keywords(
    *, k_min: int = 1, users: list[list[str]] | None = None, count: int = 8
) -> list[tuple[str, ...]]:
    users = users or [["a", "b"], ["c", "d", "e"]]
    return class_keywords([PARCELS, TRAINS], users, k_min=k_min, count=count)


def test_keywords_are_ranked_by_class_based_tf_idf() -> None:
    # 12 words in all, so A = 6 per group: weight = occurrences here * log(1 + 6 / occurrences).
    weights = {
        "parcel": 3 * math.log(1 + 6 / 3),
        "courier": math.log(1 + 6 / 1),
        "late": math.log(1 + 6 / 2),
        "refund": math.log(1 + 6 / 2),
    }
    parcels, trains = keywords()
    assert parcels == tuple(sorted(weights, key=lambda word: (-weights[word], word)))
    assert trains[0] == "train"


def test_only_so_many_keywords_are_given() -> None:
    assert keywords(count=1) == [("parcel",), ("train",)]


def test_a_word_of_too_few_users_is_no_keyword() -> None:
    assert keywords(k_min=2) == [("parcel", "late", "refund"), ("train", "late", "refund")]
    assert keywords(k_min=3) == [(), ("train",)]


def test_one_user_who_says_a_word_often_is_one_user() -> None:
    assert keywords(k_min=2, users=[["a", "a"], ["c", "c", "c"]]) == [
        ("late", "refund"),
        ("late", "refund"),
    ]


def test_labels_of_redaction_are_no_keywords() -> None:
    found = class_keywords([["write [EMAIL] [EMAIL] soon"]], [["a"]], k_min=1)
    assert found == [("soon", "write")]


@pytest.mark.parametrize("groups", [[[""]], [["the of"], ["[EMAIL]"]], []])
def test_texts_without_words_have_no_keywords(groups: list[list[str]]) -> None:
    users = [["a"] * len(group) for group in groups]
    assert class_keywords(groups, users, k_min=1) == [()] * len(groups)


def test_the_keyword_summary_names_keywords_only() -> None:
    assert keyword_summary(Group(("secret",), ("one", "two"))) == "Conversations about one, two."
    assert keyword_summary(Group(("secret",))) == "Conversations about various things."


def test_exemplars_are_the_first_texts() -> None:
    assert Exemplars()(Group(("a", "b", "c", "d"))) == "a\nb\nc"
    assert Exemplars(1)(Group(("a", "b"))) == "a"
    assert Exemplars(5)(Group(("a",))) == "a"
    with pytest.raises(ValueError, match="count: must be at least 1, got 0"):
        Exemplars(0)


def test_a_repr_shows_no_text() -> None:
    assert "secret" not in repr(Group(("secret",)))
