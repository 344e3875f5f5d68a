from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dynaserve.cli.anonymize_writing import appending, require_stdout
from dynaserve.cli.outcome import UsageError

ALONE = """
import typer
from dynaserve.cli.anonymize_writing import to_stdout
from dynaserve.cli.outcome import reporting
typer.run(reporting(lambda: to_stdout(b"all of it")))
"""


def ended(stdout: int, *command: str, given: bytes = b"") -> tuple[int, str]:
    """Run Python with this standard output; return its exit code and what it said."""
    done = subprocess.run(
        [sys.executable, "-c", *command],
        input=given, stdout=stdout, stderr=subprocess.PIPE, check=False,
    )  # fmt: skip
    return done.returncode, done.stderr.decode()


def test_a_standard_output_that_is_full_is_one_line_and_exit_code_2() -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    code, said = ended(full, ALONE)
    os.close(full)
    assert code == 2
    assert said == (
        "error: stdout: cannot be written (No space left on device); "
        "not all of the result has come out\n"
    )


def test_a_pipe_that_nobody_reads_is_one_line_and_what_went_to_a_file_is_there(
    tmp_path: Path,
) -> None:
    read, write = os.pipe()
    os.close(read)
    output = tmp_path / "out.jsonl"
    code, said = ended(
        write, "from dynaserve.cli import main; main()", "anonymize", "--input", "jsonl", "--json",
        "-o", str(output), given=b'{"text": "Nice weather."}\n',
    )  # fmt: skip
    os.close(write)
    assert code == 2
    assert said == (
        "error: stdout: cannot be written (Broken pipe); not all of the result has come out\n"
    )
    assert output.read_bytes().count(b"\n") == 1


def test_a_standard_output_that_is_closed_is_said_before_any_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    require_stdout()
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(UsageError, match="stdout: is closed; name a file with --output"):
        require_stdout()


def test_bytes_are_appended_to_the_last_however_few_are_taken_at_once() -> None:
    class Narrow:
        taken = b""

        def write(self, content: memoryview) -> int:
            self.taken += bytes(content[:3])
            return min(3, len(content))

    file = Narrow()
    append = appending(file, "here", "never mind")  # type: ignore[arg-type]
    append(b"ten bytes.")
    append(b"")
    assert file.taken == b"ten bytes."
