from __future__ import annotations

import json
import sys
from dataclasses import replace

import pytest

import dynaserve.rlaa.evaluation
from dynaserve.rlaa.evaluation import Reproduction, Row
from dynaserve.rlaa.evaluation.data import Record
from dynaserve.rlaa.evaluation.fidelity import Fidelity
from dynaserve.rlaa.evaluation.privacy import Attack, Rate
from dynaserve.rlaa.evaluation.results import MRSRound
from dynaserve.rlaa.llm import LLMError
from dynaserve.rlaa.model_roles.recorded import RecordedReply

SEX, PLACE = Rate(10, 0.7, 0.6, 0.05, 0.65), Rate(10, 0.9, 0.1, 0.05)
CLOSED = {"sex": SEX, "income": SEX, "relationship": SEX}
ALL = CLOSED | dict.fromkeys(("age", "location", "birth_place", "education", "occupation"), PLACE)


def row(name: str, *mrs: MRSRound) -> Row:
    return Row(
        name=name,
        released=1.0,
        fidelity=Fidelity(0.95, 0.9, 0.85, 0.8),
        attacks={"linear": Attack(SEX, CLOSED), "embedded": Attack(PLACE, ALL)},
        own=("embedded",),
        statuses={"anonymized": 10},
        mrs=mrs,
    )


@pytest.fixture(autouse=True)
def asked(monkeypatch: pytest.MonkeyPatch) -> list:
    """Give invented rows in place of the comparison; keep what was asked for."""
    calls: list = []

    def fake(setup, *, progress):
        calls.append(setup)
        progress(1, 1, "none")
        truth = {"sex": "female"}
        record = Record(1, "a text", "sex", truth, RecordedReply("sex", "why", ("female",)))
        rows = (row("none"), row("RLAA edit, recorded", MRSRound(9, 0.1, 0.2, 0.3, 0)))
        return Reproduction(setup, (record,) * 10, 525, {"sex": "male"}, 260, rows)

    monkeypatch.setattr(dynaserve.rlaa.evaluation, "reproduce", fake)
    return calls


def reproduce(run, tmp_path, *arguments):
    return run("reproduce", "rlaa", "--data", tmp_path, *arguments)


def test_tables_fit_the_terminal_beside_the_papers(run, tmp_path):
    result = reproduce(run, tmp_path)
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= 116
    assert "…" not in result.stdout
    rows = [line.split() for line in lines]
    assert ["none", "1.000", ".950", ".900", ".850", ".800"] in rows
    assert ["none", ".700", "(+.100", "±", ".050)", ".900†", "(+.800", "±", ".050)"] in rows
    assert ["RLAA", ".879", ".213", ".596"] in rows
    assert "llmprivacy, 10 records, seed 0: utility" in result.stdout


def test_what_is_asked_for_is_passed_on(run, tmp_path, asked):
    given = ("--model", "a.gguf", "--judge", "b.gguf", "--attacker-model", "org/repo:c.gguf")
    reproduce(run, tmp_path, *given, "--limit", 5, "--seed", 7)
    (setup,) = asked
    assert (setup.data, setup.limit, setup.seed) == (tmp_path, 5, 7)
    assert (setup.model, setup.judge, setup.attacker_model) == (
        "a.gguf",
        "b.gguf",
        "org/repo:c.gguf",
    )


def test_json_has_every_figure_and_no_path_of_the_user(run, tmp_path):
    text = reproduce(run, tmp_path, "--json").stdout
    facts = json.loads(text)
    assert (facts["records"], facts["seed"], facts["model"]) == (10, 0, None)
    linear = facts["anonymizers"][1]["attacks"]["linear"]
    assert linear["by_attribute"]["sex"]["balanced"] == 0.65
    assert facts["anonymizers"][1]["mrs"][0]["median"] == 0.2
    assert facts["paper"]["RLAA"] == {"util": 0.879, "priv": 0.213, "rouge": 0.596}
    assert str(tmp_path) not in text
    assert "a text" not in text


def test_markdown_is_tables_and_a_list(run, tmp_path):
    text = reproduce(run, tmp_path, "--markdown").stdout
    assert "| none | 1.000 | .950 | .900 | .850 | .800 |" in text
    assert text.count("\n- ") >= 5


def test_a_plot_is_written(run, tmp_path):
    result = reproduce(run, tmp_path, "--plot", tmp_path / "mrs.png")
    assert result.exit_code == 0, result.stderr
    assert (tmp_path / "mrs.png").read_bytes().startswith(b"\x89PNG")


def test_tables_are_there_even_if_there_is_nothing_to_draw(run, tmp_path, monkeypatch):
    import dynaserve.cli.reproduce_rlaa as command

    reproduced = command._reproduced
    monkeypatch.setattr(
        command, "_reproduced", lambda setup: replace(reproduced(setup), rows=(row("none"),))
    )
    result = reproduce(run, tmp_path, "--plot", tmp_path / "mrs.png")
    assert result.exit_code == 2
    assert "no text was edited" in result.stderr
    assert "none" in result.stdout
    assert not (tmp_path / "mrs.png").exists()


def test_what_a_plot_needs_is_asked_for_before_anything_runs(run, tmp_path, asked, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    result = reproduce(run, tmp_path, "--plot", tmp_path / "mrs.png")
    assert result.exit_code == 2
    assert 'pip install "dynaserve[audit]"' in result.stderr
    assert not asked
    assert reproduce(run, tmp_path).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--markdown", "--json"), "choose one"),
        (("--plot", "mrs.jpg"), "must end in .png"),
        (("--plot", "nowhere/mrs.png"), "nowhere is not a directory"),
        (("--limit", "0"), "--limit"),
    ],
)
def test_what_cannot_be_done_is_a_usage_error_before_anything_runs(
    run, tmp_path, asked, arguments, message
):
    result = reproduce(run, tmp_path, *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert not asked


def test_data_that_is_not_there_is_named(run, tmp_path, monkeypatch):
    monkeypatch.undo()
    result = reproduce(run, tmp_path)
    assert result.exit_code == 2
    assert "synthetic_dataset.jsonl is not there" in result.stderr


def test_a_model_that_cannot_be_had_is_the_users_to_solve(run, tmp_path, monkeypatch):
    def offline(*_, **__):
        raise LLMError("org/repo:file.gguf could not be downloaded")

    monkeypatch.setattr(dynaserve.rlaa.evaluation, "reproduce", offline)
    result = reproduce(run, tmp_path, "--model", "org/repo:file.gguf")
    assert result.exit_code == 2
    assert result.stderr == "error: org/repo:file.gguf could not be downloaded\n"


def test_the_command_has_an_example(run):
    text = run("reproduce", "rlaa", "--help").stdout
    assert "dynaserve reproduce rlaa --data data --limit 20" in text
