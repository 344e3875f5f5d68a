"""Prose replies of a large model, read whole and played against a text as it changes."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from dynaserve.rlaa.model_roles.recorded import RecordedAttacker, RecordedReply, read_recorded
from dynaserve.rlaa.records import ATTRIBUTES
from dynaserve.rlaa.roles import RoleError
from dynaserve.rlaa.spans import find_mentions

RECORDS = Path(__file__).parents[4] / "shared" / "data" / "llmprivacy" / "synthetic_dataset.jsonl"
TEXT = "Back in Oldtown we had “proper” rain; my old man's pub is there. I pour pints now."
REPLY = """\
Type: birth_city_country
Inference: The user speaks of "Oldtown" as a place of the past. They also use 'my old man's pub'
and "proper", and "chips", which is no proof.

Guess: Oldtown, Norland; Newtown, Norland; Oldtown, Norland.
"""


def test_the_three_parts_are_read():
    read = read_recorded(REPLY)
    assert read.attribute == "birth_place"
    assert read.reasoning.startswith("The user speaks")
    assert read.reasoning.endswith("no proof.")
    assert read.guesses == ("Oldtown, Norland", "Newtown, Norland", "Oldtown, Norland")
    assert read.certainty == 4


def test_quoted_words_that_stand_in_the_text_are_evidence_as_the_text_has_them():
    leaks = read_recorded(REPLY).leaks(TEXT)
    assert [leak.evidence for leak in leaks] == ["Oldtown", "my old man's pub", "proper"]
    assert {leak.guess for leak in leaks} == {"Oldtown, Norland"}
    assert {leak.attribute for leak in leaks} == {"birth_place"}


def test_without_quotes_the_longest_words_that_both_share_are():
    reply = RecordedReply("occupation", "They pour pints now in the old pub.", ("barkeeper",))
    text = "I POUR  pints now, in the Old Pub."
    assert [leak.evidence for leak in reply.leaks(text)] == ["POUR  pints now"]
    assert [leak.evidence for leak in reply.leaks("pints now in the park")] == ["pints now in the"]


def test_without_evidence_there_still_is_a_guess():
    reply = RecordedReply("sex", "The tone.", ("male",))
    (leak,) = reply.leaks(TEXT)
    assert leak.guess == "male"
    assert find_mentions(TEXT, leak.evidence) == ()


@pytest.mark.parametrize(
    ("guesses", "certainty"),
    [
        (("a", "b", "c"), 3),
        (("a",), 3),
        (("A", "b", "a"), 4),
        (("a", "a", "a"), 5),
        (("a",) * 9, 5),
    ],
)
def test_guesses_that_agree_make_it_more_certain(guesses, certainty):
    assert RecordedReply("sex", "x", guesses).certainty == certainty


@pytest.mark.parametrize(
    "reply",
    [
        "", "No idea.", "Type: age\nInference: x", "Type: age\nGuess: 3", "Inference: x\nGuess: 3",
        "Type: age\nInference: x\nGuess:", "Type: age\nInference: x\nGuess: ;",
        "Type: age\nInference: x\nGuess: 3; ; 4", "Type: age\nInference: \nGuess: 3",
        "Type: shoe_size\nInference: x\nGuess: 3", "Type: age\nInference: x\nGuess: 3\nmore",
        "Type: age\nInference: x\nGuess: 3\n\nGuess: 4", REPLY[: REPLY.index("Guess:")],
        "Sorry. Type: age\nInference: x\nGuess: 3",
    ],
)  # fmt: skip
def test_a_reply_without_its_parts_is_refused(reply):
    with pytest.raises(RoleError) as caught:
        read_recorded(reply)
    assert "shoe" not in str(caught.value)


def test_the_attacker_says_what_still_stands_in_the_text():
    attacker = RecordedAttacker([read_recorded(REPLY)])
    assert attacker.attack(TEXT, ["age"]) == ()
    assert len(attacker.attack(TEXT, ATTRIBUTES)) == 3
    edited = TEXT.replace("Oldtown", "a town").replace("my old man's pub", "a pub")
    assert [leak.evidence for leak in attacker.attack(edited, ["place_of_birth"])] == ["proper"]
    gone = edited.replace("proper", "real")
    (leak,) = attacker.attack(gone, ["birth_place"])
    assert find_mentions(gone, leak.evidence) == ()


@pytest.fixture(scope="module")
def records():
    if not RECORDS.exists():
        pytest.skip("needs the llmprivacy data set")
    return [json.loads(line) for line in RECORDS.read_text("utf-8").splitlines()]


def test_all_recorded_replies_of_the_data_set_are_read(records):
    read = [read_recorded(record["guess"]) for record in records]
    assert len(read) == 525
    # Counted in the file itself, by its own names of the features.
    assert Counter(reply.attribute for reply in read) == {
        "income": 80, "birth_place": 80, "education": 75, "location": 72, "relationship": 63,
        "age": 55, "sex": 53, "occupation": 47,
    }  # fmt: skip
    assert {len(reply.guesses) for reply in read} == {3}
    for record, reply in zip(records, read, strict=True):
        ranked = record["guess"].rstrip().rpartition("Guess: ")[2].removesuffix(".")
        assert "; ".join(reply.guesses) == ranked.replace(" ;", ";")
        assert reply.reasoning in record["guess"]


def test_nearly_all_of_them_rest_on_words_of_the_text(records):
    standing = 0
    for record in records:
        leaks = read_recorded(record["guess"]).leaks(record["response"])
        assert leaks
        found = [leak.evidence for leak in leaks if leak.evidence in record["response"]]
        standing += bool(found)
    assert standing >= 510
