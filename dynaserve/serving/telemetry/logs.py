"""Log lines for machines: one JSON object each, on standard error.

A line of a request says what its `Visit` knows. Lines of other code keep their message; of an
exception they keep the type and the lines of code it passed through. Its own message is left out
unless it is of a kind that quotes nothing, because numerical libraries quote the arrays they choke
on.
"""

from __future__ import annotations

import logging
import sys
import threading
import traceback
from collections.abc import Iterator
from datetime import datetime, timezone
from types import TracebackType
from typing import Any

import orjson

from dynaserve.serving.failures import FailedError
from dynaserve.serving.refused import RefusedError
from dynaserve.serving.settings import SettingsError
from dynaserve.serving.visit import Visit

QUOTES_NOTHING = (FailedError, RefusedError, SettingsError)
"""Exceptions whose messages are made for the log."""
WITHHELD = "its message is withheld"

OPTIONS = orjson.OPT_UTC_Z | orjson.OPT_APPEND_NEWLINE
LOCK = threading.RLock()
"""Whatever is collected as garbage while a line is written may have to say something."""


def write_line(level: str, event: str, fields: dict[str, Any]) -> None:
    """Write one line; a log that cannot be written fails no request."""
    line = {"time": datetime.now(timezone.utc), "level": level, "event": event, **fields}
    text = orjson.dumps(line, option=OPTIONS).decode()
    try:
        with LOCK:
            sys.stderr.write(text)
            sys.stderr.flush()
    except (OSError, ValueError, RuntimeError):  # full, closed, in the middle of another line
        pass


def write_request(visit: Visit, method: str, seconds: float, trace_id: str | None) -> None:
    """Write the line of a request that ended after ``seconds``.

    Parameters
    ----------
    visit : Visit
        What is known of it.
    method : str
        Of HTTP, one of those that there are.
    seconds : float
        In all.
    trace_id : str or None
        Of its span, where there is one.
    """
    fields = {
        "request_id": visit.id,
        "endpoint": visit.endpoint,
        "method": method,
        "status": visit.status,
        "refused": visit.refused,
        "client": visit.client,
        "rows": visit.rows,
        "total_ms": milliseconds(seconds),
        "queue_ms": milliseconds(visit.queue),
        "model_ms": milliseconds(visit.model),
        "defense_ms": milliseconds(visit.defense),
    }
    if trace_id is not None:
        fields["trace_id"] = trace_id
    level = "info" if visit.status < 400 else "warning" if visit.status < 500 else "error"
    write_line(level, "request", fields)


def milliseconds(seconds: float) -> float:
    """Return milliseconds to the microsecond."""
    return round(seconds * 1e3, 3)


class JsonHandler(logging.Handler):
    """Writes the records of any logger as lines."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record; of one that cannot be written, where it comes from."""
        try:
            write_line(record.levelname.lower(), "log", fields_of(record))
        except Exception as error:  # the library would print the message and its arguments
            place = f"{record.pathname}, line {record.lineno}"
            message = f"a record could not be written ({place}): {named(error)}"
            write_line("error", "log", {"logger": record.name, "message": encodable(message)})


def fields_of(record: logging.LogRecord) -> dict[str, Any]:
    """Return what a line says of a record."""
    message = record.getMessage()
    if record.name == "asyncio":
        # Further lines show the task, and with it the message of the exception it ended with.
        message = message.partition("\n")[0]
    fields: dict[str, Any] = {"logger": record.name, "message": encodable(message)}
    if record.exc_info and record.exc_info[1] is not None:
        chain = list(chain_of(record.exc_info[1]))
        fields["exception"] = named(chain[-1])
        fields["traceback"] = encodable("\n".join(map(trail, chain)))
    return fields


def encodable(text: str) -> str:
    """Return a text that JSON can hold: half a surrogate pair is escaped."""
    return text.encode("utf-8", "backslashreplace").decode()


def chain_of(error: BaseException) -> Iterator[BaseException]:
    """Yield what led to an exception, first things first, as Python prints it."""
    seen = {id(error)}
    chain = [error]
    while (before := error.__cause__ or error.__context__) and id(before) not in seen:
        if error.__cause__ is None and error.__suppress_context__:
            break
        seen.add(id(before))
        chain.append(before)
        error = before
    yield from reversed(chain)


def named(error: BaseException) -> str:
    """Return the type of an exception as code names it."""
    kind = type(error)
    return f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")


def trail(error: BaseException) -> str:
    """Return the lines of code that an exception passed through, and what may be said of it."""
    said = str(error) if isinstance(error, QUOTES_NOTHING) else WITHHELD
    return "".join(traceback.format_tb(error.__traceback__)) + f"{named(error)}: {said}"


def configure_logs(logs: str) -> None:
    """Turn all that this process logs into lines of JSON, if ``logs`` is ``"json"``.

    To be called in every process, after BentoML has set up its own log. Levels stay, and so do
    handlers that write to files. Warnings and exceptions that nobody caught become lines too.
    """
    if logs != "json":
        return
    for name in ("", *logging.root.manager.loggerDict):
        logger = logging.getLogger(name)
        printing = [handler for handler in logger.handlers if prints(handler)]
        for handler in printing:
            logger.removeHandler(handler)
        if printing and not logger.handlers:
            logger.propagate = True
    logging.root.addHandler(JsonHandler())
    logging.captureWarnings(True)
    sys.excepthook = uncaught
    threading.excepthook = lambda args: uncaught(args.exc_type, args.exc_value, args.exc_traceback)
    sys.unraisablehook = ignored


def prints(handler: logging.Handler) -> bool:
    """Whether a handler writes for people to the terminal, or is one of ours."""
    stream = isinstance(handler, logging.StreamHandler) and not isinstance(
        handler, logging.FileHandler
    )
    return stream or isinstance(handler, JsonHandler)


def uncaught(
    kind: type[BaseException], error: BaseException | None, trace: TracebackType | None
) -> None:
    """Log an exception that ends a process or a thread."""
    if error is None or issubclass(kind, (KeyboardInterrupt, SystemExit)):
        return
    logging.getLogger("dynaserve").critical("uncaught exception", exc_info=(kind, error, trace))


def ignored(args: sys.UnraisableHookArgs) -> None:
    """Log an exception that had nobody to go to, such as one of a destructor.

    Python would show the object that it comes from, and its message.
    """
    error = args.exc_value
    trace = None if error is None else (args.exc_type, error, args.exc_traceback)
    logging.getLogger("dynaserve").error("ignored exception", exc_info=trace)
