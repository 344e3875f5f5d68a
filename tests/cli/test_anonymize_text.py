from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dynaserve.rlaa.records import Result, Status
from tests.cli.anonymized import CLEANED, LINES, SECRET, TEXT, Fake, lines_file

pytestmark = pytest.mark.usefixtures("fake")


def test_a_text_goes_from_stdin_to_stdout_and_nothing_else_does(pipe: Any) -> None:
    done = pipe(TEXT)
    assert (done.exit_code, done.stdout, done.stderr) == (0, CLEANED, "")


def test_every_byte_that_is_not_edited_stays(pipe: Any) -> None:
    given = "\ufeffa\r\nb\tc 🙂\x0b  \r\nno newline at the end".encode()
    done = pipe(given, "-")
    assert done.stdout_bytes == given


def test_a_file_is_written_whole(run: Any, text_file: Path, tmp_path: Path) -> None:
    done = run("anonymize", text_file, "-o", tmp_path / "out.txt")
    assert (done.exit_code, done.stdout) == (0, "")
    assert (tmp_path / "out.txt").read_text() == CLEANED


def test_what_is_withheld_is_not_written_and_why_is_said(run: Any, tmp_path: Path) -> None:
    source, output = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text(f"stuck in {SECRET}")
    output.write_text("from an earlier run")
    done = run("anonymize", source, "-o", output, "--force")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == ("withheld: budget exhausted (a leak is left open); nothing is written\n")
    assert not output.exists()


def test_json_holds_the_text_only_if_it_is_releasable(pipe: Any) -> None:
    done = pipe(TEXT, "--json")
    said = json.loads(done.stdout)
    assert (said["text"], said["status"]) == (CLEANED, "anonymized")
    assert said["edits"][0]["after"] == "Portugal"
    done = pipe(f"stuck in {SECRET}", "--json")
    assert done.exit_code == 1
    said = json.loads(done.stdout)
    assert (said["status"], said["reason"]) == ("budget_exhausted", "a leak is left open")
    assert "text" not in said
    assert SECRET not in done.output


def test_an_output_that_exists_is_kept_without_force(
    run: Any, text_file: Path, tmp_path: Path, fake: Fake
) -> None:
    output = tmp_path / "out.txt"
    output.write_text("mine")
    for path, said in (
        (output, "pass --force"), (tmp_path, "is a directory"),
        (tmp_path / "nowhere" / "out", "nowhere is not a directory"),
    ):  # fmt: skip
        done = run("anonymize", text_file, "-o", path)
        assert done.exit_code == 2
        assert said in done.stderr
    assert output.read_text() == "mine"
    assert not fake.texts
    assert run("anonymize", text_file, "-o", output, "--force").exit_code == 0
    assert output.read_text() == CLEANED


def test_what_is_not_utf8_is_a_usage_error_that_quotes_nothing(pipe: Any) -> None:
    done = pipe(b"Porto \xff")
    assert (done.exit_code, done.stderr) == (
        2,
        "error: stdin: byte 6 is not UTF-8; convert the text\n",
    )


def test_a_result_that_does_not_add_up_is_never_written(
    run: Any, pipe: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Fake, "run", lambda _, text: Result(Status.ANONYMIZED, f"{text} Really."))
    output = tmp_path / "out.jsonl"
    for done in (
        pipe(TEXT),
        pipe(TEXT, "--json"),
        run("anonymize", lines_file(tmp_path, *LINES), "-o", output),
    ):
        assert (done.exit_code, done.stdout) == (3, "")
        assert SECRET not in done.stderr
    assert output.read_bytes() == b""


def test_an_output_outlives_a_disk_that_is_full_and_a_fault_of_ours(
    run: Any, text_file: Path, tmp_path: Path, full_disk: Any
) -> None:
    output, broken = tmp_path / "out.txt", tmp_path / "broken.txt"
    output.write_text("mine")
    broken.write_text(f"boom {SECRET}")
    with full_disk(4):
        done = run("anonymize", text_file, "-o", output, "--force")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == (
        f"error: {output}: cannot be written (File too large); nothing there has changed\n"
    )
    assert run("anonymize", broken, "-o", output, "--force").exit_code == 3
    assert output.read_text() == "mine"
    assert {path.name for path in tmp_path.iterdir()} == {"in.txt", "out.txt", "broken.txt"}


def test_a_device_that_takes_nothing_is_a_usage_error(run: Any, text_file: Path) -> None:
    done = run("anonymize", text_file, "-o", "/dev/full", "--force")
    assert done.exit_code == 2
    assert "/dev/full: cannot be written (No space left on device)" in done.stderr
    assert run("anonymize", text_file, "-o", "/dev/null", "--force").exit_code == 0
