from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.anonymized import CLEANED, LINES, SECRET, TEXT, lines_file

pytestmark = pytest.mark.usefixtures("fake")


def test_shown_are_changes_leaks_and_how_it_ended(pipe: Any) -> None:
    done = pipe(TEXT, "--show")
    assert done.stdout == CLEANED
    shown = done.stderr
    assert "I live in [-Porto-]{+Portugal+}.\nIt rains.\n" in shown
    row = next(line for line in shown.splitlines() if "HIGH" in line)
    assert row.split() == ["1", "location", "Porto", "HIGH", "90%", "Portugal", "inf"]
    assert shown.rstrip().endswith("anonymized")
    done = pipe(f"stuck in {SECRET} [red]", "--show")
    assert "withheld: budget exhausted (a leak is left open)" in done.stderr
    assert "stays" in done.stderr


def test_shown_lines_say_whose_they_are(run: Any, tmp_path: Path) -> None:
    done = run("anonymize", lines_file(tmp_path, *LINES), "--show")
    headings = [line.strip("─ ") for line in done.stderr.splitlines() if "──" in line]
    assert headings == ["a", "b", "3"]
    assert SECRET not in done.stdout


def test_of_a_long_text_only_what_is_near_a_change_is_shown(pipe: Any) -> None:
    shown = pipe(f"{'a' * 500} {TEXT} {'b' * 500}", "--show").stderr
    assert "a" * 60 in shown
    assert "a" * 100 not in shown
    assert "b" * 100 not in shown


def test_a_terminal_is_shown_what_happens_in_colour(
    pipe: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # takes standard error for a terminal
    monkeypatch.delenv("NO_COLOR", raising=False)
    done = pipe(TEXT)
    assert done.stdout == CLEANED
    assert "\x1b[31m[-Porto-]\x1b[0m\x1b[32m{+Portugal+}\x1b[0m" in done.stderr
    assert "\x1b[1;31mHIGH" in done.stderr
    assert pipe(TEXT, "--json").stderr == ""
