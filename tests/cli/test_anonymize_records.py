from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.anonymized import LINES, SECRET, Fake, lines_file

pytestmark = pytest.mark.usefixtures("fake")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"id": 1', "is not JSON"),
        ('["Porto"]', "is not an object"),
        (b'{"id": 1, "text": "Porto \xff"}', "is not JSON in UTF-8"),
        (b'{"id": 1, "text": "Porto \xed\xa0\x80"}', "is not JSON in UTF-8"),
        ('{"id": 1, "text": "Porto"}'.encode("utf-16-le"), "is not JSON in UTF-8"),
        ("[" * 100_000, "is not JSON"),
        ('{"id": 1, "text": "a", "text": "Porto"}', "an object holds a key twice"),
        ('{"id": 1, "text": "a", "x": {"Porto": 1, "Porto": 2}}', "an object holds a key twice"),
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
    run: Any, tmp_path: Path, fake: Fake, line: str | bytes, message: str
) -> None:
    source = lines_file(tmp_path, LINES[0])
    line = line if isinstance(line, bytes) else line.encode()
    source.write_bytes(source.read_bytes() + line + b"\n")
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


def test_a_byte_order_mark_and_line_ends_of_windows_are_no_part_of_a_text(pipe: Any) -> None:
    done = pipe(
        '\ufeff{"text": "Fine.\\r\\n"}\r\n\r\n{"text": ""}\r\n'.encode(), "--input", "jsonl"
    )
    assert done.exit_code == 0
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(line["id"], line["text"]) for line in lines] == [(1, "Fine.\r\n"), (3, "")]
