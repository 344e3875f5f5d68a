from __future__ import annotations

import json
import sys

import pytest

from dynaserve.rlaa.evaluation import Setup, make_notes, make_tables, reproduce
from dynaserve.rlaa.llm import ScriptedLLM


@pytest.fixture(scope="module")
def done(data):
    return reproduce(Setup(data))


def test_without_models_the_engine_plays_and_three_attackers_attack(done):
    assert [row.name for row in done.rows] == [
        "none",
        "mask-only",
        "FgAA-Naive",
        "RLAA edit",
        "RLAA edit, recorded",
    ]
    assert [list(row.attacks) for row in done.rows] == [["linear", "recorded", "embedded"]] * 5
    assert (done.available, len(done.records), done.learned_from) == (8, 8, 24)
    assert done.constants["location"] == "Tallinn, Estonia"


def test_editing_takes_from_attackers_and_keeps_most_of_the_text(done):
    none, edited = done.rows[0], done.rows[3]
    assert none.fidelity.kept == 1.0
    assert 0.5 < edited.fidelity.kept < 1.0
    recorded = [row.attacks["recorded"].by_attribute["location"].priv for row in (none, edited)]
    # The constant guess is the truth in this data: whoever has no guess is right.
    assert recorded == [1.0, 1.0]
    assert none.attacks["recorded"].by_attribute["education"].priv == 0.0


def test_a_run_can_be_repeated(done, data):
    assert reproduce(Setup(data)).rows == done.rows


def test_a_limit_draws_by_the_seed(data):
    small = [reproduce(Setup(data, limit=2, seed=seed)).records for seed in (0, 0, 1)]
    assert len(small[0]) == 2
    assert small[0] == small[1] != small[2]


def test_each_model_is_opened_once_whatever_it_plays(data):
    opened, marks = [], '{"readability": 9, "meaning": 9, "hallucination": 1}'
    attack = json.dumps({"reasoning": "", "leaks": []})

    def answer(request):
        return marks if "readability" in request.messages[-1].content else attack

    def open_model(name):
        opened.append(name)
        return ScriptedLLM([answer] * 200)

    setup = Setup(data, limit=3, model="a.gguf", attacker_model="b.gguf", judge="a.gguf")
    done = reproduce(setup, open_model=open_model)
    assert opened == ["a.gguf", "b.gguf"]
    assert [row.name for row in done.rows][-1] == "RLAA rewrite"
    assert list(done.rows[0].attacks)[-3:] == ["recorded", "embedded", "model"]
    assert done.rows[0].verdict is not None
    assert done.rows[0].verdict.util == pytest.approx((0.9 + 0.9 + 1.0) / 3)
    # Nothing was found, so nothing was edited.
    assert {row.statuses.get("clean") for row in done.rows[2:4]} == {3}


def test_a_model_that_attacks_what_its_own_loops_publish_is_marked(data):
    attack = json.dumps({"reasoning": "", "leaks": []})

    def open_model(_):
        return ScriptedLLM([attack] * 200)

    for other, marked in (("a.gguf", True), ("./a.gguf", True), ("b.gguf", False)):
        setup = Setup(data, limit=1, model="a.gguf", attacker_model=other)
        done = reproduce(setup, open_model=open_model)
        assert {row.name for row in done.rows if "model" in row.own} == (
            {"FgAA-Naive", "RLAA edit", "RLAA edit, recorded", "RLAA rewrite"} if marked else set()
        )
        assert ("the very model that plays" in "\n".join(make_notes(done))) is marked


def test_bleu_is_missed_before_anything_is_read(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "sacrebleu", None)
    with pytest.raises(ImportError, match=r'pip install "dynaserve\[audit\]"'):
        reproduce(Setup(tmp_path / "nowhere"))


def test_notes_say_who_played_and_what_is_missing(done, data):
    text = "\n".join(make_notes(done))
    assert "8 of 8 records" in text
    assert "RLAA rewrite is left out" in text
    assert "no judge" in text
    assert "24 people" in text
    assert "41, female, middle, married" in text
    assert "would score .375 overall" in text  # three of eight records
    assert str(data) not in text


def test_every_table_has_cells_for_its_columns(done):
    tables = make_tables("invented", done.rows)
    assert len(tables) == 8
    for table in tables:
        assert {len(cells) for cells in table.rows} == {len(table.columns)}
