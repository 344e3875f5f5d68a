"""A run: survey the input once, then have every unit worked on that is not done.

Workers read and write their units themselves; what goes through the scheduler is which unit, how
many rows came of it, and in the survey a hash of 8 bytes of the id of each row, or the id if it is
a number. Whoever sees that can try ids out.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from dynaserve._version import __version__
from dynaserve.bulk.cluster import Place, connected, require_dask
from dynaserve.bulk.errors import StoppedError
from dynaserve.bulk.fingerprints import Fingerprint, fingerprint
from dynaserve.bulk.ids import Hashes, first_repeated
from dynaserve.bulk.job import Job, Task, forget, place, process, survey
from dynaserve.bulk.output import Ledger, Output, opened
from dynaserve.bulk.scheduling import GOES_ON, Crew, Killed
from dynaserve.bulk.shards import (
    Unit,
    cut,
    find_shards,
    require_unchanged,
    stamps,
)

SURVEY = "survey"
_LOOKS, _PAUSE = 60, 1.0
"""How often to look for what workers wrote, and seconds in between: a network file system shows it
late."""


@dataclass(frozen=True)
class Progress:
    """How far a run is.

    Attributes
    ----------
    step
        What is done now: `SURVEY`, or the job's command.
    done, total
        Units of a survey, else rows; those of earlier runs are among the done.
    before
        Rows that earlier runs have done.
    rejects
        Of this run.
    workers
        How many there are now.
    """

    step: str
    total: int
    done: int = 0
    before: int = 0
    rejects: int = 0
    workers: int = 0


@dataclass(frozen=True)
class Summary:
    """How a run ended.

    Attributes
    ----------
    rows, before
        In all, and of them those that earlier runs had done.
    rejects
        Of all runs.
    """

    rows: int
    before: int
    rejects: int


@dataclass(frozen=True)
class Watch:
    """Who is told how it goes.

    Attributes
    ----------
    begins
        Called with the address of Dask's dashboard.
    goes_on
        Called about once a second, and whenever a unit is done.
    """

    begins: Callable[[str], object] = lambda _: None
    goes_on: Callable[[Progress], object] = lambda _: None


def run(
    job: Job, source: Path, output: Path, where: Place, *, unit_bytes: int, watch: Watch
) -> Summary:
    """Do what is not done of a job.

    Parameters
    ----------
    source
        A file or directory of rows.
    output
        A directory that is empty, new, or holds what an earlier run of the same job has done.
    unit_bytes
        About how much a worker takes at a time: a crash costs what is in hand.

    Raises
    ------
    ValueError, OSError, ImportError
        Input, output or configuration cannot be used.
    StoppedError
        The run cannot go on, or what workers wrote is not there. Nothing half-written is there,
        and a later run goes on with it.
    """
    require_dask()
    require_apart(source, output)
    shards = find_shards(source)
    begun = stamps(shards)
    units = cut(shards, unit_bytes)
    configuration = {**job.configuration(), "unit_bytes": unit_bytes}
    with opened(output, job.suffix) as files:
        prints = fingerprint(shards)
        ledger = _same(files, job.command, configuration, prints)
        done = files.done(len(units))
        if ledger is None or len(done) < len(units):
            with connected(where) as client, _named(client) as name:
                watch.begins(client.dashboard_link)
                work = _Work(job, units, Crew(client, name, lambda _: None), watch)
                if ledger is None:
                    rows = work.survey()
                    ledger = Ledger(job.command, configuration, prints, rows)
                    files.begin(ledger)
                receipts = work.rest(ledger.rows, done, files.of(ledger))
            _require_here(files, receipts)
        require_unchanged(source, begun)
        before = sum(ledger.rows[number] for number in done)
        return Summary(sum(ledger.rows), before, files.gather_rejects(len(units)))


def _require_here(files: Output, receipts: Mapping[int, int]) -> None:
    """Refuse to call done what workers have written elsewhere."""
    lacking = files.lacking(receipts)
    for _ in range(_LOOKS):
        if lacking:
            time.sleep(_PAUSE)
            lacking = files.lacking({number: receipts[number] for number in lacking})
    if lacking:
        files.withdraw(lacking)
        raise StoppedError(
            f"{files.path}: {len(lacking)} of {len(receipts)} parts that workers wrote are not "
            "here; they have to see this directory, not another one, under the same path"
        )


@contextmanager
def _named(client: Any) -> Iterator[str]:
    """Name a run; have its models, keys and open files let go of at its end, however it comes."""
    name = uuid.uuid4().hex[:12]
    try:
        yield name
    finally:
        forget(name)
        with suppress(Exception):  # why it ended matters more
            if client.status == "running":  # else it would wait for a scheduler that has gone
                client.run(forget, name, on_error="ignore")


def require_apart(source: Path, output: Path) -> None:
    """Refuse to write to the input, or inside of it.

    Raises
    ------
    ValueError
        Naming the output.
    """
    one, other = source.resolve(), output.resolve()
    if one == other or one in other.parents:
        raise ValueError(f"{output} is inside of the input; name another directory to write to")


def _same(
    files: Output,
    command: str,
    configuration: Mapping[str, object],
    prints: Sequence[Fingerprint],
) -> Ledger | None:
    """Return the ledger of the run to go on with, None for a new one; refuse any other."""
    ledger = files.ledger()
    try:
        if ledger is not None:
            ledger.require_same(command, configuration, prints)
    except ValueError as error:
        raise ValueError(f"{files.path}: {error}") from None
    return ledger


@dataclass
class _Work:
    """The units of a job."""

    job: Job
    units: Sequence[Unit]
    crew: Crew
    watch: Watch
    _progress: Progress = field(default=Progress(SURVEY, 0), init=False)

    def __post_init__(self) -> None:
        self.crew.tick = lambda workers: self._tell(workers=workers)

    def _tell(self, **changes: Any) -> None:
        self._progress = replace(self._progress, **changes)
        self.watch.goes_on(self._progress)

    def survey(self) -> tuple[int, ...]:
        """Return how many rows each unit has.

        Raises
        ------
        ValueError
            Two rows have the same id.
        """
        self._progress = Progress(SURVEY, len(self.units))
        calls = (
            (number, (survey, self.crew.run, self.job, unit))
            for number, unit in enumerate(self.units)
        )
        found: dict[int, Hashes] = {}
        for number, hashes in self.crew.results(SURVEY, calls):
            if isinstance(hashes, Killed):
                raise self._died([number])
            found[number] = hashes
            self._tell(done=len(found))
        hashes = [found[number] for number in range(len(self.units))]
        rows = tuple(map(len, hashes))
        if repeated := first_repeated(hashes, self._id_at):
            one, other = (self._place(rows, *each) for each in repeated)
            raise ValueError(f"{one} and {other} have the same id; every row needs one of its own")
        return rows

    def _id_at(self, unit: int, row: int) -> object:
        ids = (own for piece in self.job.ids(self.units[unit]) for own in piece)
        return next(islice(ids, row, None))

    def _place(self, rows: Sequence[int], unit: int, row: int) -> str:
        return place(self.units[unit], self._firsts(rows)[unit], row)

    def rest(self, rows: Sequence[int], done: frozenset[int], files: Output) -> dict[int, int]:
        """Have the units worked on that are not done; return how many rejects each has.

        Raises
        ------
        StoppedError
            Some killed every worker that tried; the others are done.
        """
        before = sum(rows[number] for number in done)
        self._progress = Progress(self.job.command, sum(rows), before, before)
        firsts = self._firsts(rows)
        tasks = (
            Task(unit, number, firsts[number], rows[number])
            for number, unit in enumerate(self.units)
            if number not in done
        )
        calls = (
            (task.number, (process, self.crew.run, self.job, __version__, task, files))
            for task in tasks
        )
        deadly: list[int] = []
        receipts: dict[int, int] = {}
        for number, receipt in self.crew.results(self.job.command, calls):
            if isinstance(receipt, Killed):
                deadly.append(number)
                continue
            receipts[number] = receipt.rejects
            self._tell(
                done=self._progress.done + receipt.rows,
                rejects=self._progress.rejects + receipt.rejects,
            )
        if deadly:
            raise self._died(deadly)
        return receipts

    def _firsts(self, rows: Sequence[int]) -> list[int]:
        """Return how many rows of its file come before each unit."""
        firsts: list[int] = []
        for number, unit in enumerate(self.units):
            goes_on = number > 0 and self.units[number - 1].shard == unit.shard
            firsts.append(firsts[-1] + rows[number - 1] if goes_on else 0)
        return firsts

    def _died(self, deadly: Sequence[int]) -> StoppedError:
        return StoppedError(
            f"{self.units[min(deadly)]}: it ended every worker that tried it (units like that: "
            f"{len(deadly)}); give workers more memory, or less at a time with --unit-bytes and "
            f"another directory; {GOES_ON}"
        )
