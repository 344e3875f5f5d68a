from __future__ import annotations

import pytest
import typer
from typer.testing import CliRunner

from dynaserve.cli.outcome import ExitCode, UsageError, reporting, user_input


def run(body):
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(reporting(body))
    return CliRunner().invoke(app, [])


def test_a_bug_is_one_line_and_exit_code_3():
    def body() -> None:
        raise KeyError("x")

    result = run(body)
    assert result.exit_code == ExitCode.INTERNAL == 3
    expected = "internal error: KeyError: 'x' (set DYNASERVE_DEBUG=1 for the traceback)\n"
    assert result.stderr == expected


@pytest.mark.parametrize("error", [ValueError, FileNotFoundError, ImportError])
def test_what_the_user_gave_is_one_line_and_exit_code_2(error):
    def body() -> None:
        with user_input():
            raise error("two\nlines")

    result = run(body)
    assert (result.exit_code, result.stderr) == (ExitCode.USAGE, "error: two lines\n")


def test_debug_shows_the_traceback(monkeypatch):
    monkeypatch.setenv("DYNASERVE_DEBUG", "1")

    def body() -> None:
        raise UsageError("x")

    assert isinstance(run(body).exception, UsageError)


def test_a_chosen_exit_code_passes():
    def body() -> None:
        raise typer.Exit(ExitCode.NOTHING_CHECKED)

    assert run(body).exit_code == 5
