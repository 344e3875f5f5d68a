from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dynaserve.cli import anonymize_trace, anonymizing, app
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
from dynaserve.serving.settings import AnonymizationSettings

SECRET = "Porto"
TEXT = f"I live in {SECRET}.\nIt rains.\n"
CLEANED = "I live in Portugal.\nIt rains.\n"


def result_of(text: str) -> Result:
    """Replace the city, withhold what says "stuck", and leave all else as it is."""
    if "boom" in text:
        raise RuntimeError(text)
    at = text.find(SECRET)
    spans = (Span(at, at + len(SECRET)),) if at >= 0 else ()
    judged = Judgement(
        Leak("location", "Portugal", SECRET, 5), Level.HIGH, f"says {SECRET}", 0.9, spans
    )
    if "stuck" in text:
        rounds = (Round((judged,), text=text),)
        return Result(Status.BUDGET_EXHAUSTED, None, rounds, (judged,), "a leak is left open")
    if at < 0:
        return Result(Status.CLEAN, text, (Round((), text=text),))
    edit = Edit(spans[0], SECRET, "Portugal", "location")
    after = text.replace(SECRET, "Portugal")
    first = Round((judged,), (edit,), after, mpg=0.5, muc=0.1, mrs=float("inf"))
    return Result(Status.ANONYMIZED, after, (first, Round((), text=after)), edits=(edit,))


class Fake:
    """Stands for the anonymizer, and remembers how it was made and asked."""

    def __init__(self) -> None:
        self.settings: list[AnonymizationSettings] = []
        self.texts: list[str] = []

    def make(self, settings: AnonymizationSettings) -> dict[str, Fake]:
        self.settings.append(settings)
        return {"edit": self, "rewrite": self}

    def run(self, text: str, *, attributes: Sequence[str] | None = None) -> Result:
        assert attributes is None
        self.texts.append(text)
        return result_of(text)


@pytest.fixture(autouse=True)
def fake(monkeypatch: pytest.MonkeyPatch) -> Fake:
    fake = Fake()
    monkeypatch.setattr(anonymizing, "make_anonymizers", fake.make)
    return fake


@pytest.fixture
def pipe() -> Callable[..., Any]:
    return lambda given, *arguments: CliRunner().invoke(
        app, ["anonymize", *map(str, arguments)], input=given
    )


@pytest.fixture
def text_file(tmp_path: Path) -> Path:
    path = tmp_path / "in.txt"
    path.write_text(TEXT)
    return path


def lines_file(tmp_path: Path, *documents: Any) -> Path:
    path = tmp_path / "in.jsonl"
    path.write_text("".join(f"{json.dumps(each)}\n" for each in documents))
    return path


def read_lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


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
    done = run("anonymize", text_file, "-o", output)
    assert done.exit_code == 2
    assert "pass --force" in done.stderr
    assert output.read_text() == "mine"
    assert not fake.texts
    assert run("anonymize", text_file, "-o", output, "--force").exit_code == 0
    assert output.read_text() == CLEANED


def test_the_input_is_not_written_to(run: Any, text_file: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.txt"
    link.symlink_to(text_file)
    for arguments in (["-o", text_file], ["-o", link, "--force"], ["--trace", link]):
        done = run("anonymize", text_file, *arguments)
        assert done.exit_code == 2
        assert "is named twice" in done.stderr
    assert text_file.read_text() == TEXT


@pytest.mark.parametrize("given", ["", " \n\t\n"])
def test_an_empty_input_is_nothing_to_do(pipe: Any, given: str, fake: Fake) -> None:
    for arguments in ((), ("--input", "jsonl")):
        done = pipe(given, *arguments)
        assert (done.exit_code, done.stdout) == (5, "")
        assert done.stderr == "nothing to do: the input is empty\n"
    assert not fake.texts


def test_what_is_not_utf8_is_a_usage_error_that_quotes_nothing(pipe: Any) -> None:
    done = pipe(b"Porto \xff")
    assert (done.exit_code, done.stderr) == (
        2,
        "error: stdin: byte 6 is not UTF-8; convert the text\n",
    )


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


def test_options_reach_the_anonymizer(pipe: Any, fake: Fake) -> None:
    done = pipe(
        TEXT, "--mode", "rewrite", "--model", "m.gguf", "--attributes", "age, sex",
        "--actionable", "high", "--lambda", "0.5", "--max-rounds", "7", "--seed", "3",
        "--context", "8192",
    )  # fmt: skip
    assert done.exit_code == 0
    assert fake.settings == [
        AnonymizationSettings(
            model="m.gguf",
            mode="rewrite",
            attributes=("age", "sex"),
            actionable="high",
            max_mrs=0.5,
            max_rounds=7,
            seed=3,
            context=8192,
        )
    ]


@pytest.mark.parametrize("names", ["age,shoes", ",", "identifier"])
def test_an_attribute_that_is_none_is_a_usage_error(pipe: Any, names: str) -> None:
    done = pipe(TEXT, "--attributes", names)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "name some of age, sex," in done.stderr


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


LINES = (
    {"id": "a", "text": f"I live in {SECRET}.", "user": "jo.brandt"},
    {"id": "b", "text": f"stuck in {SECRET}"},
    {"id": 3, "text": "Nice weather."},
)


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


def test_a_second_run_goes_on_where_a_crash_left_off(run: Any, tmp_path: Path, fake: Fake) -> None:
    source, output = lines_file(tmp_path, *LINES), tmp_path / "out.jsonl"
    run("anonymize", source, "-o", output)
    whole = output.read_bytes()
    first = whole.index(b"\n")
    for kept in (0, 1, first, first + 1, first + 2, len(whole) - 1, len(whole)):
        output.write_bytes(whole[:kept])
        fake.texts.clear()
        done = run("anonymize", source, "-o", output, "--json")
        assert done.exit_code == 1
        assert output.read_bytes() == whole
        complete = whole[:kept].count(b"\n")
        assert fake.texts == [each["text"] for each in LINES[complete:]]
        totals = json.loads(done.stdout)
        assert (totals["texts"], totals["done_before"], totals["withheld"]) == (3, complete, 1)


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


@pytest.mark.parametrize(
    "changed",
    [
        ["--seed", "1"], ["--lambda", "3"], ["--attributes", "age"], ["--actionable", "high"],
        ["--max-rounds", "1"], ["--model", "other.gguf"], ["--consistent", "key"],
    ],
)  # fmt: skip
def test_a_changed_configuration_is_refused_and_changes_nothing(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    source, output = lines_file(tmp_path, *LINES), tmp_path / "out.jsonl"
    run("anonymize", source, "-o", output)
    written = output.read_bytes() + b'{"half'
    output.write_bytes(written)
    done = run("anonymize", source, "-o", output, *changed)
    assert done.exit_code == 2
    assert "line 1: was made with other options" in done.stderr
    assert output.read_bytes() == written
    assert run("anonymize", source, "-o", output, *changed, "--force").exit_code == 1
    assert len(read_lines(output)) == 3
    assert run("anonymize", source, "-o", output, *changed).exit_code == 1


def test_another_key_or_another_model_file_is_another_configuration(
    run: Any, tmp_path: Path
) -> None:
    source, output = lines_file(tmp_path, *LINES), tmp_path / "out.jsonl"
    key, model = tmp_path / "key", tmp_path / "model.gguf"
    model.write_bytes(b"a model")
    arguments = ("anonymize", source, "-o", output, "--consistent", key, "--model", model)
    assert run(*arguments).exit_code == 1
    assert run(*arguments).exit_code == 1
    model.write_bytes(b"another model")
    assert run(*arguments).exit_code == 2
    assert run(*arguments, "--force").exit_code == 1
    key.unlink()
    assert run(*arguments).exit_code == 2


def test_a_file_of_somebody_else_is_not_gone_on_with(run: Any, tmp_path: Path) -> None:
    source, output = lines_file(tmp_path, *LINES), tmp_path / "out.jsonl"
    for content in (
        '{"id": "a", "text": "x"}\n',
        "notes\n",
        '{"id": ["a"], "status": 1, "config": 2, "digest": 3}\n',
    ):
        output.write_text(content)
        done = run("anonymize", source, "-o", output)
        assert done.exit_code == 2
        assert "line 1" in done.stderr
        assert output.read_text() == content


@pytest.mark.parametrize(
    "content",
    ["a thesis without a newline", '{"id": "a", "text": "x"}', '{"config": 1}', "{ ", "\ufeff"],
)
def test_a_file_of_somebody_else_without_a_newline_stays_as_it_is(
    run: Any, tmp_path: Path, fake: Fake, content: str
) -> None:
    source, output = lines_file(tmp_path, *LINES), tmp_path / "out.jsonl"
    output.write_text(content)
    done = run("anonymize", source, "-o", output)
    assert done.exit_code == 2
    assert "was not written by this command" in done.stderr
    assert output.read_text() == content
    assert not fake.texts
    assert run("anonymize", source, "-o", output, "--force").exit_code == 1
    assert len(read_lines(output)) == 3


def test_what_somebody_else_appended_is_not_cut_off(run: Any, tmp_path: Path) -> None:
    source, output = lines_file(tmp_path, *LINES), tmp_path / "out.jsonl"
    run("anonymize", source, "-o", output)
    with output.open("a") as file:
        file.write("a note")
    written = output.read_bytes()
    done = run("anonymize", source, "-o", output)
    assert (done.exit_code, output.read_bytes()) == (2, written)


@pytest.mark.parametrize("identified", [True, False])
def test_a_text_that_changed_is_not_taken_for_done(
    run: Any, tmp_path: Path, fake: Fake, *, identified: bool
) -> None:
    documents = [{"text": "I live in Porto."}, {"text": "Nice weather."}]
    if identified:
        documents = [{"id": f"n{at}", **each} for at, each in enumerate(documents, 1)]
    source, output = lines_file(tmp_path, *documents), tmp_path / "out.jsonl"
    run("anonymize", source, "-o", output)
    written = output.read_bytes()
    fake.texts.clear()
    source = lines_file(tmp_path, {**documents[0], "text": "I live in Faro."}, documents[1])
    done = run("anonymize", source, "-o", output)
    assert done.exit_code == 2
    assert f"the text with id {'n1' if identified else 1!r} is another one" in done.stderr
    assert "Faro" not in done.output
    assert (output.read_bytes(), fake.texts) == (written, [])


def test_a_line_put_in_between_is_not_taken_for_the_one_that_was_there(
    run: Any, tmp_path: Path
) -> None:
    source, output = lines_file(tmp_path, {"text": "One."}, {"text": "Two."}), tmp_path / "out"
    assert run("anonymize", source, "-o", output).exit_code == 0
    source = lines_file(tmp_path, {"text": "Zero."}, {"text": "One."}, {"text": "Two."})
    assert run("anonymize", source, "-o", output).exit_code == 2


def test_the_digest_of_a_text_is_keyed_and_names_no_text(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Equal texts have different ones, and another machine's key other ones still."""
    source = lines_file(tmp_path, {"text": "Same."}, {"text": "Same."})
    found = []
    for state in ("a", "b", "a"):
        monkeypatch.setenv("DYNASERVE_STATE_DIR", str(tmp_path / state))
        output = tmp_path / f"out{len(found)}.jsonl"
        run("anonymize", source, "-o", output)
        found.append([line["digest"] for line in read_lines(output)])
    assert found[0] == found[2]
    assert len({*found[0], *found[1]}) == 4
    assert (tmp_path / "a" / "anonymize.key").stat().st_mode & 0o777 == 0o600
    monkeypatch.setenv("DYNASERVE_STATE_DIR", str(tmp_path / "b"))
    done = run("anonymize", source, "-o", tmp_path / "out0.jsonl")
    assert done.exit_code == 2
    assert "the key in the state directory" in done.stderr


def test_lines_for_standard_output_need_no_state_directory(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DYNASERVE_STATE_DIR", str(tmp_path / "file" / "state"))
    assert run("anonymize", lines_file(tmp_path, LINES[2])).exit_code == 0


def test_two_runs_do_not_write_to_one_file(run: Any, tmp_path: Path) -> None:
    source, output = lines_file(tmp_path, *LINES), tmp_path / "out.jsonl"
    with output.open("ab") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        done = run("anonymize", source, "-o", output)
    assert done.exit_code == 2
    assert "another run writes to it" in done.stderr


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"id": 1', "is not JSON"),
        ('["Porto"]', "is not an object"),
        ('{"id": 1}', 'has no string "text"; name its field with --field'),
        ('{"id": 1, "text": 5}', 'has no string "text"'),
        ('{"id": [1], "text": "Porto"}', 'its "id" is neither a string nor a whole number'),
        ('{"id": true, "text": "Porto"}', 'its "id" is neither a string nor'),
        ('{"id": "a", "text": "Porto"}', "has the id of line 1"),
        ('{"id": 1, "text": "Porto \\ud800"}', "holds half a character"),
        ('{"id": "\\ud800", "text": "Porto"}', "holds half a character"),
    ],
)
def test_a_bad_line_is_named_before_anything_is_done(
    run: Any, tmp_path: Path, fake: Fake, line: str, message: str
) -> None:
    source = lines_file(tmp_path, LINES[0])
    source.write_text(f"{source.read_text()}{line}\n")
    done = run("anonymize", source)
    assert done.exit_code == 2
    assert f"in.jsonl, line 2: {message}" in done.stderr
    assert SECRET not in done.output
    assert not fake.texts


@pytest.mark.parametrize(
    "names", [("status", "id"), ("text", "config"), ("digest", "id"), ("x", "x")]
)
def test_names_that_the_output_needs_itself_are_refused(
    run: Any, tmp_path: Path, names: tuple[str, str]
) -> None:
    source = lines_file(tmp_path, *LINES)
    done = run("anonymize", source, "--field", names[0], "--id", names[1])
    assert done.exit_code == 2
    assert "--field and --id must differ" in done.stderr


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
