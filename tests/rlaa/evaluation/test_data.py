from __future__ import annotations

import gzip
import json
from collections import Counter
from functools import partial

import pytest

from dynaserve.rlaa.evaluation.data import (
    COMMENTS,
    LLMPRIVACY,
    PROFILES,
    Record,
    read_people,
    read_records,
    sample,
)
from dynaserve.rlaa.records import ATTRIBUTES

_gzip = partial(gzip.compress, mtime=0)
"""Without the time of day, which would give every worker other names for the tests."""


def test_records_bring_our_names_truths_and_what_was_replied(data):
    records = read_records(data)
    assert [record.attribute for record in records] == list(ATTRIBUTES)
    assert [record.number for record in records] == list(range(1, 9))
    assert list(records[0].author) == list(ATTRIBUTES)
    assert (records[0].truth, records[2].truth) == ("41", "Tallinn, Estonia")
    assert records[5].reply.guesses == ("nurse", "unknown")
    assert records[5].reply.attribute == "occupation"


def test_a_record_shows_no_words_of_the_data(data):
    shown = repr(read_records(data)[2])
    assert "Tallinn" not in shown
    assert "location" in shown


def test_people_have_comments_and_the_truth_of_their_profile(data):
    people = read_people(data)
    assert len(people) == 24  # one more has comments and no profile
    assert {len(person.comments) for person in people} == {6}
    assert Counter(person.truth["sex"] for person in people) == {"male": 12, "female": 12}


@pytest.mark.parametrize(
    ("path", "read"), [(LLMPRIVACY, read_records), (COMMENTS, read_people), (PROFILES, read_people)]
)
def test_a_file_that_is_not_there_is_named_with_its_source(fresh_data, path, read):
    (fresh_data / path).unlink()
    with pytest.raises(FileNotFoundError, match=rf"{path.name} is not there; it comes from https"):
        read(fresh_data)


def lines_of(directory):
    return [json.loads(line) for line in (directory / LLMPRIVACY).read_text().splitlines()]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda row: row.pop("response"), "line 2: needs 'response', 'guess', 'feature'"),
        (lambda row: row.update(feature="shoe_size"), r"line 2: .*\(one of age, sex, city_country"),
        (lambda row: row["personality"].pop("age"), "line 2: .* 'personality' with all of these"),
        (lambda row: row.update(personality=None), "line 2: needs"),
        (lambda row: row.update(response=7), "line 2: 'response' and 'guess' must be strings"),
        (lambda row: row.update(guess="secret words"), "line 2, 'guess': .* without its three"),
    ],
)
def test_a_record_that_is_none_is_refused_without_its_words(fresh_data, change, message):
    rows = lines_of(fresh_data)
    change(rows[1])
    (fresh_data / LLMPRIVACY).write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(ValueError, match=message) as refused:
        read_records(fresh_data)
    assert "secret" not in str(refused.value)
    assert "mother" not in str(refused.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'\n{"cut', "line 2: is not JSON"),
        (b"\xff\xfe", "line 1: is not JSON"),
        (b"\n\n", "no records"),
        (b"[]\n", "line 1: needs"),
    ],
)
def test_a_file_of_records_that_is_none_is_refused(fresh_data, content, message):
    (fresh_data / LLMPRIVACY).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_records(fresh_data)


@pytest.mark.parametrize(
    ("path", "content", "message"),
    [
        (PROFILES, _gzip(b"{"), "profiles.json.gz: is not JSON"),
        (PROFILES, _gzip(b"[1]"), "needs an object of profiles"),
        (PROFILES, _gzip(b'{"p": {"username": "u"}}'), "each with 'username', age"),
        (PROFILES, b"plain", "is not a whole gzip file"),
        (PROFILES, _gzip(b"{}" * 999)[:-9], "is not a whole gzip file"),
        (COMMENTS, _gzip(b'{"username": "User1"}'), "line 1: needs 'username' and"),
        (COMMENTS, _gzip(b'{"username": "x", "comments": []}'), "nobody in it has a"),
    ],
)
def test_people_that_cannot_be_read_are_refused(fresh_data, path, content, message):
    (fresh_data / path).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_people(fresh_data)


def numbered(make_record, attributes: list[str]) -> list[Record]:
    return [make_record(attribute, number=n) for n, attribute in enumerate(attributes, 1)]


def test_a_sample_takes_each_attribute_in_turn_and_keeps_the_order(make_record):
    records = numbered(make_record, ["age"] * 20 + ["sex"] * 20 + ["income"] * 2)
    drawn = sample(records, 9, seed=3)
    assert Counter(record.attribute for record in drawn) in (
        {"age": 4, "sex": 3, "income": 2},
        {"age": 3, "sex": 4, "income": 2},
    )
    numbers = [record.number for record in drawn]
    assert numbers == sorted(set(numbers))


def test_a_sample_follows_its_seed_and_only_grows(make_record):
    records = numbered(make_record, ["age"] * 30 + ["sex"] * 30)
    small, large = sample(records, 10, seed=1), sample(records, 20, seed=1)
    assert small == sample(records, 10, seed=1)
    assert small != sample(records, 10, seed=2)
    assert {r.number for r in small} < {r.number for r in large}
    assert sample(records, None, seed=1) == sample(records, 99, seed=1) == tuple(records)


def test_the_real_data_has_525_records_and_300_people(shared):
    records, people = read_records(shared), read_people(shared)
    assert (len(records), len(people)) == (525, 300)
    assert sum(len(person.comments) for person in people) == 7785
    authors = {tuple(record.author.values()) for record in records}
    assert len(authors & {tuple(person.truth.values()) for person in people}) == 40
