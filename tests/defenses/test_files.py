from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaserve import DynaNoise, DynaNoiseConfig, RankTemplate, __version__, load_defense
from dynaserve.defenses import Defense, PublicReference, Undefended

SECRET = bytes(range(32))


def template(buckets: int) -> RankTemplate:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 6, 400)
    return RankTemplate.calibrate(
        rng.normal(size=(400, 6)) + 2 * np.eye(6)[labels], labels, buckets=buckets
    )


SAVED: dict[str, Callable[[], Defense]] = {
    "paper": lambda: DynaNoise.paper(0.1 + 0.2, 2 / 3, 7.1),
    "keyed": lambda: DynaNoise.keyed(key=SECRET, base_variance=1e-7, model_version='v"1"\n'),
    "one bucket": lambda: template(1),
    "two buckets": lambda: template(2),
    "bound template": lambda: template(1).with_model_version('v"1"\n'),
    "none": Undefended,
}


@pytest.mark.parametrize("name", SAVED)
def test_a_saved_defense_comes_back_the_same(name: str, tmp_path: Path) -> None:
    defense, path = SAVED[name](), tmp_path / "defense.toml"
    defense.save(path)
    loaded = load_defense(path, key=SECRET if name == "keyed" else None)
    assert repr(loaded) == repr(defense)
    assert loaded.describe() == defense.describe()
    loaded.save(tmp_path / "again.toml")
    assert (tmp_path / "again.toml").read_text() == path.read_text()
    if name != "paper":
        x = np.random.default_rng(1).normal(size=(20, 6))
        assert loaded(x, queries=x).tobytes() == defense(x, queries=x).tobytes()


@given(st.floats(0, 1e9), st.floats(0, 1e9), st.floats(1e-9, 1e9))
def test_every_float_comes_back_exactly(
    tmp_path_factory: pytest.TempPathFactory, variance: float, scale: float, temperature: float
) -> None:
    path = tmp_path_factory.mktemp("files") / "defense.toml"
    defense = DynaNoise.paper(variance, scale, temperature)
    defense.save(path)
    loaded = load_defense(path)
    assert isinstance(loaded, DynaNoise)
    assert loaded.config == defense.config


def test_template_numbers_come_back_exactly(tmp_path: Path) -> None:
    defense = template(2)
    defense.save(tmp_path / "d.toml")
    loaded = load_defense(tmp_path / "d.toml")
    assert isinstance(loaded, RankTemplate)
    assert loaded.template == defense.template


def test_the_model_version_of_a_template_comes_back_and_is_empty_by_default(tmp_path: Path) -> None:
    template(1).with_model_version("abc").save(tmp_path / "bound.toml")
    (tmp_path / "free.toml").write_text(TEMPLATE)
    bound, free = load_defense(tmp_path / "bound.toml"), load_defense(tmp_path / "free.toml")
    assert isinstance(bound, RankTemplate)
    assert isinstance(free, RankTemplate)
    assert (bound.model_version, free.model_version) == ("abc", "")
    assert bound.describe().endswith("calibrated on 400 rows, model version 'abc'")


def test_the_file_says_what_it_is_and_holds_no_key(tmp_path: Path) -> None:
    secret = b"do-not-write-me-to-files-please!"
    DynaNoise.keyed(key=secret).save(tmp_path / "d.toml")
    text = (tmp_path / "d.toml").read_text()
    assert text.startswith(
        'format = "dynaserve-defense"\nformat_version = 1\n'
        f'written_by = "{__version__}"\nkind = "dynanoise"\n'
    )
    assert "do-not" not in text
    assert secret.hex() not in text
    assert [path.name for path in tmp_path.iterdir()] == ["d.toml"]


def test_a_loaded_keyed_defense_finds_its_key_in_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    defense, x = DynaNoise.keyed(key=SECRET), np.zeros((3, 4))
    defense.save(tmp_path / "d.toml")
    monkeypatch.setenv("DYNASERVE_NOISE_KEY", SECRET.hex())
    loaded = load_defense(str(tmp_path / "d.toml"))
    assert loaded(x, queries=np.eye(3)).tobytes() == defense(x, queries=np.eye(3)).tobytes()


GOOD = """\
format = "dynaserve-defense"
format_version = 1
written_by = "0.1.0"
kind = "dynanoise"

[parameters]
base_variance = 1.0
sensitivity_scale = 2.0
temperature = 1.0
noise = "fresh"
preserve_top1 = true
model_version = ""
"""

TEMPLATE = """\
format = "dynaserve-defense"
format_version = 1
written_by = "0.1.0"
kind = "rank-template"

[parameters]
confidence = [[0.8, 0.7, 0.9]]
rank_weights = [0.7]
tail_weight = 0.3
calibrated_on = 300
"""


def test_the_files_that_the_next_tests_break_are_good(tmp_path: Path) -> None:
    for text in (GOOD, TEMPLATE):
        (tmp_path / "d.toml").write_text(text)
        load_defense(tmp_path / "d.toml")


@pytest.mark.parametrize(
    ("text", "old", "new", "message"),
    [
        (GOOD, "=", "", "is not TOML"),
        (GOOD, '"dynaserve-defense"', '"else"', "is not a defense file: needs format"),
        (GOOD, 'format = "dynaserve-defense"', "", "is not a defense file"),
        (GOOD, "format_version = 1", "format_version = 2", "newer than the 1 .* upgrade"),
        (GOOD, "format_version = 1", "format_version = 0", "must be a positive integer"),
        (GOOD, "format_version = 1", "format_version = true", "must be a positive integer"),
        (GOOD, "format_version = 1", "", "must be a positive integer"),
        (GOOD, 'kind = "dynanoise"', "", "the file lacks kind"),
        (GOOD, 'kind = "dynanoise"', "kind = 3", "kind must be a string"),
        (GOOD, '"dynanoise"', '"magic"', "unknown kind 'magic'; known: dynanoise, rank-template"),
        (GOOD, "[parameters]", "extra = 1\n[parameters]", "the file holds unknown 'extra'"),
        (GOOD, "temperature = 1.0\n", "", r"\[parameters\] .* lacks temperature"),
        (GOOD, "temperature", "temprature = 1.0\ntemperature", "holds unknown 'temprature'"),
        (GOOD, "temperature = 1.0", "temperature = 0.0", "DynaNoise: temperature=0.0: "),
        (GOOD, "temperature = 1.0", "temperature = nan", "DynaNoise: temperature=nan: "),
        (GOOD, '"fresh"', '"sticky"', "DynaNoise: noise: Input should be 'fresh' or 'keyed'"),
        (GOOD, '"fresh"', '"fresh"\nkey = "abc"', "holds unknown 'key'"),
        (TEMPLATE, "tail_weight = 0.3", "tail_weight = 0.2", "must sum to 1"),
        (TEMPLATE, "0.8, 0.7", "0.8, 0.2", "class 1 must keep it on top"),
        (TEMPLATE, "[[0.8, 0.7, 0.9]]", "0.8", "rank template: .*"),
        (TEMPLATE, "[[0.8, 0.7, 0.9]]", '[["0.8", 0.7, 0.9]]', "needs lists of floats"),
        (TEMPLATE, "tail_weight = 0.3", 'tail_weight = "0.3"', "needs lists of floats"),
        (TEMPLATE, "calibrated_on = 300", "calibrated_on = []", "rank template"),
        (TEMPLATE, "calibrated_on = 300", "calibrated_on = 299", "integer of at least 300"),
        (TEMPLATE, "calibrated_on = 300", "calibrated_on = 300.0", "integer of at least 300"),
        (TEMPLATE, "calibrated_on = 300", "calibrated_on = true", "integer of at least 300"),
        (TEMPLATE, "calibrated_on", "model_version = 1\ncalibrated_on", "must be text"),
        (TEMPLATE, "calibrated_on = 300", "low_margin = 1.0", "lacks calibrated_on"),
        (TEMPLATE, "calibrated_on", "low_margin = 1.0\ncalibrated_on", "buckets disagree"),
        (TEMPLATE, "calibrated_on", "rank = 1\ncalibrated_on", "holds unknown 'rank'"),
    ],
)
def test_a_file_that_is_not_understood_whole_is_refused(
    tmp_path: Path, text: str, old: str, new: str, message: str
) -> None:
    path = tmp_path / "broken.toml"
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(ValueError, match=rf"^defense file .*broken\.toml: .*{message}"):
        load_defense(path)


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / "d.toml").write_bytes(b"\x80\x04\x95pickle")
    with pytest.raises(ValueError, match="is not TOML"):
        load_defense(tmp_path / "d.toml")


@pytest.mark.parametrize("text", ["x = " + "[" * 100_000, GOOD + "x = " + "{a=" * 100_000])
def test_a_file_nested_too_deeply_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "d.toml").write_text(text)
    with pytest.raises(ValueError, match=r"^defense file .*d\.toml: .*nested too deeply"):
        load_defense(tmp_path / "d.toml")


def test_a_model_version_that_no_file_can_hold_is_refused() -> None:
    for defense in (DynaNoise.paper(), template(1)):
        with pytest.raises(ValueError, match="text that UTF-8 can hold") as caught:
            defense.with_model_version("v\ud800")
        assert str(caught.value).isprintable()


def test_a_missing_file_is_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load_defense(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("save", "options", "message"),
    [
        (Undefended, {"key": SECRET}, "kind 'none' takes no key="),
        (DynaNoise.paper, {"key": SECRET}, "fresh noise takes no key"),
        (DynaNoise.paper, {"reference": print}, "kind 'dynanoise' takes no reference="),
        (lambda: template(1), {"key": SECRET}, "kind 'rank-template' takes no key="),
    ],
)
def test_what_a_defense_has_no_use_for_is_refused(
    tmp_path: Path, save: Callable[[], Defense], options: dict[str, Any], message: str
) -> None:
    save().save(tmp_path / "d.toml")
    with pytest.raises(ValueError, match=message):
        load_defense(tmp_path / "d.toml", **options)


def test_a_public_reference_file_with_wrong_numbers_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "d.toml"
    PublicReference(print, weights=(1.0, 2.0), classes=3).save(path)
    path.write_text(path.read_text().replace("    1.0,", '    "1.0",'))
    with pytest.raises(ValueError, match="weights must be two numbers"):
        load_defense(path, reference=print)


def test_the_config_fields_are_the_file_fields(tmp_path: Path) -> None:
    DynaNoise.paper().save(tmp_path / "d.toml")
    parameters = (tmp_path / "d.toml").read_text().partition("[parameters]\n")[2]
    names = [line.partition(" = ")[0] for line in parameters.splitlines()]
    assert names == list(DynaNoiseConfig.model_fields)
