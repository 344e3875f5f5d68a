from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dynaserve import DynaNoise, RankTemplate, load_defense
from dynaserve.defenses import Undefended
from dynaserve.serving.defenses import choose_defense, rehearse
from dynaserve.serving.settings import ServeSettings, SettingsError

EMBEDDED = ServeSettings()
OWN_MODEL = ServeSettings(source="mine.skops")

FLOAT64 = np.dtype(np.float64)


@dataclass
class Model:
    """What ``choose_defense`` reads of a model."""

    version: str = "v1"
    name: str = "three"
    dtype: np.dtype[Any] = FLOAT64
    input_shape: tuple[int | None, ...] = (3,)
    classes: list[str | int] = field(default_factory=lambda: [0, 1, 2])

    def logits(self, inputs: NDArray[Any]) -> NDArray[Any]:
        return inputs


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("DYNASERVE_NOISE_KEY", raising=False)
    monkeypatch.setenv("DYNASERVE_STATE_DIR", str(tmp_path))
    return tmp_path


def test_dynanoise_is_keyed_and_bound_to_the_version_of_the_model() -> None:
    chosen = choose_defense("dynanoise", Model(version="abc"), EMBEDDED)
    assert isinstance(chosen, DynaNoise)
    assert chosen.config.noise == "keyed"
    assert chosen.config.model_version == "abc"


def test_two_versions_of_a_model_get_different_noise_for_the_same_query() -> None:
    logits = np.array([[1.0, 2.0, 3.0]])
    first, again, second = (
        choose_defense("dynanoise", Model(version=version), EMBEDDED)(logits, queries=logits)
        for version in ("1", "1", "2")
    )
    np.testing.assert_array_equal(first, again)
    assert (first != second).all()


def test_dynanoise_paper_is_the_paper() -> None:
    chosen = choose_defense("dynanoise-paper", Model(), EMBEDDED)
    assert isinstance(chosen, DynaNoise)
    config = chosen.config
    assert (config.noise, config.preserve_top1) == ("fresh", False)
    assert (config.base_variance, config.sensitivity_scale, config.temperature) == (0.3, 2.0, 10.0)


def test_the_rank_template_of_the_embedded_default_is_calibrated_on_its_held_out_half() -> None:
    chosen = choose_defense("rank-template", Model(), EMBEDDED)
    assert isinstance(chosen, RankTemplate)
    assert chosen.model_version == "v1"
    assert chosen(np.arange(10.0)[np.newaxis]).argmax() == 9


def test_a_rank_template_for_another_model_says_how_to_calibrate_one() -> None:
    with pytest.raises(SettingsError, match=r"dynaserve calibrate HELD_OUT.npz -o defense.toml"):
        choose_defense("rank-template", Model(), OWN_MODEL)


def test_none_needs_to_be_said_twice() -> None:
    with pytest.raises(SettingsError, match="--undefended"):
        choose_defense("none", Model(), EMBEDDED)
    twice = ServeSettings(undefended=True)
    assert isinstance(choose_defense("none", Model(), twice), Undefended)


def test_none_from_a_file_needs_to_be_said_twice_too(tmp_path: Path) -> None:
    Undefended().save(tmp_path / "defense.toml")
    with pytest.raises(SettingsError, match="--undefended"):
        choose_defense(str(tmp_path / "defense.toml"), Model(), EMBEDDED)


@pytest.mark.parametrize(
    "noiseless", [lambda: DynaNoise.paper(0.0), lambda: DynaNoise.keyed(base_variance=0.0)]
)
def test_noise_of_variance_zero_needs_to_be_said_twice_too(
    noiseless: Callable[[], DynaNoise], tmp_path: Path
) -> None:
    noiseless().save(tmp_path / "defense.toml")
    with pytest.raises(SettingsError, match=r"noise of variance 0.*--undefended"):
        choose_defense(str(tmp_path / "defense.toml"), Model(), OWN_MODEL)
    twice = ServeSettings(source="mine.skops", undefended=True)
    assert isinstance(choose_defense(str(tmp_path / "defense.toml"), Model(), twice), DynaNoise)


def test_undefended_alone_does_not_switch_the_defense_off() -> None:
    chosen = choose_defense("dynanoise", Model(), ServeSettings(undefended=True))
    assert isinstance(chosen, DynaNoise)


def test_a_saved_keyed_defense_is_bound_to_the_model_that_is_served(tmp_path: Path) -> None:
    saved = DynaNoise.keyed(base_variance=0.5, model_version="of another model")
    saved.save(tmp_path / "defense.toml")
    chosen = choose_defense(str(tmp_path / "defense.toml"), Model(version="abc"), OWN_MODEL)
    assert isinstance(chosen, DynaNoise)
    assert (chosen.config.base_variance, chosen.config.model_version) == (0.5, "abc")


def template(version: str, path: Path) -> str:
    rng = np.random.default_rng(0)
    made = RankTemplate.calibrate(rng.normal(size=(400, 3)), rng.integers(0, 3, 400))
    made.with_model_version(version).save(path)
    return str(path)


@pytest.mark.parametrize("version", ["", "v1"])
def test_a_template_serves_the_model_it_is_bound_to_or_any(version: str, tmp_path: Path) -> None:
    name = template(version, tmp_path / "defense.toml")
    chosen = choose_defense(name, Model(version="v1"), OWN_MODEL)
    assert isinstance(chosen, RankTemplate)
    assert chosen.model_version == version


def test_a_template_serves_no_model_that_it_was_not_calibrated_on(tmp_path: Path) -> None:
    name = template("v1", tmp_path / "defense.toml")
    with pytest.raises(SettingsError, match="model version v1, but three has version v2; calib"):
        choose_defense(name, Model(version="v2"), OWN_MODEL)


def test_a_rehearsal_returns_a_row_of_the_model_and_finds_what_does_not_fit(tmp_path: Path) -> None:
    row = rehearse(Model(), Undefended())
    assert (row.shape, row.dtype) == ((1, 3), np.float64)
    for_three = load_defense(template("", tmp_path / "defense.toml"))
    with pytest.raises(ValueError, match="calibrated for 3 classes, got 4"):
        rehearse(Model(input_shape=(4,)), for_three)


@pytest.mark.parametrize(
    ("name", "reason"),
    [("missing.toml", "there is no such file"), ("dynanoize", "no defense has that name")],
)
def test_an_unknown_defense_is_an_error_that_lists_the_known_ones(name: str, reason: str) -> None:
    with pytest.raises(SettingsError, match=reason) as caught:
        choose_defense(name, Model(), EMBEDDED)
    assert "dynanoise, dynanoise-paper, rank-template, none, or a FILE.toml" in str(caught.value)


def test_a_file_that_is_no_defense_is_refused(tmp_path: Path) -> None:
    (tmp_path / "defense.toml").write_text("x = 1\n")
    with pytest.raises(ValueError, match=r"defense\.toml"):
        choose_defense(str(tmp_path / "defense.toml"), Model(), EMBEDDED)
