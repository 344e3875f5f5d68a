from __future__ import annotations

from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from dynaserve.cli.settings_flags import with_flags
from dynaserve.serving.settings import AnonymizerSettings, ServeSettings, Settings, flag, variable


def command(kind: type[Settings], argument: str) -> tuple[typer.Typer, list[dict[str, Any]]]:
    given: list[dict[str, Any]] = []
    app = typer.Typer()

    @app.command()
    @with_flags(kind, argument)
    def run(said: dict[str, Any], *, own: bool = False) -> None:
        given.append(said | {"own": own})

    return app, given


def test_what_is_said_is_handed_on_as_it_was_typed_and_the_rest_is_none() -> None:
    app, given = command(ServeSettings, "source")
    arguments = ["m.onnx", "--max-rows", "many", "--trust-pickle", "--own", "--config", "s.toml"]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    (said,) = given
    assert {name: value for name, value in said.items() if value is not None} == {
        "source": "m.onnx", "max_rows": "many", "trust_pickle": True, "own": True,
        "config": said["config"],
    }  # fmt: skip
    assert str(said["config"]) == "s.toml"
    assert set(said) == {*ServeSettings.model_fields, "config", "own"}


@pytest.mark.parametrize(
    ("kind", "argument"), [(ServeSettings, "source"), (AnonymizerSettings, "model")]
)
def test_every_setting_has_a_flag_and_says_its_variable(
    kind: type[Settings], argument: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    app, _ = command(kind, argument)
    shown = CliRunner().invoke(app, ["--help"]).stdout
    for name in kind.model_fields:
        assert name == argument or flag(name) in shown
        assert variable(name) in shown
