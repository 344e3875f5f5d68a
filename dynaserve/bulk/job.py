"""One unit of work in a worker process: read, worked on, written whole.

A job travels to workers in Dask's task graph, which schedulers log and dashboards show: it says
how the work is done and holds no secret. Each worker makes what it works with, once, and finds
secrets where it is itself told to: in its environment or in a file.
"""

from __future__ import annotations

import json
import socket
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, TypeVar

from dynaserve._version import __version__
from dynaserve.bulk.errors import InputError, StoppedError, UnforeseenError
from dynaserve.bulk.ids import Hashes, hashes_of
from dynaserve.bulk.output import Output
from dynaserve.bulk.reading import close
from dynaserve.bulk.shards import Unit

_T = TypeVar("_T")


@dataclass(frozen=True)
class Reject:
    """A row that has no place in the output.

    Attributes
    ----------
    id
        Its id, if it has one.
    place
        Where it stands: its file and its number there, from 1 on.
    status
        ``invalid`` if the row is not what it should be, else how the work on it ended.
    reason
        Why, in words that quote nothing of the row.
    text
        What it says, only if that was asked for.
    """

    id: str | int | None
    place: str
    status: str
    reason: str
    text: str | None = field(default=None, repr=False)

    def line(self) -> bytes:
        """Return it as a line of JSON."""
        told = {"id": self.id, "place": self.place, "status": self.status, "reason": self.reason}
        if self.text is not None:
            told["text"] = self.text
        return json.dumps(told).encode() + b"\n"


@dataclass(frozen=True)
class Done:
    """What came of a unit.

    Attributes
    ----------
    content
        The output file.
    rows
        How many rows were read; those of ``rejects`` are not in ``content``.
    """

    content: bytes = field(repr=False)
    rows: int
    rejects: tuple[Reject, ...] = ()


Work = Callable[[Unit, int], Done]
"""Works on a unit; the number is how many rows of its file come before it."""


class Job(Protocol):
    """What is done with rows: hashable, to be pickled, and without secrets."""

    @property
    def command(self) -> str:
        """What the work is called."""
        ...

    @property
    def suffix(self) -> str:
        """What names of output files end with."""
        ...

    def __hash__(self) -> int:
        """Return the same for jobs that a worker makes the same things for."""
        ...

    def configuration(self) -> Mapping[str, Any]:
        """Return all that the output depends on beside its input, JSON-able; of keys a hash."""
        ...

    def ids(self, unit: Unit) -> Iterator[Sequence[Any]]:
        """Yield the ids of the rows of a unit, in pieces; anything but an id for what has none."""
        ...

    def start(self) -> Work:
        """Make what the work is done with; called in a worker.

        Raises
        ------
        StoppedError
            The worker lacks something, such as a key, or has another one.
        ValueError, OSError, ImportError
            Something that it has cannot be used; no row is known yet.
        """
        ...


@dataclass(frozen=True)
class Task:
    """A unit, and where it stands in its run."""

    unit: Unit
    number: int
    first: int
    rows: int


@dataclass(frozen=True)
class Receipt:
    """How many rows of a unit are written, and how many rejected."""

    rows: int
    rejects: int


def place(unit: Unit, first: int, row: int) -> str:
    """Return in words where a row of a unit stands.

    Parameters
    ----------
    first
        How many rows of its file come before the unit.
    row
        Which one of the unit, from 0 on.
    """
    return f"{unit.shard.name}, row {first + row + 1}"


def survey(run: str, job: Job, unit: Unit) -> Hashes:
    """Return the hashes of the ids of a unit, one for each row.

    Raises
    ------
    StoppedError, InputError, OSError
        As `process`.
    """
    return _within(run, unit, partial(_survey, job, unit))


def process(run: str, job: Job, version: str, task: Task, output: Output) -> Receipt:
    """Work on a unit and write what comes of it; a crash leaves it whole or not done.

    Raises
    ------
    StoppedError
        This worker cannot do it, or input or output are no longer what they were.
    InputError
        The input is not what it should be.
    OSError
        Something cannot be read or written.
    """
    return _within(run, task.unit, partial(_process, run, job, version, task, output))


def _survey(job: Job, unit: Unit) -> Hashes:
    unit.shard.require_same()
    hashes = hashes_of([own for piece in job.ids(unit) for own in piece])
    unit.shard.require_same()
    return hashes


def _process(run: str, job: Job, version: str, task: Task, output: Output) -> Receipt:
    if version != __version__:
        raise StoppedError(
            f"a worker has DynaServe {__version__} and this is {version}; install the same one"
        )
    work = _started(run, job)
    task.unit.shard.require_same()
    done = work(task.unit, task.first)
    task.unit.shard.require_same()
    if done.rows != task.rows:
        raise StoppedError(f"{task.unit.shard.name}: has changed since the run began")
    with _writing(run):
        output.put(task.number, done.content, [each.line() for each in done.rejects])
    return Receipt(done.rows, len(done.rejects))


def _within(run: str, unit: Unit, call: Callable[[], _T]) -> _T:
    """Make a call for a run, and let nothing out of it that may quote a row.

    Dask logs what a call raises, and sends it on with all that it came of.
    """
    told: Exception
    try:
        return call()
    except (StoppedError, InputError, OSError) as error:
        told = error
    except Exception as error:
        told = UnforeseenError(f"{unit}: {type(error).__name__} in a worker")
    finally:
        if run in _ended:
            forget(run)
    told.__cause__ = told.__context__ = None
    raise told


_starting = threading.Lock()
_works: dict[str, tuple[Job, Work]] = {}
"""What runs are done with; runs of one job share it."""
_MOST = 2
"""Runs to keep that of: those that were killed tell nobody that they have ended."""
_ended: deque[str] = deque(maxlen=100)
"""Runs that this worker was told of; calls of theirs may still be at work, or begin."""


def _started(run: str, job: Job) -> Work:
    with _starting:
        work = dict(_works.values()).get(job)
        _works.pop(run, None)
        while len(_works) >= _MOST:
            _works.pop(next(iter(_works)), None)  # that of the run which asked longest ago
        work = work or _start(job)
        _works[run] = job, work
        return work


def _start(job: Job) -> Work:
    try:
        return job.start()
    except (ValueError, OSError, ImportError) as error:
        raise StoppedError(f"a worker on {socket.gethostname()}: {error}") from None


_writes = threading.Condition()
_in_hand: Counter[str] = Counter()
"""How many parts each run is writing."""
_PATIENCE = 10.0
"""Seconds that the end of a run waits for parts to be written."""


@contextmanager
def _writing(run: str) -> Iterator[None]:
    """Write for a run, unless it has ended; its end waits for what has begun."""
    with _writes:
        if run in _ended:
            raise StoppedError("the run has ended")
        _in_hand[run] += 1
    try:
        yield
    finally:
        with _writes:
            _in_hand[run] -= 1
            if not _in_hand[run]:
                del _in_hand[run]
            _writes.notify_all()


def forget(run: str) -> None:
    """Let go of what a run is done with, models and keys, and of files that were read.

    Nothing is written for it once this returns, unless a part takes longer than `_PATIENCE`.
    """
    with _writes:
        if run not in _ended:
            _ended.append(run)
        _writes.wait_for(lambda: not _in_hand[run], _PATIENCE)
    _works.pop(run, None)
    close()
