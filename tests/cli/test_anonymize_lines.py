from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dynaserve.rlaa.records import Result, Status
from tests.cli.anonymized import CLEANED, LINES, SECRET, TEXT, Fake, lines_file, read_lines

pytestmark = pytest.mark.usefixtures("fake")


def test_json_lines_come_out_as_json_lines_and_what_is_withheld_without_its_text(
    run: Any, tmp_path: Path
) -> None:
    output = tmp_path / "out.jsonl"
    done = run("anonymize", lines_file(tmp_path, *LINES), "-o", output)
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == "3 texts: 1 anonymized, 1 budget exhausted, 1 clean; 1 withheld\n"
    first, second, third = read_lines(output)
    config = first.pop("config")
    digests = {line.pop("digest") for line in (first, second, third)}
    assert len(digests) == 3
    assert first == {"id": "a", "status": "anonymized", "text": "I live in Portugal."}
    assert second == {
        "id": "b", "status": "budget_exhausted", "reason": "a leak is left open", "config": config,
    }  # fmt: skip
    assert third == {"id": 3, "status": "clean", "text": "Nice weather.", "config": config}
    assert "jo.brandt" not in output.read_text()
    assert SECRET not in output.read_text()


def test_json_lines_go_through_pipes_with_names_of_ones_own(pipe: Any) -> None:
    given = json.dumps({"no": 7, "body": TEXT}) + "\n\n" + json.dumps({"body": "Fine."})
    done = pipe(given, "--input", "jsonl", "--field", "body", "--id", "no")
    assert done.exit_code == 0
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines == [
        {"no": 7, "status": "anonymized", "body": CLEANED},
        {"no": 3, "status": "clean", "body": "Fine."},
    ]
    assert "2 texts" in done.stderr


def test_a_run_with_nothing_left_says_what_the_whole_came_to(run: Any, tmp_path: Path) -> None:
    source, output = lines_file(tmp_path, LINES[0]), tmp_path / "out.jsonl"
    run("anonymize", source, "-o", output)
    done = run("anonymize", source, "-o", output)
    assert (done.exit_code, done.stderr) == (0, "1 texts: 1 done before; 0 withheld\n")


def test_a_run_that_fails_keeps_what_it_did_and_can_go_on(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = lines_file(tmp_path, LINES[0], {"id": "x", "text": f"boom {SECRET}"}, LINES[2])
    output = tmp_path / "out.jsonl"
    done = run("anonymize", source, "-o", output)
    assert done.exit_code == 3
    assert SECRET not in done.output
    assert [line["id"] for line in read_lines(output)] == ["a"]
    monkeypatch.setattr(Fake, "run", lambda _, text: Result(Status.CLEAN, text))
    assert run("anonymize", source, "-o", output).exit_code == 0
    assert [line["id"] for line in read_lines(output)] == ["a", "x", 3]


def test_lines_for_standard_output_need_no_state_directory(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DYNASERVE_STATE_DIR", str(tmp_path / "file" / "state"))
    assert run("anonymize", lines_file(tmp_path, LINES[2])).exit_code == 0
