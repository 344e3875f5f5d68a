"""How the recall of the anonymizer is counted."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from benchmarks import anonymizer_recall
from benchmarks.anonymizer_recall import (
    DIRECT,
    Evidence,
    Recall,
    edited_share,
    llmprivacy_evidence,
    presidio_recall,
    together,
    untouched_outside,
)
from dynaserve.rlaa.records import Edit, Leak, Span

DATA = Path(__file__).parents[2].parent / "shared" / "data"


def edit(start: int, end: int, before: str, after: str = "x") -> Edit:
    return Edit(Span(start, end), before, after, "identifier")


def test_a_span_counts_only_if_all_that_matters_of_it_is_edited() -> None:
    text = "at 12 Elm St."
    recall = Recall()
    recall.add(text, (3, 13), [edit(3, 12, "12 Elm St")])  # the stop does not matter
    recall.add(text, (3, 13), [edit(3, 9, "12 Elm")])
    recall.add(text, (3, 13), [])
    recall.add(text, (3, 13), [edit(3, 5, "12"), edit(6, 12, "Elm St")])
    assert (recall.total, recall.whole, recall.partly) == (4, 2, 1)


def test_names_are_no_direct_identifiers() -> None:
    by_type = {"PERSON": Recall(9, 0, 0), "US_SSN": Recall(2, 1, 0), "ADDRESS": Recall(2, 2, 0)}
    assert together(by_type, DIRECT) == Recall(4, 3, 0)


def test_texts_are_compared_outside_of_edits() -> None:
    assert untouched_outside("ab cd", [edit(0, 2, "ab")])
    assert untouched_outside("ab cd", [edit(3, 5, "cd", "longer"), edit(0, 2, "ab", "")])


@pytest.mark.parametrize(
    ("attribute", "guess", "truth", "found"),
    [
        ("location", "Portugal", "Lisbon, Portugal", True),  # coarser than the truth
        ("location", "Porto, Portugal", "Lisbon, Spain", False),
        ("income", "high", "very high", False),  # two classes
        ("age", "a birthday", 37, False),
    ],
)
def test_a_guess_counts_as_the_evaluation_scores_it(
    attribute: str, guess: str, truth: object, *, found: bool
) -> None:
    evidence = Evidence()
    evidence.add(truth, [Leak(attribute, guess, guess, 5)], attribute)
    assert bool(evidence.found) is found


def test_evidence_counts_records_and_certain_leaks() -> None:
    evidence = Evidence()
    evidence.add(31, [Leak("age", "31", "31", 5), Leak("age", "60", "60", 3)], "age")
    evidence.add(31, [Leak("age", "33", "33", 1)], "age")
    evidence.add(31, [], "age")
    assert (evidence.records, evidence.found, evidence.found_actionable) == (3, 2, 1)
    assert evidence.leaks == {True: 1, False: 1}


def test_the_share_of_characters_edited_is_exact() -> None:
    assert edited_share(["I'm 31.", "a" * 13]) == (6 / 20, 1 / 2)


def records(name: str) -> list[dict[str, object]]:
    path = DATA / name
    if not path.exists():
        pytest.skip(f"no {name} here")
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    lines = raw.decode().splitlines()
    return [json.loads(line) for line in lines] if path.suffix == ".jsonl" else json.loads(raw)


@pytest.mark.parametrize("name", ["synth_dataset_v2.json", "generated_large.json.gz"])
def test_most_direct_identifiers_of_held_out_texts_are_edited(name: str) -> None:
    by_type, kept = presidio_recall(records(f"presidio/{name}")[1::10])
    found = together(by_type, DIRECT)
    assert found.whole / found.total >= 0.85
    assert kept


def test_comments_stay_as_they_were_outside_of_edits() -> None:
    by_attribute, kept = llmprivacy_evidence(records("llmprivacy/synthetic_dataset.jsonl")[1::12])
    assert kept
    assert sum(evidence.found for evidence in by_attribute.values()) >= 5


def test_few_characters_of_ordinary_texts_are_edited() -> None:
    if not (DATA / "sst2").exists():
        pytest.skip("no data here")
    for name, texts in anonymizer_recall.ordinary_texts(DATA):
        characters, _ = edited_share(texts[::25])
        assert characters < 0.01, name
