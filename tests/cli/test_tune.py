from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest

from dynaserve import RankTemplate, load_defense
from dynaserve.cli.tune import _loss
from dynaserve.mia.attacks import learned
from dynaserve.mia.tune import candidates

N, K = 320, 4
RNG = np.random.default_rng(0)


def answers() -> dict[str, Any]:
    labels, others = RNG.integers(0, K, N), RNG.integers(0, K, 400)
    member = np.arange(N) < N // 2
    shadow_member = RNG.random((4, N)).argsort(axis=0) < 2

    def logits(true: np.ndarray, trained: np.ndarray) -> np.ndarray:
        signal = (1.5 + 3 * trained)[:, None] * np.eye(K)[true]
        return RNG.normal(size=(len(true), K)) + signal

    return {
        "logits": logits(labels, member),
        "labels": labels,
        "member": member,
        "shadow_logits": np.stack([logits(labels, one) for one in shadow_member]),
        "shadow_member": shadow_member,
        "held_out_logits": logits(others, np.zeros(400)),
        "held_out_labels": others,
    }


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    full = learned.cross_fitted
    monkeypatch.setattr(
        learned, "cross_fitted", lambda f, e, *, iterations: full(f, e, iterations=iterations // 20)
    )
    monkeypatch.setattr(candidates, "_VARIANCES", (1.0,))
    monkeypatch.setattr(candidates, "_SCALES", (2.0,))
    monkeypatch.setattr(candidates, "_RANKS", (2,))


@pytest.fixture
def file(tmp_path):
    def write(**changes):
        arrays = {name: a for name, a in (answers() | changes).items() if a is not None}
        np.savez(tmp_path / "answers.npz", **arrays)
        return tmp_path / "answers.npz"

    return write


def test_it_writes_a_file_that_serves_and_draws_the_frontier(run, file, tmp_path):
    arrays = answers()
    out, png = tmp_path / "defense.toml", tmp_path / "frontier.png"
    result = run("tune", file(**arrays), "-o", out, "--frontier", png, "--max-ece", "20%")
    assert result.exit_code == 0, result.stderr
    written = load_defense(out)
    held_out = (arrays["held_out_logits"], arrays["held_out_labels"])
    assert written.template in [RankTemplate.calibrate(*held_out, 2, b).template for b in (1, 2)]
    assert written.model_version == ""
    assert png.read_bytes().startswith(b"\x89PNG")
    words = " ".join(result.stdout.split())
    assert "accuracy loss at most 0.50%, calibration error at most 0.200" in words
    assert "chosen" in result.stdout
    assert "…" not in result.stdout  # a figure cut short
    assert "label alone" in result.stdout
    assert f"dynaserve serve --defense {out}" in result.stdout
    ranked = "gap, label_lira, modified_entropy, lira_online, rmia_online"
    assert f"by every attack, the others only by {ranked}." in words
    bare = words.partition("none 0.00%")[2].partition("for comparison")[0]
    assert re.fullmatch(r"( 0\.\d+){3} ≥ 0\.\d+ ", bare)  # ranked alone
    assert re.search(r"( 0\.\d+){4} chosen", words)  # audited in full


def test_without_shadows_two_attacks_rank(run, file, tmp_path):
    path = file(shadow_logits=None, shadow_member=None)
    words = " ".join(run("tune", path, "-o", tmp_path / "d.toml").stdout.split())
    assert "by every attack, the others only by gap, modified_entropy." in words


def test_json_holds_every_trial_and_the_choice(run, file, tmp_path):
    result = run("tune", file(), "-o", tmp_path / "d.toml", "--json", "--max-accuracy-loss", "1%")
    facts = json.loads(result.stdout)
    assert facts["max_accuracy_loss"] == 0.01
    assert facts["max_ece"] is None
    assert facts["best"]["name"] in {trial["name"] for trial in facts["trials"]}
    assert facts["best"]["fully_audited"]
    assert set(facts["best"]["auc"]) == {"1", "10", "100"}
    assert facts["file"] == str(tmp_path / "d.toml")


def test_nothing_within_the_budget_is_drawn_and_no_defense_written(run, file, tmp_path):
    out, png = tmp_path / "defense.toml", tmp_path / "frontier.png"
    result = run("tune", file(), "-o", out, "--frontier", png, "--max-ece", "0")
    assert result.exit_code == 1
    assert "no defense keeps the budget" in result.stderr
    assert "no defense file was written" in result.stderr
    assert "all were audited only by gap, label_lira" in " ".join(result.stdout.split())
    assert not out.exists()
    assert png.read_bytes().startswith(b"\x89PNG")


def test_a_defense_from_before_does_not_outlive_a_budget_that_none_keeps(run, file, tmp_path):
    out = tmp_path / "defense.toml"
    out.write_text("from before")
    result = run("tune", file(), "-o", out, "--max-ece", "0", "--force")
    assert result.exit_code == 1
    assert f"removed {out}" in result.stderr
    assert not out.exists()


def test_the_defense_and_the_picture_are_two_files(run, file, tmp_path):
    out = tmp_path / "one"
    result = run("tune", file(), "-o", out, "--frontier", tmp_path / "." / "one")
    assert result.exit_code == 2
    assert "name two files" in result.stderr
    assert not out.exists()


@pytest.mark.parametrize("option", ["-o", "--frontier"])
def test_no_input_is_written_over(run, file, tmp_path, option):
    path = file()
    before = path.read_bytes()
    more = [] if option == "-o" else ["-o", tmp_path / "d.toml"]
    result = run("tune", path, option, path, *more, "--force")
    assert result.exit_code == 2
    assert "is an input" in result.stderr
    assert path.read_bytes() == before


def test_audited_rows_are_no_held_out_rows(run, file, tmp_path):
    arrays = answers()
    np.savez(tmp_path / "h.npz", logits=arrays["logits"], labels=arrays["labels"])
    result = run(
        "tune", file(**arrays), "-o", tmp_path / "d.toml", "--held-out", tmp_path / "h.npz"
    )
    assert result.exit_code == 2
    assert f"{N} of {N} rows are audited too" in result.stderr


def test_held_out_rows_may_be_a_file_of_their_own(run, file, tmp_path):
    arrays = answers()
    np.savez(tmp_path / "h.npz", logits=arrays["held_out_logits"], labels=arrays["held_out_labels"])
    path = file(**(arrays | {"held_out_logits": None, "held_out_labels": None}))
    without = run("tune", path, "-o", tmp_path / "a.toml", "--json")
    assert any("RankTemplate" in note for note in json.loads(without.stdout)["notes"])
    result = run("tune", path, "-o", tmp_path / "b.toml", "--held-out", tmp_path / "h.npz")
    assert result.exit_code == 0, result.stderr
    assert isinstance(load_defense(tmp_path / "b.toml"), RankTemplate)


def test_a_reference_is_measured_and_not_chosen(run, file, tmp_path):
    public = RNG.dirichlet(np.ones(K), N + 400)
    np.savez(tmp_path / "r.npz", probabilities=public[:N], held_out_probabilities=public[N:])
    out = tmp_path / "d.toml"
    result = run("tune", file(), "-o", out, "--reference", tmp_path / "r.npz", "--json")
    facts = json.loads(result.stdout)
    (trial,) = [t for t in facts["trials"] if t["family"] == "public reference"]
    assert not trial["protects"]
    assert facts["best"]["family"] != "public reference"


def test_a_reference_without_its_arrays_is_refused(run, file, tmp_path):
    np.savez(tmp_path / "r.npz", probabilities=np.ones((2, 2)))
    result = run("tune", file(), "-o", tmp_path / "d.toml", "--reference", tmp_path / "r.npz")
    assert result.exit_code == 2
    assert "'held_out_probabilities' (h, k)" in result.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("half", "is not a number"),
        ("-1%", "must lie in"),
        ("150%", "must lie in"),
        ("nan", "must"),
        ("0.5", "would be 50%; write 50%, or 0.5%"),
        ("0.05", "would be 5%; write 5%, or 0.05%"),
        ("1", "would be 100%; write 100%, or 1%"),
    ],
)
def test_a_budget_that_is_no_share_is_refused(run, file, tmp_path, text, message):
    result = run("tune", file(), "-o", tmp_path / "d.toml", "--max-accuracy-loss", text)
    assert result.exit_code == 2
    assert f"--max-accuracy-loss {text}" in result.stderr
    assert message in result.stderr


@pytest.mark.parametrize(
    ("text", "share"), [("50%", 0.5), ("0.049", 0.049), ("0", 0.0), (" 5 %", 0.05)]
)
def test_a_loss_is_a_share_or_a_percentage(text, share):
    assert _loss("--max-accuracy-loss", text) == share


def test_existing_files_are_only_overwritten_by_force(run, file, tmp_path):
    out = tmp_path / "d.toml"
    out.write_text("mine")
    refused = run("tune", file(), "-o", out)
    assert (refused.exit_code, out.read_text()) == (2, "mine")
    assert "--force" in refused.stderr
    assert run("tune", file(), "-o", out, "--force").exit_code == 0
    assert load_defense(out)


def test_rows_of_one_kind_are_nothing_to_check(run, file, tmp_path):
    result = run("tune", file(member=np.ones(N, bool)), "-o", tmp_path / "d.toml")
    assert result.exit_code == 5
    assert "nothing was checked" in result.stderr


def test_the_command_has_an_example(run):
    assert "dynaserve tune answers.npz" in run("tune", "--help").stdout
