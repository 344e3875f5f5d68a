from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from dynaserve.cli import anonymize_trace
from dynaserve.rlaa.records import (
    Edit,
    Judgement,
    Leak,
    LedgerEntry,
    Level,
    Result,
    Round,
    Span,
    Status,
)
from tests.cli.anonymized import LINES, SECRET, TEXT, Fake, lines_file, read_lines

pytestmark = pytest.mark.usefixtures("fake")


def test_a_trace_holds_everything_for_its_owner_alone(pipe: Any, tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    done = pipe(TEXT, "--trace", trace)
    assert f"warning: {trace} holds the texts as they were" in " ".join(done.stderr.split())
    assert trace.stat().st_mode & 0o777 == 0o600
    (record,) = read_lines(trace)
    assert record["original"] == TEXT
    assert record["rounds"][0]["judgements"][0]["leak"]["evidence"] == SECRET
    assert record["rounds"][0]["mrs"] == "infinite"
    assert (record["status"], record["releasable"]) == ("anonymized", True)


def test_spans_of_a_trace_count_utf16_units_too(pipe: Any, tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    pipe(f"\U0001f642 {TEXT}", "--trace", trace)
    (record,) = read_lines(trace)
    span = {"start": 12, "end": 17, "utf16_start": 13, "utf16_end": 18}
    first = record["rounds"][0]
    assert first["judgements"][0]["spans"] == [span]
    assert [first["edits"][0]["span"], record["edits"][0]["span"]] == [span, span]


def test_spans_of_a_trace_are_those_of_the_text_before_their_round() -> None:
    """The second round speaks of a text in which what came first is one character shorter."""
    leak, level = Leak("location", "", "b", 5), Level.MED
    first = Round((), (Edit(Span(0, 2), "\U0001f642\U0001f642", "a", "age"),), "ab")
    second = Round((Judgement(leak, level, spans=(Span(1, 2),)),), (), "ab", mrs=float("inf"))
    stays = Judgement(leak, level, spans=(Span(1, 2),))
    edits = (Edit(Span(0, 2), "\U0001f642\U0001f642", "a", "age"),)
    result = Result(Status.STOPPED_RATIONAL, "ab", (first, second), (stays,), "", edits)
    told = json.loads(anonymize_trace.entry("\U0001f642\U0001f642b", "x", result))
    whole = {"start": 0, "end": 2, "utf16_start": 0, "utf16_end": 4}
    last = {"start": 1, "end": 2, "utf16_start": 1, "utf16_end": 2}
    assert told["rounds"][0]["edits"][0]["span"] == told["edits"][0]["span"] == whole
    assert told["rounds"][1]["judgements"][0]["spans"] == told["residual"][0]["spans"] == [last]
    assert told["rounds"][1]["mrs"] == "infinite"


def test_a_share_of_the_ledger_that_is_infinite_is_json_too() -> None:
    edit = Edit(Span(0, 1), "a", "b", "age")
    turn = Round((), (edit,), "b", ledger=(LedgerEntry(edit, 0.0, 0.1, float("inf")),))
    line = anonymize_trace.entry("a", "x", Result(Status.FAILED, None, (turn,)))
    assert json.loads(line, parse_constant=pytest.fail)["rounds"][0]["ledger"][0]["mrs"] == (
        "infinite"
    )


@pytest.mark.parametrize("lines", [False, True])
def test_what_is_where_a_trace_goes_stays_as_it_is_without_force(
    run: Any, text_file: Path, tmp_path: Path, fake: Fake, *, lines: bool
) -> None:
    trace, source = tmp_path / "trace.jsonl", text_file
    arguments = ["-o", tmp_path / "out"]
    if lines:
        source = lines_file(tmp_path, *LINES)
    for content in ("mine", "mine\n", '{"id": 1}\nmine\n'):
        trace.write_text(content)
        trace.chmod(0o644)
        done = run("anonymize", source, *arguments, "--trace", trace)
        assert done.exit_code == 2, done.output
        assert "--force" in done.stderr
        assert (trace.read_text(), trace.stat().st_mode & 0o777) == (content, 0o644)
    assert not fake.texts
    assert run("anonymize", source, *arguments, "--trace", trace, "--force").exit_code == lines
    assert trace.stat().st_mode & 0o777 == 0o600
    assert "mine" not in trace.read_text()
    assert f"I live in {SECRET}." in trace.read_text()


def test_who_has_an_overwritten_trace_open_does_not_read_the_new_one(
    pipe: Any, tmp_path: Path
) -> None:
    trace = tmp_path / "trace.jsonl"
    trace.write_text("old")
    with trace.open() as reader:
        pipe(TEXT, "--trace", trace, "--force")
        assert reader.read() == "old"


@pytest.mark.parametrize("forced", [(), ("--force",)])
def test_a_trace_goes_through_no_link_and_into_no_device(
    pipe: Any, tmp_path: Path, forced: tuple[str, ...]
) -> None:
    theirs, link, pipe_file = tmp_path / "theirs", tmp_path / "link", tmp_path / "pipe"
    theirs.write_text("theirs")
    theirs.chmod(0o644)
    link.symlink_to(theirs)
    os.mkfifo(pipe_file)
    hard = tmp_path / "hard"
    hard.hardlink_to(theirs)
    for path in (link, hard, pipe_file, tmp_path):
        done = pipe(TEXT, "--trace", path, *forced)
        assert (done.exit_code, done.stdout) == (2, "")
        assert "is not a plain file of your own" in done.stderr
    assert (theirs.read_text(), theirs.stat().st_mode & 0o777) == ("theirs", 0o644)
    assert link.is_symlink()


def test_a_trace_that_a_crash_left_unfinished_is_gone_on_with_whole(
    run: Any, tmp_path: Path
) -> None:
    source, output, trace = (
        lines_file(tmp_path, *LINES), tmp_path / "out.jsonl", tmp_path / "trace.jsonl",
    )  # fmt: skip
    arguments = ("anonymize", source, "-o", output, "--trace", trace)
    run(*arguments)
    output.write_bytes(output.read_bytes().splitlines(keepends=True)[0])
    trace.write_bytes(trace.read_bytes()[:-20])
    run(*arguments)
    assert [record["id"] for record in read_lines(trace)] == ["a", "b", "b", 3]


def test_traces_of_lines_are_gone_on_with_too(run: Any, tmp_path: Path) -> None:
    source, output, trace = (
        lines_file(tmp_path, *LINES), tmp_path / "out.jsonl", tmp_path / "trace.jsonl",
    )  # fmt: skip
    arguments = ("anonymize", source, "-o", output, "--trace", trace)
    run(*arguments)
    output.write_bytes(output.read_bytes().splitlines(keepends=True)[0])
    run(*arguments)
    assert [record["id"] for record in read_lines(trace)] == ["a", "b", 3, "b", 3]
    run(*arguments, "--force")
    assert [record["id"] for record in read_lines(trace)] == ["a", "b", 3]


def test_what_cannot_be_traced_does_not_come_out(
    run: Any, pipe: Any, tmp_path: Path, full_disk: Any
) -> None:
    source, output, trace = (
        lines_file(tmp_path, *LINES), tmp_path / "out.jsonl", tmp_path / "trace.jsonl",
    )  # fmt: skip
    with full_disk(100):
        done = pipe(TEXT, "--trace", trace)
        assert (done.exit_code, done.stdout) == (2, "")
        assert f"--trace: {trace}: cannot be written (File too large)" in done.stderr
        trace.unlink()
        done = run("anonymize", source, "-o", output, "--trace", trace)
        assert (done.exit_code, output.read_bytes()) == (2, b"")
    assert run("anonymize", source, "-o", output, "--trace", trace).exit_code == 1
    assert [record["id"] for record in read_lines(trace)] == ["a", "b", 3]
