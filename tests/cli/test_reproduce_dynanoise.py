from __future__ import annotations

import json

import pytest

import dynaserve.mia.reproduce
from dynaserve.mia.attacks import PAPER_ATTACKS
from dynaserve.mia.reproduce import DEFAULT, TRAINING, Row
from dynaserve.mia.reproduce.rows import Exposure

FORMS = ("1", "100", "near50")


@pytest.fixture(autouse=True)
def asked(monkeypatch: pytest.MonkeyPatch) -> list:
    """Give invented rows in place of the experiment; keep what was asked for."""
    calls: list = []

    def fake(setup, contenders, *, workers, progress):
        calls.append((setup, [one.name for one in contenders], workers))
        progress(1, 1, "training plain")
        return [
            Row(
                name=one.name,
                accuracy=0.6 + setup.seed / 10,
                member_accuracy=1.0,
                calibration_error=0.1,
                exposures={form: Exposure(0.7, 0.9, "lira_online") for form in FORMS},
                success=dict.fromkeys(PAPER_ATTACKS, 0.8),
                auc={"loss": 0.85},
                paper_accuracy=0.6,
                paper_success=dict.fromkeys(PAPER_ATTACKS, 0.7),
            )
            for one in contenders
        ]

    monkeypatch.setattr(dynaserve.mia.reproduce, "reproduce", fake)
    monkeypatch.setattr(dynaserve.mia.reproduce, "describe", lambda setup: f"a {setup.dataset} net")
    monkeypatch.setattr(dynaserve.mia.reproduce, "calibration_note", lambda _: "ECE by chance")
    return calls


def reproduce(run, *arguments):
    return run("reproduce", "dynanoise", "--dataset", "digits", *arguments)


def test_both_tables_and_the_differences_fit_a_terminal(run, asked, monkeypatch):
    monkeypatch.setenv("COLUMNS", "110")
    result = reproduce(run)
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= 110
    rows = [line.split() for line in lines]
    assert ["none", ".600", ".900", ".900", ".900", ".700", ".700", ".100", "+.000"] in rows
    assert any(line.split()[:4] == ["none", ".600", "/", ".787"] for line in lines if line.strip())
    assert "a digits net" in result.stdout
    assert "- ECE by chance" in result.stdout
    assert asked[0][1] == list(DEFAULT)


def test_each_seed_is_a_run_of_its_own(run, asked, tmp_path):
    arguments = ("--seed", 1, "--seed", 0, "--seed", 1, "--work", tmp_path, "--json")
    facts = json.loads(reproduce(run, *arguments).stdout)
    assert [one["seed"] for one in facts["runs"]] == [1, 0]
    assert facts["runs"][0]["defenses"][0]["accuracy"] == 0.7
    assert [call[0].directory for call in asked] == [
        tmp_path / "digits" / "seed-1",
        tmp_path / "digits" / "seed-0",
    ]
    assert facts["runs"][0]["defenses"][0]["exposures"]["near50"]["total"] == 0.9


def test_quick_runs_are_kept_apart_and_say_so(run, asked, tmp_path):
    result = reproduce(run, "--quick", "--work", tmp_path)
    assert asked[0][0].quick
    assert asked[0][0].directory == tmp_path / "digits" / "quick-seed-0"
    assert "digits, quick, seed 0" in result.stdout


def test_peers_are_chosen_by_name_and_training_stands_for_a_list(run, asked):
    reproduce(run, "--peers", "none, top1,training,relaxloss+rank-template")
    assert asked[0][1] == ["none", "top1", *[name for name in TRAINING if name != "none"]]


def test_markdown_is_two_tables_and_a_list(run):
    text = reproduce(run, "--peers", "none", "--markdown").stdout
    assert "| none | .600 | .900 | .900 | .900 | .700 | .700 | .100 | +.000 |" in text
    assert "| none | .600 / .787 |" in text
    assert text.count("\n- ") >= 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--peers", "nonsense"), "unknown defense 'nonsense'"),
        (("--markdown", "--json"), "choose one"),
    ],
)
def test_what_cannot_be_done_is_a_usage_error(run, asked, arguments, message):
    result = reproduce(run, *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert not asked


def test_data_that_is_not_there_is_named(run, tmp_path, monkeypatch):
    monkeypatch.undo()
    result = run("reproduce", "dynanoise", "--dataset", "location30", "--data", tmp_path)
    assert result.exit_code == 2
    assert "location30.npz is not there" in result.stderr


def test_the_command_has_an_example(run):
    text = run("reproduce", "dynanoise", "--help").stdout
    assert "dynaserve reproduce dynanoise --dataset digits --quick" in text
