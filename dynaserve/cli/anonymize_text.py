"""One text through the anonymizer: all of it comes out, or nothing does."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from dynaserve.cli.anonymize_writing import to_stdout, writing
from dynaserve.cli.anonymizing import Files, Shown, working
from dynaserve.cli.outcome import UsageError, user_input
from dynaserve.cli.written import remove, require_free
from dynaserve.cli.written import write as write_file
from dynaserve.rlaa.records import Result
from dynaserve.serving.anonymized import published, text_of, withheld_because
from dynaserve.serving.settings import AnonymizationSettings


def anonymize_text(files: Files, settings: AnonymizationSettings, shown: Shown) -> bool:
    """Anonymize one text; return whether it is withheld."""
    with user_input():
        text = decoded(files.read(), files.name)
        require_free(files.output, force=files.force)
    console = shown.console(on_terminal=True)
    with working(settings, files, console, resumes=False) as work:
        result = work.run(text, files.name)
    if shown.as_json:
        write(json.dumps(spoken(text, result), ensure_ascii=False) + "\n", files.output)
    elif result.releasable:
        write(text_of(text, result), files.output)
    else:
        take_back(files.output)
        if console is None:
            status = result.status.value.replace("_", " ")
            typer.echo(f"withheld: {status} ({result.reason}); nothing is written", err=True)
    return not result.releasable


def spoken(text: str, result: Result) -> dict[str, object]:
    """Return a result for machines; without any text if it is not releasable."""
    return published(text, result) if result.releasable else withheld_because(result)


def decoded(content: bytes, name: str) -> str:
    """Return UTF-8 as text, every character of it."""
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{name}: byte {error.start} is not UTF-8; convert the text") from None


def take_back(output: Path | None) -> None:
    """Make an end of what an earlier run wrote: it must not outlive a text that is withheld now."""
    if output is not None:
        with writing(output, "what an earlier run wrote is still there"):
            remove(output)


def write(text: str, output: Path | None) -> None:
    """Write a text, byte for byte; a file is written whole, or stays as it was."""
    if output is None:
        to_stdout(text.encode())
        return
    with writing(output, "nothing there has changed"):
        write_file(output, text.encode())
