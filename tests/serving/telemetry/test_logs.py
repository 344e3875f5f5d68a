from __future__ import annotations

import io
import json
import logging
import re
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from bentoml.exceptions import BentoMLException

from dynaserve.serving.failures import FailedError
from dynaserve.serving.refused import RefusedError
from dynaserve.serving.telemetry import logs
from dynaserve.serving.visit import Visit

REQUEST_FIELDS = [
    *("time", "level", "event", "request_id", "endpoint", "method", "status", "refused"),
    *("client", "rows", "total_ms", "queue_ms", "model_ms", "defense_ms"),
]


@pytest.fixture
def lines(capsys: pytest.CaptureFixture[str]) -> Any:
    """Return what has been written so far, parsed."""
    text = io.StringIO()

    def lines() -> list[dict[str, Any]]:
        text.write(capsys.readouterr().err)
        return [json.loads(line) for line in text.getvalue().splitlines()]

    return lines


@pytest.fixture
def logger() -> logging.Logger:
    logger = logging.Logger("some.library")
    logger.addHandler(logs.JsonHandler())
    return logger


def test_a_request_is_one_line_of_what_its_visit_knows(lines: Any) -> None:
    visit = Visit(
        id="abc",
        endpoint="/predict",
        client="key-1",
        rows=3,
        status=200,
        queue=0.0001234567,
        model=0.002,
        defense=0.00001,
    )
    logs.write_request(visit, "POST", 0.0042, None)
    (line,) = lines()
    assert list(line) == REQUEST_FIELDS
    told = datetime.fromisoformat(line.pop("time").replace("Z", "+00:00"))
    assert abs(datetime.now(timezone.utc) - told) < timedelta(minutes=1)
    assert line == {
        "level": "info",
        "event": "request",
        "request_id": "abc",
        "endpoint": "/predict",
        "method": "POST",
        "status": 200,
        "refused": None,
        "client": "key-1",
        "rows": 3,
        "total_ms": 4.2,
        "queue_ms": 0.123,
        "model_ms": 2.0,
        "defense_ms": 0.01,
    }


@pytest.mark.parametrize(
    ("status", "level"), [(200, "info"), (304, "info"), (400, "warning"), (499, "warning")]
)
def test_the_level_follows_from_the_status(lines: Any, status: int, level: str) -> None:
    logs.write_request(Visit(id="", status=status, refused="malformed"), "GET", 0, None)
    logs.write_request(Visit(id="", status=500), "GET", 0, "f" * 32)
    assert [line["level"] for line in lines()] == [level, "error"]
    assert lines()[0]["refused"] == "malformed"
    assert lines()[1]["trace_id"] == "f" * 32


def test_a_log_that_cannot_be_written_fails_no_request(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(io.StringIO):
        def write(self, _: str) -> int:
            raise OSError(28, "No space left on device")

    closed = io.StringIO()
    closed.close()
    for stream in (Full(), closed):
        monkeypatch.setattr(sys, "stderr", stream)
        logs.write_request(Visit(id=""), "GET", 0, None)


def test_a_record_keeps_its_logger_level_and_message(lines: Any, logger: Any) -> None:
    logger.warning("%d things\nand half a pair: %s", 3, "\ud800")
    (line,) = lines()
    assert line.pop("time")
    assert line == {
        "level": "warning",
        "event": "log",
        "logger": "some.library",
        "message": "3 things\nand half a pair: \\ud800",
    }


def fail(error: Exception) -> None:
    raise error


def logged(logger: Any, error: Exception, cause: Exception | None = None) -> None:
    try:
        try:
            fail(cause) if cause else None
        except Exception as before:
            raise error from before
        fail(error)
    except Exception:
        logger.exception("it failed")


def test_a_traceback_tells_where_and_not_what(lines: Any, logger: Any) -> None:
    logged(logger, ValueError("row 0 is [47.11]"), KeyError("4711"))
    (line,) = lines()
    assert line["message"] == "it failed"
    assert line["exception"] == "ValueError"
    assert re.search(r"test_logs\.py.*, in fail", line["traceback"])
    assert "KeyError: its message is withheld" in line["traceback"]
    assert line["traceback"].endswith("ValueError: its message is withheld")
    assert "47" not in json.dumps(line["traceback"]).replace("ValueError", "")


@pytest.mark.parametrize("kind", [FailedError, RefusedError])
def test_messages_made_for_the_log_are_kept(lines: Any, logger: Any, kind: Any) -> None:
    class Both(BentoMLException, kind): ...

    for error in (kind("row 3 is empty"), Both("row 3 is empty")):
        logged(logger, error)
    assert all(line["traceback"].endswith(": row 3 is empty") for line in lines())


def test_a_suppressed_or_circular_context_ends_the_chain(lines: Any, logger: Any) -> None:
    first, second = ValueError("a"), KeyError("b")
    first.__context__, second.__context__ = second, first
    logged(logger, first)
    hidden = ValueError("c")
    hidden.__context__, hidden.__suppress_context__ = KeyError("d"), True
    logged(logger, hidden)
    assert lines()[0]["traceback"].count("withheld") == 2
    assert "KeyError" not in lines()[1]["traceback"]


def test_a_lost_task_does_not_show_its_exception(lines: Any) -> None:
    logger = logging.Logger("asyncio")
    logger.addHandler(logs.JsonHandler())
    logger.error("Task exception was never retrieved\nfuture: <Task exception=ValueError('4711')>")
    assert lines()[0]["message"] == "Task exception was never retrieved"


def test_a_record_that_cannot_be_formatted_says_so_and_not_what(
    lines: Any, logger: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging, "raiseExceptions", True)
    logger.warning("%d of 4711", "4712")
    (line,) = lines()
    assert (line["level"], line["event"], line["logger"]) == ("error", "log", "some.library")
    assert re.fullmatch(
        r"a record could not be written \(.*test_logs\.py, line \d+\): TypeError", line["message"]
    )
    assert "471" not in json.dumps({**line, "time": "", "message": ""})


def test_a_line_within_a_line_is_written_or_dropped_and_never_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Collecting(io.StringIO):
        def write(self, text: str) -> int:
            if "inner" not in text:  # as a destructor that runs right now
                logs.write_line("error", "inner", {})
            return super().write(text)

    monkeypatch.setattr(sys, "stderr", stream := Collecting())
    logs.write_line("info", "outer", {})
    assert [json.loads(line)["event"] for line in stream.getvalue().splitlines()] == [
        "inner",
        "outer",
    ]


# In a process of its own, set up as BentoML sets up a worker.
PROCESS = """\
import logging, sys, threading, warnings
from bentoml._internal.log import configure_server_logging
from dynaserve.serving.telemetry import configure_logs

configure_server_logging()
logging.getLogger("bentoml.serve").addHandler(logging.FileHandler(sys.argv[2]))
configure_logs(sys.argv[1])
configure_logs(sys.argv[1])  # once is enough, twice no harm
logging.getLogger("bentoml.serve").info("service starts")
logging.getLogger("uvicorn.error").warning("bad request")
logging.getLogger("circus").info("not at this level")
logging.getLogger("some.library").error("seen")
warnings.warn("watch out", stacklevel=1)
thread = threading.Thread(target=lambda: int("4711x"))
thread.start()
thread.join()
class Collected:
    def __del__(self):
        raise ValueError("4713")
    def __repr__(self):
        return "4714"
Collected()
raise ValueError("4712")
"""


def run(told: str, file: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PROCESS, told, str(file)],
        capture_output=True,
        text=True,
        check=False,
    )


def test_all_that_a_process_logs_becomes_json(tmp_path: Any) -> None:
    done = run("json", tmp_path / "log")
    assert done.returncode == 1
    assert done.stdout == ""
    found = [json.loads(line) for line in done.stderr.splitlines()]
    assert [(line["logger"], line["level"]) for line in found] == [
        ("bentoml.serve", "info"),
        ("uvicorn.error", "warning"),
        ("some.library", "error"),
        ("py.warnings", "warning"),
        ("dynaserve", "critical"),
        ("dynaserve", "error"),
        ("dynaserve", "critical"),
    ]
    assert "watch out" in found[3]["message"]
    assert {line["exception"] for line in found[4:]} == {"ValueError"}
    assert found[5]["message"] == "ignored exception"
    assert "4713" not in done.stderr.replace('ValueError("4713")', "")
    assert "4714" not in done.stderr
    assert "4711" not in found[4]["traceback"].replace('int("4711x")', "")
    assert "4712" not in done.stderr.replace('ValueError("4712")', "")
    assert (tmp_path / "log").read_text() == "service starts\n"


def test_off_leaves_the_log_as_it_is(tmp_path: Any) -> None:
    done = run("off", tmp_path / "log")
    assert "service starts" in done.stdout
    assert not done.stdout.startswith("{")
    assert "Traceback" in done.stderr


def test_ctrl_c_is_no_exception_to_report(lines: Any) -> None:
    logs.uncaught(KeyboardInterrupt, KeyboardInterrupt(), None)
    logs.uncaught(ValueError, None, None)
    assert lines() == []
