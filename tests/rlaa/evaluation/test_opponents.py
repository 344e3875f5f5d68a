from __future__ import annotations

import pytest

from dynaserve.rlaa.embedded import EmbeddedEngine
from dynaserve.rlaa.evaluation.opponents import Asked, Recorded
from dynaserve.rlaa.records import Leak
from dynaserve.rlaa.roles import RoleError


class Says:
    def __init__(self, *leaks):
        self.leaks, self.asked = leaks, []

    def attack(self, text, attributes):
        self.asked.append((text, tuple(attributes)))
        return self.leaks


def test_an_attacker_is_asked_for_the_attribute_alone_and_its_surest_guess_counts(make_record):
    says = Says(
        Leak("location", "Riga", "Riga", 2),
        Leak("location", "Tallinn", "Tallinn", 4),
        Leak("location", "Oslo", "Oslo", 4),
        Leak("identifier", "x@example.com", "x@example.com", 5),
    )
    opponent = Asked("model", says)
    assert opponent.guess(make_record("location"), "a text") == "Tallinn"
    assert says.asked == [("a text", ("location",))]
    assert opponent.name == "model"


def test_equal_texts_are_attacked_once_for_each_attribute(make_record):
    says = Says(Leak("age", "41", "41", 5))
    opponent = Asked("model", says)
    guesses = [opponent.guess(make_record("age"), text) for text in ("one", "one", "other")]
    assert guesses == ["41"] * 3
    assert opponent.guess(make_record("sex"), "one") is None
    assert len(says.asked) == 3


def test_an_attacker_without_a_leak_has_no_guess(make_record):
    assert Asked("model", Says()).guess(make_record("age"), "a text") is None
    assert Asked("embedded", EmbeddedEngine()).guess(make_record("age"), "Nice weather.") is None


def test_an_attacker_that_fails_is_not_one_that_finds_nothing(make_record):
    class Fails:
        def attack(self, *_):
            raise RoleError("no")

    with pytest.raises(RoleError):
        Asked("model", Fails()).guess(make_record("age"), "a text")


def test_a_recorded_conclusion_falls_with_the_words_it_quoted(make_record):
    record = make_record("location")
    assert Recorded().guess(record, record.text) == "Tallinn, Estonia"
    assert Recorded().guess(record, "I live in a city, the old town is lovely.") is None
    assert Recorded().guess(record, "TALLINN!") == "Tallinn, Estonia"


def test_a_recorded_conclusion_without_words_of_the_text_never_falls(make_record):
    record = make_record("income")
    bare = type(record)(2, "Totally different.", "income", record.author, record.reply)
    assert Recorded().guess(bare, "") == "middle"
