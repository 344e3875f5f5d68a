from __future__ import annotations

import json
import re

import pytest

from dynaserve.canarybench.baseline import Accepted, load_baseline, save_baseline


def test_what_is_written_is_read_and_holds_what_may_be_accepted(report, tmp_path):
    path = tmp_path / "baseline.json"
    assert save_baseline(path, report) == 1
    # c1 is verbatim, c3 fails nothing: only c2 needs and may have an entry.
    assert load_baseline(path) == {Accepted("c2", "aa")}


def test_an_entry_may_say_why(tmp_path):
    path = tmp_path / "baseline.json"
    entry = {"canary": "c2", "cluster": "aa", "reason": "a street that everybody knows"}
    path.write_text(
        json.dumps({"format": "dynaserve-canary-baseline", "version": 1, "accepted": [entry]})
    )
    assert load_baseline(path) == {Accepted("c2", "aa")}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "file: Invalid JSON"),
        ('{"format": "x", "version": 1}', "format: Input should be"),
        ('{"format": "dynaserve-canary-baseline", "version": 1, "accepted": [{}]}', "canary: Fie"),
        ('{"format": "dynaserve-canary-baseline", "version": 1}', "accepted: Field required"),
        (
            '{"format": "dynaserve-canary-baseline", "version": 1, "accepted": '
            '[{"canary": "c", "cluster": "*", "tier": "exact"}]}',
            "tier: Extra inputs",
        ),
    ],
)
def test_a_file_that_is_no_baseline_accepts_nothing(tmp_path, content, message):
    path = tmp_path / "baseline.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=re.escape(message)):
        load_baseline(path)


def test_a_file_that_is_not_there_accepts_nothing(tmp_path):
    with pytest.raises(OSError, match=r"baseline\.json"):
        load_baseline(tmp_path / "baseline.json")
