"""The whole experiment on a few made-up rows, with real training."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from dynaserve.mia.attacks import learned
from dynaserve.mia.attacks.lira import LiraOnline
from dynaserve.mia.datasets import Dataset
from dynaserve.mia.peers.simple import Temperature
from dynaserve.mia.reproduce import (
    Setup,
    calibration_note,
    contender,
    describe,
    experiment,
    reproduce,
)

CONTENDERS = [contender(name) for name in ("rank-template", "none", "dropout+rank-template")]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    n, k = 400, 4
    labels = rng.integers(0, k, n)
    dataset = Dataset(
        "digits",
        (rng.normal(size=(n, 8)) + 1.2 * np.eye(8)[labels]).astype(np.float32),
        labels,
        tuple("abcd"),
        binary=False,
        members=48,
        held_out=304,
        jitters=(0.1, 0.5),
    )
    monkeypatch.setattr(experiment, "load", lambda name, directory: dataset)  # noqa: ARG005
    monkeypatch.setattr(experiment, "COPIES", 3)
    monkeypatch.setattr(experiment, "REPEATS", (1, 4))
    full = learned.cross_fitted
    monkeypatch.setattr(
        learned, "cross_fitted", lambda f, e, *, iterations: full(f, e, iterations=iterations // 20)
    )
    monkeypatch.setattr(Setup, "shadows", property(lambda one: 4 if one.quick else 16))
    experiment._data.cache_clear()
    experiment._trained.cache_clear()


@pytest.fixture
def setup(tmp_path) -> Setup:
    (tmp_path / "first").mkdir()
    return Setup("digits", None, tmp_path / "first", seed=3, quick=True)


def test_rows_come_in_order_twice_the_same_and_from_files_the_second_time(setup, tmp_path):
    told: list[tuple[int, int, str]] = []
    rows = reproduce(setup, CONTENDERS, progress=lambda *step: told.append(step))
    assert [row.name for row in rows] == [one.name for one in CONTENDERS]
    template, none, dropped = rows
    assert set(none.exposures) == {"1", "4", "near3"}
    assert template.accuracy == none.accuracy
    assert template.exposures["1"].total < none.exposures["1"].total
    assert template.calibration_error < none.calibration_error
    assert dropped.member_accuracy != template.member_accuracy
    assert [done for done, _, _ in told] == [1, 2, 3, 4, 5]
    assert told[-1][1] == 5

    (tmp_path / "second").mkdir()
    again = reproduce(replace(setup, directory=tmp_path / "second"), CONTENDERS[:1])
    assert again == rows[:1]

    (path,) = (setup.directory / "attacked").glob("none-*.json")
    path.write_text(path.read_text().replace(f"{none.accuracy}", "0.125", 1))
    (kept,) = reproduce(setup, [CONTENDERS[1]])
    assert kept == replace(none, accuracy=0.125)


@pytest.fixture
def kept(setup):
    """Attack the undefended contender, then replace its figures by ones that betray the file."""
    (row,) = reproduce(setup, [CONTENDERS[1]])
    (path,) = (setup.directory / "attacked").iterdir()
    path.write_text(path.read_text().replace(f'"accuracy": {row.accuracy}', '"accuracy": 0.125'))
    assert reproduce(setup, [CONTENDERS[1]])[0].accuracy == 0.125
    return path


@pytest.mark.usefixtures("kept")
def test_models_trained_anew_are_attacked_anew(setup):
    for path in (setup.directory / "plain").glob("model-*.npz"):
        with np.load(path) as archive:
            arrays = dict(archive)
        arrays["logits"] = arrays["logits"][:, ::-1]
        np.savez(path, **arrays)
    experiment._trained.cache_clear()
    assert reproduce(setup, [CONTENDERS[1]])[0].accuracy != 0.125


@pytest.mark.parametrize(
    ("where", "name", "value"),
    [
        (experiment, "REPEATS", (1, 3)),
        (experiment, "__version__", "0"),
        (experiment, "ATTACKS", {"lira_online": (LiraOnline(per_example=True),)}),
        (Temperature, "describe", lambda _: "another"),
    ],
    ids=["repeats", "version", "attacks", "defense"],
)
def test_other_settings_are_kept_apart(setup, monkeypatch, where, name, value):
    exposed = experiment._Exposed.of(setup, contender("temperature"), "0.1")
    again = experiment._Exposed.of(setup, contender("temperature"), "0.1")
    before = exposed.fingerprint()
    assert again.fingerprint() == before
    monkeypatch.setattr(where, name, value)
    assert exposed.fingerprint() != before


@pytest.mark.parametrize("damage", ["{", "[]", '{"exposures": {"1": {}}}'])
def test_a_damaged_file_is_named(setup, kept, damage):
    kept.write_text(damage)
    with pytest.raises(ValueError, match=f"{kept.name} is damaged; delete it"):
        reproduce(setup, [CONTENDERS[1]])


def test_another_seed_is_another_experiment(setup):
    other = replace(setup, seed=4)
    assert other.attack_seed != setup.attack_seed
    (row,) = reproduce(setup, [CONTENDERS[1]])
    with pytest.raises(ValueError, match="another run"):
        reproduce(other, [CONTENDERS[1]])
    assert 0.25 < row.accuracy <= 1


def test_the_attackers_seed_does_not_reproduce_the_split(setup):
    zero = replace(setup, seed=0)
    split = np.random.default_rng([zero.seed, 0]).permutation(100)
    assert (np.random.default_rng(zero.attack_seed).permutation(100) != split).any()


def test_the_description_says_what_was_trained(setup):
    text = describe(setup)
    assert "128 hidden units" in text
    assert "48 members" in text
    assert "4 balanced shadows" in text
    assert "16 balanced shadows" in describe(replace(setup, quick=False))


def test_the_note_says_what_calibration_error_48_rows_have_by_chance(setup):
    note = calibration_note(setup)
    assert "48 non-members" in note
    median, low, high = (float(number) for number in re.findall(r"0\.\d{3}", note))
    assert 0 <= low < median < high < 0.3
