"""Texts in JSON lines through the anonymizer, one after another, to standard output or a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

import typer

from dynaserve.cli.anonymize_output import Output, making_of, opened
from dynaserve.cli.anonymize_records import Fields, read_records
from dynaserve.cli.anonymize_writing import to_stdout
from dynaserve.cli.anonymizing import Files, Shown, working
from dynaserve.cli.outcome import user_input
from dynaserve.cli.progress import progress_bar
from dynaserve.serving.settings import AnonymizationSettings


def anonymize_lines(
    files: Files, fields: Fields, settings: AnonymizationSettings, shown: Shown
) -> bool:
    """Anonymize the texts of JSON lines that are not done; return whether any is withheld."""
    with ExitStack() as stack:
        with user_input():
            records = read_records(files.read(), files.name, fields)
            output = Output(to_stdout, fields.line)
            if files.output is not None:
                making = making_of(settings, fields)
                output = stack.enter_context(
                    opened(files.output, making, records, anew=files.force)
                )
        to_do = [record for record in records if record.id not in output.done]
        console = shown.console(on_terminal=False)
        resumes = files.output is not None and not files.force
        work = stack.enter_context(working(settings, files, console, resumes=resumes))
        output.clear()
        progress = stack.enter_context(progress_bar(quiet=console is not None or shown.as_json))
        for number, record in enumerate(to_do, 1):
            output.add(record, work.run(record.text, record.id))
            progress(number, len(to_do), f"{work.withheld} withheld")
    before = [output.done[record.id] for record in records if record.id in output.done]
    withheld = work.withheld + sum(not each.released for each in before)
    totals = {
        "texts": len(records),
        "done_before": len(before),
        "statuses": dict(sorted(work.statuses.items())),
        "withheld": withheld,
    }
    said = json.dumps(totals) if shown.as_json else prose(totals)
    if shown.as_json and files.output is not None:
        to_stdout(f"{said}\n".encode())
    else:  # standard output is for the lines, if they go there
        typer.echo(said, err=True)
    return withheld > 0


def prose(totals: Mapping[str, Any]) -> str:
    """Return the totals of a run as one line."""
    parts = [f"{count} {status.replace('_', ' ')}" for status, count in totals["statuses"].items()]
    if totals["done_before"]:
        parts.append(f"{totals['done_before']} done before")
    return f"{totals['texts']} texts: {', '.join(parts)}; {totals['withheld']} withheld"
