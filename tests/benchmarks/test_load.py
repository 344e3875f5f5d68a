"""The command: its result, its numbers and its exit code."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import load, load_faults, load_servers, load_steady
from benchmarks.load_wrk import MissingError


@pytest.mark.parametrize(
    ("found", "failed"),
    [
        ({"failed": False}, False),
        ({"failed": True, "seconds": [1.0]}, True),
        ({"JSON 8": {"failed": False}, "JSON 64": {"failed": True}}, True),
        ({"JSON": {"gain": [1.0, 1.0, 1.0]}}, False),
    ],
)
def test_the_exit_code_says_whether_anything_failed(
    found: dict[str, Any], failed: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(load, "ROOT", tmp_path)
    monkeypatch.setattr(load, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(load_faults, "kill", lambda _, *, times: found | {"times": times})
    monkeypatch.setattr(sys, "argv", ["load", "kill", "--times", "3"])
    assert load.main() == int(failed)
    written = json.loads((tmp_path / "results" / "load_kill.json").read_text())
    assert written["found"] == found | {"times": 3}
    assert "cores" in written["machine"]


def test_a_missing_client_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def soak(_: Any, *, seconds: int) -> Any:
        raise MissingError(f"missing: wrk, for {seconds} s")

    monkeypatch.setattr(load_steady, "soak", soak)
    monkeypatch.setattr(sys, "argv", ["load", "soak", "--seconds", "5"])
    assert load.main() == 1
    assert "missing: wrk, for 5 s" in capsys.readouterr().err


def test_both_routes_ask_the_embedded_model_for_one_row() -> None:
    body = json.loads(load_servers.request("JSON").body)
    assert (len(body["inputs"]), len(body["inputs"][0])) == (1, 64)
    assert load_servers.request("binary").path == "/v2/models/digits/infer"
