from __future__ import annotations

import pytest

from dynaserve.serving.settings import ServeSettings, SettingsError, SummariesSettings


def test_settings_survive_the_trip_through_the_environment() -> None:
    settings = ServeSettings(
        source="model:latest",
        defense="rank-template",
        trust_pickle=True,
        undefended=True,
        max_rows=7,
        max_bytes=8,
        workers=3,
    )
    assert ServeSettings.from_environment(settings.to_environment()) == settings


def test_a_setting_of_none_overrides_an_inherited_variable() -> None:
    inherited = {"DYNASERVE_SOURCE": "other.skops", "DYNASERVE_MAX_BYTES": "5"}
    environment = inherited | ServeSettings().to_environment()
    assert ServeSettings.from_environment(environment) == ServeSettings()


def test_settings_of_the_summaries_survive_it_too() -> None:
    settings = SummariesSettings(
        summarizer="extractive", k_min=7, quote_letters=40, max_values=3, workers=2
    )
    assert SummariesSettings.from_environment(settings.to_environment()) == settings


@pytest.mark.parametrize(
    ("variable", "value"),
    [("DYNASERVE_K_MIN", "1"), ("DYNASERVE_SUMMARIZER", "all"), ("DYNASERVE_QUOTE_LETTERS", "5")],
)
def test_summaries_that_would_protect_nobody_are_a_wrong_setting(variable: str, value: str) -> None:
    with pytest.raises(SettingsError, match=f"^{variable}: "):
        SummariesSettings.from_environment({variable: value})


def test_nothing_set_is_the_embedded_default_with_keyed_noise() -> None:
    settings = ServeSettings.from_environment({})
    assert (settings.source, settings.defense, settings.undefended) == (None, "dynanoise", False)


def test_the_process_environment_is_read_when_none_is_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DYNASERVE_MAX_ROWS", "5")
    assert ServeSettings.from_environment().max_rows == 5


def test_files_become_absolute_and_tags_stay(
    tmp_path: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(str(tmp_path))
    with open("defense.toml", "w") as file:
        file.write("")
    environment = ServeSettings(source="tag:latest", defense="defense.toml").to_environment()
    assert environment["DYNASERVE_DEFENSE"] == f"{tmp_path}/defense.toml"
    assert environment["DYNASERVE_SOURCE"] == "tag:latest"


@pytest.mark.parametrize(
    ("variable", "value"),
    [("DYNASERVE_MAX_ROWS", "0"), ("DYNASERVE_WORKERS", "many"), ("DYNASERVE_TRUST_PICKLE", "7")],
)
def test_a_wrong_value_is_an_error_that_names_its_variable(variable: str, value: str) -> None:
    with pytest.raises(SettingsError, match=f"^{variable}: "):
        ServeSettings.from_environment({variable: value})


def test_a_secret_in_the_wrong_place_is_not_echoed() -> None:
    with pytest.raises(ValueError, match="max_rows") as caught:
        ServeSettings(max_rows="SECRET", noise_key="SECRET")  # type: ignore[call-arg, arg-type]
    assert "SECRET" not in str(caught.value)


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        ServeSettings().max_rows = 3  # type: ignore[misc]
