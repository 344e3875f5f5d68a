from __future__ import annotations

import fcntl
import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from dynaserve.cli import anonymizing
from tests.cli.anonymized import LINES, Fake, lines_file, read_lines

pytestmark = pytest.mark.usefixtures("fake")


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


@pytest.mark.parametrize(
    "changed",
    [
        ["--seed", "1"], ["--lambda", "3"], ["--attributes", "age"], ["--actionable", "high"],
        ["--max-rounds", "1"], ["--grades", "generate"], ["--attack-tokens", "9"],
        ["--model", "other.gguf"], ["--consistent", "key"],
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


def test_a_run_that_cannot_begin_clears_nothing_away(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> None:
        raise OSError("model: cannot be loaded")

    source, output, trace = lines_file(tmp_path, *LINES), tmp_path / "out", tmp_path / "trace"
    output.write_text("hours of work\n")
    trace.write_text("mine\n")
    monkeypatch.setattr(anonymizing, "make_anonymizers", fail)
    done = run("anonymize", source, "-o", output, "--trace", trace, "--force")
    assert (done.exit_code, done.stderr) == (2, "error: model: cannot be loaded\n")
    assert (output.read_text(), trace.read_text()) == ("hours of work\n", "mine\n")


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


def test_two_runs_do_not_write_to_one_file(run: Any, tmp_path: Path) -> None:
    source, output = lines_file(tmp_path, *LINES), tmp_path / "out.jsonl"
    with output.open("ab") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        done = run("anonymize", source, "-o", output)
    assert done.exit_code == 2
    assert "another run writes to it" in done.stderr


def test_a_disk_that_gets_full_keeps_whole_lines_and_the_same_command_goes_on(
    run: Any, tmp_path: Path, fake: Fake, full_disk: Any
) -> None:
    source, output = lines_file(tmp_path, *LINES), tmp_path / "out.jsonl"
    run("anonymize", source, "-o", output)
    whole = output.read_bytes()
    first = whole.index(b"\n") + 1
    output.unlink()
    with full_disk(first + 10):
        done = run("anonymize", source, "-o", output)
    assert done.exit_code == 2
    assert f"{output}: cannot be written (File too large); what is done is kept" in done.stderr
    assert output.read_bytes() == whole[: first + 10]
    fake.texts.clear()
    assert run("anonymize", source, "-o", output).exit_code == 1
    assert output.read_bytes() == whole
    assert fake.texts == [each["text"] for each in LINES[1:]]


def test_what_is_no_plain_file_is_written_to_and_not_read(run: Any, tmp_path: Path) -> None:
    """/dev/full is one that never ends for whoever reads it."""
    source, through = lines_file(tmp_path, *LINES), tmp_path / "pipe"
    done = run("anonymize", source, "-o", "/dev/full")
    assert done.exit_code == 2
    assert "/dev/full: cannot be written (No space left on device)" in done.stderr
    assert run("anonymize", source, "-o", "/dev/null").exit_code == 1
    os.mkfifo(through)
    with ThreadPoolExecutor(1) as reader:
        read = reader.submit(read_lines, through)
        assert run("anonymize", source, "-o", through).exit_code == 1
        assert [line["id"] for line in read.result(20)] == ["a", "b", 3]
