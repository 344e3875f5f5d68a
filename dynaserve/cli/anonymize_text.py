"""One text through the anonymizer: all of it comes out, or nothing does."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import typer

from dynaserve.atomic import replace_file
from dynaserve.cli.anonymizing import Files, Shown, working
from dynaserve.cli.outcome import UsageError, user_input
from dynaserve.rlaa.records import Result
from dynaserve.serving.anonymized import published, reason, text_of, withheld_because
from dynaserve.serving.settings import AnonymizationSettings


def anonymize_text(files: Files, settings: AnonymizationSettings, shown: Shown) -> bool:
    """Anonymize one text; return whether it is withheld."""
    with user_input():
        text = decoded(files.read(), files.name)
        clear(files.output, force=files.force)
    console = shown.console(on_terminal=True)
    with working(settings, files, console, resumes=False) as work:
        result = work.run(text, files.name)
    if shown.as_json:
        write(json.dumps(spoken(text, result), ensure_ascii=False) + "\n", files.output)
    elif result.releasable:
        write(text_of(text, result), files.output)
    elif console is None:
        status = result.status.value.replace("_", " ")
        typer.echo(f"withheld: {status} ({reason(result)}); nothing is written", err=True)
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


def clear(output: Path | None, *, force: bool) -> None:
    """Make way for the output: what an earlier run wrote must not outlive a text withheld now."""
    if output is None or not output.exists():
        return
    if output.is_dir():
        raise UsageError(f"{output} is a directory; name the file to write in it")
    if not force:
        raise UsageError(f"{output} exists; pass --force to overwrite it")
    if output.is_file():  # /dev/null is none, and stays
        output.resolve().unlink()


def write(text: str, output: Path | None) -> None:
    """Write a text whole, byte for byte."""
    if output is None:
        sys.stdout.buffer.write(text.encode())
        sys.stdout.buffer.flush()
    elif output.exists():
        output.write_bytes(text.encode())
    else:
        with user_input():
            replace_file(output.resolve(), text.encode())
