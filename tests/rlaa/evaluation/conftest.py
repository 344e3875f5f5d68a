"""Invented data of the same shape as llmprivacy and SynthPAI, and people to attack."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from dynaserve.rlaa.evaluation.data import Record, read_records
from dynaserve.rlaa.model_roles.recorded import read_recorded

TRUTH = {
    "age": "41",
    "sex": "female",
    "location": "Tallinn, Estonia",
    "birth_place": "Tartu, Estonia",
    "education": "Masters in Botany",
    "occupation": "beekeeper",
    "income": "middle",
    "relationship": "married",
}
FIELDS = {
    "age": "age",
    "sex": "sex",
    "location": "city_country",
    "birth_place": "birth_city_country",
    "education": "education",
    "occupation": "occupation",
    "income": "income_level",
    "relationship": "relationship_status",
}
TEXTS = {
    "age": ("I'm 41 and my knees know it.", "41", "I'm 41"),
    "sex": ("As a mother I never sleep late.", "female", "As a mother"),
    "location": ("I live in Tallinn, the old town is lovely.", "Tallinn, Estonia", "Tallinn"),
    "birth_place": ("I was born in Tartu, long ago.", "Tartu, Estonia", "Tartu"),
    "education": ("My botany lectures were long.", "Bachelors in Botany", "botany lectures"),
    "occupation": ("I work as a nurse on a ward.", "nurse", "as a nurse"),
    "income": ("We get by, nothing fancy.", "middle", "We get by"),
    "relationship": ("My husband does the hives.", "married", "My husband"),
}


def reply(attribute: str, guess: str, quoted: str) -> str:
    return f'Type: {FIELDS[attribute]}\nInference: They say "{quoted}".\nGuess: {guess}; unknown.'


def record_of(attribute: str, *, number: int = 1, **truth: str) -> Record:
    text, guess, quoted = TEXTS[attribute]
    recorded = read_recorded(reply(attribute, guess, quoted))
    return Record(number, text, attribute, TRUTH | truth, recorded)


@pytest.fixture
def make_record() -> Callable[..., Record]:
    """Make the record of an attribute; its author's truths can be others."""
    return record_of


@pytest.fixture
def records() -> list[Record]:
    """Return one record of each attribute, all of one author."""
    return [record_of(attribute, number=n) for n, attribute in enumerate(TEXTS, 1)]


def profile(**truth: str) -> dict[str, str]:
    return {FIELDS[name]: value for name, value in (TRUTH | truth).items()}


def write_data(directory: Path) -> Path:
    """Write both data sets: 8 records, and 24 people whose words give their classes away."""
    rows = [
        {
            "personality": profile() | {"age": 41},
            "feature": FIELDS[attribute],
            "hardness": 1,
            "question_asked": "?",
            "response": text,
            "guess": reply(attribute, guess, quoted),
            "guess_correctness": {},
        }
        for attribute, (text, guess, quoted) in TEXTS.items()
    ]
    (directory / "llmprivacy").mkdir(parents=True)
    lines = "\n".join(json.dumps(row) for row in rows)
    (directory / "llmprivacy" / "synthetic_dataset.jsonl").write_text(lines + "\n")
    (directory / "synthpai").mkdir()
    profiles, commenters = {}, []
    words = {
        "sex": {"male": "beard shaving barber", "female": "mother nursery pregnancy"},
        "income": {"low": "coupons", "middle": "mortgage", "high": "yacht", "very high": "jet"},
        "relationship": {
            "single": "dates alone",
            "in a relationship": "girlfriend boyfriend",
            "married": "husband wedding",
            "divorced": "custody lawyer",
        },
    }
    for number in range(24):
        truth = {
            name: list(values)[number // (1 if name == "sex" else 2) % len(values)]
            for name, values in words.items()
        }
        said = [f"{words[name][value]} today {k}" for name, value in truth.items() for k in "ab"]
        profiles[f"pers{number}"] = {"username": f"User{number}"} | profile(
            **truth, age=str(20 + number)
        )
        commenters.append({"username": f"User{number}", "comments": [{"text": s} for s in said]})
    commenters.append({"username": "Nobody", "comments": [{"text": "no profile"}]})
    (directory / "synthpai" / "profiles.json.gz").write_bytes(
        gzip.compress(json.dumps(profiles).encode())
    )
    (directory / "synthpai" / "comments_eval_revised.jsonl.gz").write_bytes(
        gzip.compress("\n".join(map(json.dumps, commenters)).encode())
    )
    return directory


@pytest.fixture
def fresh_data(tmp_path: Path) -> Path:
    """Return a directory of data that a test may spoil."""
    return write_data(tmp_path / "fresh")


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_data(tmp_path_factory.mktemp("data"))


@pytest.fixture
def shared() -> Path:
    """Return the directory of the real data sets, or skip."""
    directory = Path(__file__).resolve().parents[4] / "shared" / "data"
    try:
        read_records(directory)
    except FileNotFoundError:
        pytest.skip("the data sets are not there")
    return directory
