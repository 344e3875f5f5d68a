"""How commands over large files run and end; imported when they do, since Dask is no base."""

from __future__ import annotations

import errno
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import typer

from dynaserve.bulk.cluster import Place
from dynaserve.bulk.errors import StoppedError, UnforeseenError
from dynaserve.bulk.job import Job
from dynaserve.bulk.output import REJECTS
from dynaserve.bulk.run import Summary, run
from dynaserve.bulk.scheduling import GOES_ON
from dynaserve.cli.bulk_progress import watching
from dynaserve.cli.outcome import ExitCode, UsageError, user_input

_FULL = {errno.ENOSPC, errno.EDQUOT}


def run_job(
    job: Job, source: Path, output: Path, place: Place, *, unit_bytes: int, as_json: bool
) -> NoReturn:
    """Run a job to its end, and end the command by what came of it."""
    with user_input(), stopping(job.command, output), watching() as watch:
        summary = run(job, source, output, place, unit_bytes=unit_bytes, watch=watch)
    totals = {
        "rows": summary.rows,
        "done_before": summary.before,
        "rejects": summary.rejects,
        "output": str(output),
    }
    typer.echo(json.dumps(totals) if as_json else prose(summary, output))
    if not summary.rows:
        raise typer.Exit(ExitCode.NOTHING_CHECKED)
    raise typer.Exit(ExitCode.CHECK_FAILED if summary.rejects else ExitCode.FINE)


@contextmanager
def stopping(command: str, output: Path) -> Iterator[None]:
    """Turn what stops a run into a ``UsageError``, but for what nobody foresaw: a bug of ours.

    A disk that this process finds full stops it as well as one that a worker does.
    """
    try:
        yield
    except UnforeseenError:
        raise
    except StoppedError as error:
        raise UsageError(f"{command}: {error}") from error
    except OSError as error:
        if error.errno not in _FULL:
            raise
        where = error.filename or output
        raise UsageError(f"{command}: {where}: {error.strerror}; {GOES_ON}") from error


def prose(summary: Summary, output: Path) -> str:
    """Return how a run ended, as one line."""
    before = f", {summary.before:,} of them done before" if summary.before else ""
    rejects = f"; {summary.rejects:,} rejects in {output / REJECTS}" if summary.rejects else ""
    return f"{summary.rows:,} rows{before}, in {output}{rejects}"
