from __future__ import annotations

import errno
import json
import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from dynaserve.bulk.errors import StoppedError
from dynaserve.bulk.fingerprints import Fingerprint
from dynaserve.bulk.output import Ledger, Output, opened

FILE = Fingerprint("a.jsonl", 10, "00ff")
LEDGER = Ledger("anonymize", {"mode": "edit", "key": "12ab"}, (FILE,), (3, 4))


@pytest.fixture
def output(tmp_path: Path) -> Output:
    return Output(tmp_path, "jsonl")


def test_a_part_is_done_when_it_is_there(output: Output) -> None:
    output.put(3, b"three\n", [])
    output.put(1_000_000, b"million\n", [b"reject\n"])
    (output.path / ".part-000000007.jsonl.00").write_bytes(b"half")
    assert output.done(1_000_001) == {3, 1_000_000}
    assert (output.path / "part-000000003.jsonl").read_bytes() == b"three\n"


def test_rejects_come_together_in_order_for_their_owner_alone(output: Output) -> None:
    assert output.gather_rejects(20) == 0
    assert not (output.path / "_rejects.jsonl").exists()
    output.put(10, b"", [b"c\n"])
    output.put(2, b"", [b"a\n", b"b\n"])
    output.put(3, b"", [])
    assert output.gather_rejects(20) == 3
    rejects = output.path / "_rejects.jsonl"
    assert rejects.read_bytes() == b"a\nb\nc\n"
    assert stat.S_IMODE(rejects.stat().st_mode) == 0o600


def test_rejects_that_find_no_room_leave_nothing_of_themselves(
    output: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    output.put(0, b"", [b"a\n"])

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space"):
            output.gather_rejects(1)
    assert not list(output.path.glob("*_rejects*"))
    assert output.gather_rejects(1) == 1


def test_rejects_go_through_no_link_and_keep_no_wide_mode(output: Output, tmp_path: Path) -> None:
    output.put(0, b"", [b"a\n"])
    mine = tmp_path / "mine"
    mine.write_text("mine")
    mine.chmod(0o644)
    (output.path / "._rejects.jsonl").symlink_to(mine)
    rejects = output.path / "_rejects.jsonl"
    for there in (lambda: rejects.symlink_to(mine), lambda: rejects.write_text("wide")):
        rejects.unlink(missing_ok=True)
        there()
        assert output.gather_rejects(1) == 1
        assert rejects.read_bytes() == b"a\n"
        assert not rejects.is_symlink()
        assert stat.S_IMODE(rejects.stat().st_mode) == 0o600
    assert mine.read_text() == "mine"


def test_what_is_not_here_as_it_was_written_is_told(output: Output) -> None:
    output.put(0, b"", [])
    output.put(1, b"", [b"a\n", b"b\n"])
    output.put(2, b"", [b"c\n"])
    assert output.lacking({0: 0, 1: 2, 2: 1}) == []
    assert output.lacking({0: 1, 1: 1, 2: 0, 3: 0}) == [0, 1, 2, 3]
    output.withdraw([1, 3])
    assert output.done(4) == {0, 2}


def test_a_straggler_of_an_earlier_run_writes_nothing(output: Output) -> None:
    output.begin(LEDGER)
    straggler = output.of(LEDGER)
    straggler.put(0, b"its own\n", [])
    (output.path / "part-000000000.jsonl").unlink()
    other = Ledger(LEDGER.command, LEDGER.configuration, LEDGER.input, LEDGER.rows)
    for change in (lambda: output.begin(other), (output.path / "_ledger.json").unlink):
        change()
        with pytest.raises(StoppedError, match=f"does not find its run in {output.path}: either"):
            straggler.put(0, b"old\n", [b"old\n"])
        assert output.done(1) == frozenset()
        assert output.gather_rejects(1) == 0
    output.begin(other)
    output.of(other).put(0, b"new\n", [])
    assert output.done(1) == {0}


def test_rejects_of_a_part_that_is_not_done_do_not_count(
    output: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    fsync, calls = os.fsync, []

    def full(descriptor: int) -> None:
        calls.append(descriptor)
        if len(calls) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        output.put(0, b"part\n", [b"reject\n"])
    assert output.done(20) == frozenset()
    assert output.lacking({0: 1}) == [0]
    assert [each.name for each in output.path.iterdir()] == [".rejects"]
    output.put(0, b"part\n", [])
    assert output.gather_rejects(20) == 0


def test_the_ledger_comes_back_as_it_was(output: Output) -> None:
    assert output.ledger() is None
    output.begin(LEDGER)
    assert output.ledger() == LEDGER


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{}", b'{"format": "x"}', b'{"format": 1, "a": 2}']
)
def test_a_ledger_of_somebody_else_is_refused(output: Output, content: bytes) -> None:
    (output.path / "_ledger.json").write_bytes(content)
    with pytest.raises(ValueError, match="was not written by this program"):
        output.ledger()


def test_a_directory_with_other_files_is_refused(output: Output) -> None:
    (output.path / "thesis.txt").write_text("mine")
    with pytest.raises(ValueError, match=r"is not empty: holds thesis\.txt"):
        output.ledger()


def refused(**changes: object) -> str:
    now = {"command": "anonymize", "configuration": LEDGER.configuration, "files": [FILE]}
    with pytest.raises(ValueError, match="begun with something else") as raised:
        LEDGER.require_same(**(now | changes))  # type: ignore[arg-type]
    return str(raised.value)


def test_all_that_changed_is_named() -> None:
    LEDGER.require_same("anonymize", {"key": "12ab", "mode": "edit"}, [FILE])
    said = refused(configuration={"mode": "rewrite", "key": "12ab", "seed": 1})
    assert "mode was 'edit' and is 'rewrite'" in said
    assert "seed was None and is 1" in said
    assert "key" not in said
    assert "command was 'anonymize' and is 'defend'" in refused(command="defend")
    assert "a.jsonl has another content" in refused(files=[replace(FILE, digest="00")])
    assert "a.jsonl is gone" in refused(files=[])
    assert "b.jsonl is new" in refused(files=[FILE, replace(FILE, name="b.jsonl")])


def test_another_version_is_another_run() -> None:
    with pytest.raises(ValueError, match=r"version was '0\.0' and is"):
        replace(LEDGER, version="0.0").require_same("anonymize", LEDGER.configuration, [FILE])


def test_one_run_at_a_time_writes_and_what_a_crash_left_is_cleared(tmp_path: Path) -> None:
    path = tmp_path / "new" / "out"
    with opened(path, "jsonl") as output:
        output.begin(LEDGER)
        output.put(0, b"x\n", [b"y\n"])
        with pytest.raises(ValueError, match="another run writes to it"), opened(path, "jsonl"):
            pass
    staged = ".part-000000001.jsonl.0123456789abcdef"
    left = [path / staged, path / ".rejects" / staged]
    left += [path / f".{name}.0123456789abcdef" for name in ("_ledger.json", "_rejects.jsonl")]
    kept = path / ".movie.part-1"
    for each in (*left, kept):
        each.write_bytes(b"half")
    with opened(path, "jsonl") as output:
        assert not any(each.exists() for each in left)
        assert kept.exists()
        assert output.done(1) == {0}
        left[0].write_bytes(b"half")
    assert not left[0].exists()

    def half_of_it() -> None:
        with opened(path, "jsonl"):
            left[0].write_bytes(b"half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        half_of_it()
    assert not left[0].exists()


@pytest.mark.parametrize("name", [".movie.part-1", "part-000000000.jsonl", "_ledger.json"])
def test_nothing_is_touched_in_a_directory_that_is_not_ours(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    with (
        pytest.raises(ValueError, match=r"is not empty|was not written by"),
        opened(tmp_path, "jsonl"),
    ):
        pass
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [(name, "mine")]


def test_what_a_crash_leaves_before_the_ledger_is_there_keeps_nobody_out(tmp_path: Path) -> None:
    (tmp_path / "._ledger.json.0123456789abcdef").write_text("half")
    with opened(tmp_path, "jsonl") as output:
        output.begin(LEDGER)
    with opened(tmp_path, "jsonl"):
        pass
    assert sorted(each.name for each in tmp_path.iterdir()) == [".lock", "_ledger.json"]


@pytest.mark.parametrize(
    "name", ["part-000000002.jsonl", "part-000000001.parquet", "part-1.jsonl", "part-000001.jsonl"]
)
def test_parts_of_something_else_are_refused_by_name(output: Output, name: str) -> None:
    output.put(0, b"", [])
    output.put(1, b"", [])
    assert output.done(2) == {0, 1}
    (output.path / name).write_text("")
    with pytest.raises(ValueError, match=f"{name} is no part of this run"):
        output.done(2)


def test_names_are_in_the_order_of_numbers(output: Output) -> None:
    numbers = [9, 10, 999_999, 1_000_000, 999_999_999]
    for number in numbers:
        output.put(number, str(number).encode(), [])
    parts = sorted(output.path.glob("part-*"))
    assert [int(part.read_bytes()) for part in parts] == numbers


def test_a_file_is_no_directory(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    with pytest.raises(ValueError, match="is a file"), opened(tmp_path / "out", "jsonl"):
        pass


def test_the_ledger_is_small_and_readable(output: Output) -> None:
    output.begin(LEDGER)
    assert stat.S_IMODE((output.path / "_ledger.json").stat().st_mode) == 0o600
    told = json.loads((output.path / "_ledger.json").read_text())
    assert told["input"] == [{"name": "a.jsonl", "size": 10, "digest": "00ff"}]
    assert told["rows"] == [3, 4]
