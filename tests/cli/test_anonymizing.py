from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dynaserve.cli.anonymizing import Files
from dynaserve.cli.outcome import UsageError
from tests.cli.anonymized import SECRET, TEXT, Fake

pytestmark = pytest.mark.usefixtures("fake")


def test_the_input_is_not_written_to(run: Any, text_file: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.txt"
    link.symlink_to(text_file)
    hard = tmp_path / "hard.txt"
    hard.hardlink_to(text_file)
    for written in (text_file, link, hard):
        for arguments in (["-o", written], ["--trace", written], ["--consistent", written]):
            done = run("anonymize", text_file, *arguments, "--force", "--input", "jsonl")
            assert done.exit_code == 2
            assert f"{written} is the same file as {text_file}; name another" in done.stderr
    assert text_file.read_text() == TEXT


def test_two_outputs_are_not_one_file(run: Any, text_file: Path, tmp_path: Path) -> None:
    out, hard = tmp_path / "out", tmp_path / "hard"
    done = run("anonymize", text_file, "-o", out, "--trace", out)
    assert (done.exit_code, out.exists()) == (2, False)
    out.write_text("mine")
    hard.hardlink_to(out)
    done = run("anonymize", text_file, "-o", out, "--trace", hard, "--force")
    assert done.exit_code == 2
    assert f"{hard} is the same file as {out}" in done.stderr
    assert out.read_text() == "mine"


@pytest.mark.parametrize(
    ("redirected", "arguments"),
    [("stdin", ["-", "-o", "in.txt", "--force"]), ("stdout", ["in.txt"])],
)
def test_a_file_that_the_shell_redirects_is_not_written_over(
    text_file: Path, redirected: str, arguments: list[str]
) -> None:
    command = [sys.executable, "-c", "from dynaserve.cli import main; main()", "anonymize"]
    with text_file.open("r+" if redirected == "stdin" else "a") as stream:
        done = subprocess.run(
            [*command, *arguments],
            cwd=text_file.parent, stderr=subprocess.PIPE, check=False, **{redirected: stream},
        )  # fmt: skip
    assert done.returncode == 2
    assert b"same file as" in done.stderr
    assert f"/dev/{redirected}".encode() in done.stderr
    assert text_file.read_text() == TEXT


def test_a_standard_input_that_is_closed_is_a_usage_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(UsageError, match="stdin: is closed; name a file"):
        Files("-", None, None, force=False).read()


@pytest.mark.parametrize("given", ["", " \n\t\n"])
def test_an_empty_input_is_nothing_to_do(pipe: Any, given: str, fake: Fake) -> None:
    for arguments in ((), ("--input", "jsonl")):
        done = pipe(given, *arguments)
        assert (done.exit_code, done.stdout) == (5, "")
        assert done.stderr == "nothing to do: the input is empty\n"
    assert not fake.texts


def test_a_file_that_is_not_there_is_a_usage_error(run: Any, tmp_path: Path) -> None:
    done = run("anonymize", tmp_path / "none.txt")
    assert done.exit_code == 2
    assert "none.txt" in done.stderr


def test_a_fault_of_the_anonymizer_is_internal_and_quotes_nothing(
    pipe: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = pipe(f"boom {SECRET}")
    assert (done.exit_code, done.stdout) == (3, "")
    assert "anonymizing stdin failed with RuntimeError" in done.stderr
    assert SECRET not in done.output
    monkeypatch.setenv("DYNASERVE_DEBUG", "1")
    error = pipe(f"boom {SECRET}").exception
    assert SECRET not in repr(error) + repr(error.__context__)
