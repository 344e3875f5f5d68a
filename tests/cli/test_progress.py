from __future__ import annotations

import pytest

from dynaserve.cli.progress import progress_bar


def steps(*, quiet: bool = False) -> None:
    with progress_bar(quiet=quiet) as progress:
        progress(1, 2, "undefended, 1 query")
        progress(2, 2, "defended, 1 query")


def test_a_file_or_a_pipe_sees_nothing(capfd):
    steps()
    assert capfd.readouterr() == ("", "")


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # what rich takes for a terminal
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")


@pytest.mark.usefixtures("terminal")
def test_a_terminal_sees_the_steps_on_standard_error(capfd):
    steps()
    out, err = capfd.readouterr()
    assert out == ""
    assert "2 of 2 done: defended, 1 query" in err


@pytest.mark.usefixtures("terminal")
def test_quiet_hides_them(capfd):
    steps(quiet=True)
    assert capfd.readouterr() == ("", "")
