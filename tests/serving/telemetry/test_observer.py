from __future__ import annotations

import json
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from dynaserve.serving.telemetry import Observer, counts
from dynaserve.serving.visit import Visit

OFF = SimpleNamespace(logs="off", traces=None)


@pytest.fixture(autouse=True)
def no_collector(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ENDPOINT", "TRACES_ENDPOINT"):
        monkeypatch.delenv(f"OTEL_EXPORTER_OTLP_{name}", raising=False)


def observed(observer: Observer, visit: Visit, **scope: Any) -> None:
    observer.begin()
    observer.end({"method": "POST", "headers": [], **scope}, visit, 0.001)


def requests() -> float:
    labels = {"endpoint": "/observed", "status": "200"}
    return counts.REGISTRY.get_sample_value("dynaserve_requests_total", labels) or 0.0


def test_a_request_is_always_counted(capfd: pytest.CaptureFixture[str]) -> None:
    before = requests()
    observer = Observer(OFF, "test")
    observed(observer, Visit(id="a", endpoint="/observed", status=200))
    observer.close()
    assert requests() == before + 1
    assert capfd.readouterr() == ("", "")


def test_a_line_is_written_where_it_is_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    observer = Observer(SimpleNamespace(logs="json", traces=None), "test")
    observed(observer, Visit(id="a", endpoint="/observed", status=200), method="GET")
    line = json.loads(capsys.readouterr().err)
    assert (line["request_id"], line["method"], line["total_ms"]) == ("a", "GET", 1.0)
    assert "trace_id" not in line


def test_what_was_asked_for_is_in_no_line(capsys: pytest.CaptureFixture[str]) -> None:
    observer = Observer(SimpleNamespace(logs="json", traces=None), "test")
    observed(
        observer,
        Visit(id="a", status=404),
        method="SECRET",
        path="/secret",
        raw_path=b"/secret",
        query_string=b"key=secret",
        headers=[(b"authorization", b"secret"), (b"user-agent", b"secret")],
        client=("10.9.8.7", 1234),
    )
    text = capsys.readouterr().err
    assert "secret" not in text.lower()
    assert "10.9.8.7" not in text
    assert json.loads(text)["method"] == "_OTHER"


def test_without_a_collector_nothing_of_opentelemetry_is_loaded() -> None:
    script = """\
import sys
from types import SimpleNamespace
from dynaserve.serving.telemetry import Observer
from dynaserve.serving.visit import Visit
from bentoml.exceptions import BentoMLException
before = {name for name in sys.modules if name.startswith("opentelemetry")}
observer = Observer(SimpleNamespace(logs="off", traces=None), "test")
observer.begin()
observer.end({"method": "GET", "headers": []}, Visit(id="a"), 0.001)
after = {name for name in sys.modules if name.startswith("opentelemetry")}
print(sorted(after - before), observer.spans)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[] None\n"
