from __future__ import annotations

from pathlib import Path

import pytest

from dynaserve.serving.settings import ServeSettings, SettingsError, SummariesSettings

SECRET = "hunter2-4711"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "serve.toml"


def problems(*, flags: dict[str, object] | None = None, **environment: str) -> tuple[str, ...]:
    with pytest.raises(SettingsError) as caught:
        ServeSettings.load(flags, environment)
    return caught.value.problems


def test_a_flag_counts_more_than_a_variable_and_that_more_than_the_file(config: Path) -> None:
    config.write_text("[limits]\nmax_rows = 1\nmax_columns = 1\nmax_bytes = 1\n")
    settings = ServeSettings.load(
        {"config": config, "max_rows": "3", "name": None},
        {"DYNASERVE_MAX_ROWS": "2", "DYNASERVE_MAX_COLUMNS": "2", "DYNASERVE_SECONDS": ""},
    )
    assert (settings.max_rows, settings.max_columns, settings.max_bytes) == (3, 2, 1)
    assert settings.seconds == ServeSettings().seconds


def test_a_variable_names_the_file_too(config: Path) -> None:
    config.write_text("[classifier]\nname = 'flowers'\n")
    environment = {"DYNASERVE_CONFIG": str(config)}
    assert ServeSettings.from_environment(environment).name == "flowers"


def test_what_was_read_from_a_file_needs_no_file_in_a_worker(config: Path) -> None:
    config.write_text("[classifier]\nname = 'flowers'\n")
    told = ServeSettings.load({"config": config}, {}).to_environment()
    config.unlink()
    inherited = {"DYNASERVE_CONFIG": str(config)}
    assert ServeSettings.from_environment(inherited | told).name == "flowers"


def test_files_are_found_beside_the_file_that_names_them(config: Path) -> None:
    (config.parent / "d.toml").touch()
    config.write_text("[classifier]\ndefense = 'd.toml'\nsource = 'tag:latest'\n")
    settings = ServeSettings.load({"config": config}, {})
    assert settings.defense == str(config.parent / "d.toml")
    assert settings.source == "tag:latest"


def test_one_file_may_hold_several_services(config: Path) -> None:
    config.write_text(
        "[classifier]\nname = 'a'\n[summaries]\nk_min = 7\n[limits]\nmax_values = 9\n"
    )
    assert ServeSettings.load({"config": config}, {}).name == "a"
    summaries = SummariesSettings.load({"config": config}, {})
    assert (summaries.k_min, summaries.max_values) == (7, 9)


def test_every_wrong_setting_is_named_where_it_stands_and_none_is_repeated(config: Path) -> None:
    config.write_text(f"[limits]\nmax_rows = '{SECRET}'\nmax_rowz = 1\n[lmits]\n")
    found = problems(
        flags={"config": config, "workers": SECRET}, DYNASERVE_SECONDS="0", DYNASERVE_LOGS=SECRET
    )
    assert len(found) == 6
    text = "\n".join(found)
    assert SECRET not in text
    for wanted in (
        f"{config}: limits.max_rows: Input should be a valid integer",
        f"{config}: limits has no max_rowz; do you mean max_rows?",
        f"{config}: no table [lmits]; there are classifier, ",
        "--workers: Input should be a valid integer",
        "DYNASERVE_SECONDS: Input should be greater than 0",
        "DYNASERVE_LOGS: Input should be 'off' or 'json'",
    ):
        assert wanted in text


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (f"[access]\nstate = {SECRET}", "no TOML: (at line 2, column "),
        (b"\xff\xfe", "no TOML: it is not UTF-8"),
        (f"'{SECRET} is the password' = 1", "no table [...]"),
        (f"[access]\n'{SECRET} x' = 1", "access has no ..."),
        ("access = 1", "no table [access]"),
        ("[server]\nmax_rows = 1", "server has no max_rows"),
    ],
)
def test_a_file_that_is_none_is_said_without_what_it_holds(
    config: Path, content: str | bytes, message: str
) -> None:
    config.write_bytes(content if isinstance(content, bytes) else content.encode())
    (problem,) = problems(flags={"config": config})
    assert problem.startswith(f"{config}: ")
    assert message in problem
    assert SECRET not in problem


def test_a_file_that_is_not_there_is_said(config: Path) -> None:
    assert problems(DYNASERVE_CONFIG=str(config)) == (f"{config}: No such file or directory",)


def test_a_password_in_an_address_is_not_repeated() -> None:
    (problem,) = problems(DYNASERVE_STATE=f"mysql://me:{SECRET}@host")
    assert problem == "DYNASERVE_STATE: write redis://HOST:PORT/DB, or leave it out"


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("REQUESTS_PER_SECOND", "1e-20", "greater than or equal to 0.001"),
        ("REQUESTS_PER_SECOND", "1e308", "less than or equal to 1000000"),
        ("REQUESTS_PER_SECOND", "inf", "finite number"),
        ("SECONDS", "inf", "finite number"),
        ("TRACES", f"http://u:{SECRET}@host/", "without a user and without a query"),
        ("TRACES", f"http://host/v1?token={SECRET}", "without a user and without a query"),
        ("TRACES", "not a url", "write http://HOST:PORT"),
        ("KEYS", f"dyn_{SECRET}", "this is an API key; write the name of the file of keys"),
    ],
)
def test_a_value_that_cannot_work_is_refused_and_not_repeated(
    variable: str, value: str, message: str
) -> None:
    (problem,) = problems(**{f"DYNASERVE_{variable}": value})
    assert problem.startswith(f"DYNASERVE_{variable}: ")
    assert message in problem
    assert SECRET not in problem


def test_toml_that_is_nested_too_deep_is_no_toml(config: Path) -> None:
    config.write_text("x = " + "[" * 100_000)
    assert problems(flags={"config": config}) == (f"{config}: no TOML: it is nested too deep",)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("DYNASERVE_MAX_ROW", "DYNASERVE_MAX_ROWS"),
        ("DYNASERVE_REQUEST_PER_SECOND", "DYNASERVE_REQUESTS_PER_SECOND"),
        ("DYNASERVE_KEY", "DYNASERVE_KEYS"),
        ("DYNASERVE_STATEDIR", "DYNASERVE_STATE or DYNASERVE_STATE_DIR"),
        ("DYNASERVE_K_MINS", "DYNASERVE_K_MIN"),  # of another service
        ("DYNASERVE_Max_Rows", "DYNASERVE_MAX_ROWS"),
        ("dynaserve_keys", "DYNASERVE_KEYS"),
        ("DYNASERVE_KEYS_FILE", "DYNASERVE_KEYS"),
        ("DYNASERVE_KEYFILE", "DYNASERVE_KEYS"),
        ("DYNASERVE_API_KEYS", "DYNASERVE_KEYS or DYNASERVE_API_KEY"),
    ],
)
def test_a_mistyped_variable_is_no_missing_limit(name: str, meant: str) -> None:
    (problem,) = problems(**{name: SECRET})
    assert problem == f"{name}: there is no such setting; do you mean {meant}?"


def test_variables_of_others_are_let_be() -> None:
    kubernetes = (
        *("SERVICE_HOST", "SERVICE_PORT", "SERVICE_PORT_HTTP", "PORT_3000_TCP"),
        *("PORT_3000_TCP_ADDR", "STATE_PORT", "KEYS_SERVICE_HOST", "KEYS_PORT_80_TCP_PROTO"),
    )
    ours = ("NOISE_KEY", "STATE_DIR", "ISA", "API_KEY", "DEBUG", "SUPERVISOR_PID", "METRICS_DIR")
    environment = {f"DYNASERVE_{name}": "x" for name in kubernetes + ours}
    assert ServeSettings.load({}, environment) == ServeSettings()
