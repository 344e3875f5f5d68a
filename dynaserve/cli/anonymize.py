"""``dynaserve anonymize``: a text, or JSON lines of them, without what gives away their author.

Only what is releasable is written. Of what is not, status and reason are; its text stays where
it came from.
"""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from dynaserve.cli.outcome import ExitCode, reporting, user_input

EPILOG = "Example: echo 'I am 31 and a nurse in Porto.' | dynaserve anonymize --show"


class Mode(str, Enum):
    """How a text is changed."""

    EDIT = "edit"
    REWRITE = "rewrite"


class Actionable(str, Enum):
    """Which grades are acted on."""

    HIGH = "high"
    HIGH_MED = "high+med"


class Grades(str, Enum):
    """How a model grades leaks."""

    SCORE = "score"
    GENERATE = "generate"


class Holds(str, Enum):
    """What the input is."""

    AUTO = "auto"
    TEXT = "text"
    JSONL = "jsonl"


@reporting
def anonymize(
    source: Annotated[
        str, typer.Argument(metavar="FILE", help="Text, or JSON lines; - is stdin.")
    ] = "-",
    *,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="Where to write. JSON lines that are there already are gone on with.",
        ),
    ] = None,
    holds: Annotated[
        Holds, typer.Option("--input", help="What the input is; auto goes by its name.")
    ] = Holds.AUTO,
    field: Annotated[str, typer.Option(help="JSON lines: the field of the text.")] = "text",
    id_field: Annotated[
        str,
        typer.Option(
            "--id", help="JSON lines: the field of the id, which is kept as it is. [line number]"
        ),
    ] = "id",
    model: Annotated[
        str | None,
        typer.Option(
            envvar="DYNASERVE_MODEL",
            help="A GGUF file, or ORG/REPO:FILE, which is downloaded once; with --server the "
            "model's name there. Without it: the built-in engine, which needs no model and finds "
            "less.",
        ),
    ] = None,
    server: Annotated[
        str | None,
        typer.Option(
            envvar="DYNASERVE_SERVER",
            help="URL of an OpenAI-compatible server, such as http://127.0.0.1:8080/v1.",
        ),
    ] = None,
    context: Annotated[
        int, typer.Option(min=512, help="Tokens that a model reads and writes at a time.")
    ] = 4096,
    allow_remote: Annotated[
        bool,
        typer.Option(
            "--allow-remote", help="Allow a public address, which gets every text as it is."
        ),
    ] = False,
    mode: Annotated[
        Mode, typer.Option(help="Replace words, or have a model write the text anew.")
    ] = Mode.EDIT,
    attributes: Annotated[
        str | None,
        typer.Option(
            help="What must not be inferred, with commas: age,sex,location,birth_place,education,"
            "occupation,income,relationship. Identifiers never may. [all]"
        ),
    ] = None,
    actionable: Annotated[
        Actionable, typer.Option(help="Grades that are acted on.")
    ] = Actionable.HIGH_MED,
    grades: Annotated[
        Grades,
        typer.Option(
            help="How a model grades leaks: by the probabilities of the grades, or by writing "
            "them, for a server that lists no probabilities."
        ),
    ] = Grades.SCORE,
    attack_tokens: Annotated[
        int,
        typer.Option(min=1, help="Room for a model's reply as attacker, in tokens of --context."),
    ] = 1024,
    max_mrs: Annotated[
        float | None,
        typer.Option("--lambda", min=0, help="Most utility that a unit of privacy may cost."),
    ] = None,
    max_rounds: Annotated[int, typer.Option(min=1, help="Of attack, judgement and edit.")] = 3,
    consistent: Annotated[
        Path | None,
        typer.Option(
            metavar="KEYFILE",
            help="Replace a value by the same in all texts. The file is made if it is not there; "
            "keep it secret.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of a model's sampling.")] = 0,
    trace: Annotated[
        Path | None,
        typer.Option(help="Write all that happened, the texts included, for you alone to read."),
    ] = None,
    show: Annotated[
        bool, typer.Option("--show", help="Show what was found and changed, on stderr.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite what exists.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object: the result, or the totals.")
    ] = False,
) -> None:
    """Take out of a text what gives away who wrote it.

    What cannot be made releasable is withheld: then the exit code is 1. It is 2 if something
    cannot be used, read or written, and 5 if there is nothing to do.
    """
    with user_input():
        from dynaserve.cli.anonymize_lines import anonymize_lines  # noqa: PLC0415
        from dynaserve.cli.anonymize_records import Fields  # noqa: PLC0415
        from dynaserve.cli.anonymize_text import anonymize_text  # noqa: PLC0415
        from dynaserve.cli.anonymize_writing import require_stdout  # noqa: PLC0415
        from dynaserve.cli.anonymizing import Files, Shown  # noqa: PLC0415 - all for a light start
        from dynaserve.serving.settings import (  # noqa: PLC0415
            AnonymizationSettings,
            attribute_names,
        )

        files = Files(source, output, trace, force=force)
        if output is None:
            require_stdout()
        files.require_apart(consistent)
        settings = AnonymizationSettings(
            model=model,
            server=server,
            context=context,
            allow_remote=allow_remote,
            mode=mode.value,
            attributes=attribute_names(attributes),
            actionable=actionable.value,
            grades=grades.value,
            attack_tokens=attack_tokens,
            max_mrs=max_mrs,
            max_rounds=max_rounds,
            consistent=None if consistent is None else str(consistent),
            seed=seed,
        )
        is_lines = _is_lines(source, holds)
        fields = Fields(field, id_field)
    shown = Shown(always=show, as_json=as_json)
    if is_lines:
        withheld = anonymize_lines(files, fields, settings, shown)
    else:
        withheld = anonymize_text(files, settings, shown)
    raise typer.Exit(ExitCode.CHECK_FAILED if withheld else ExitCode.FINE)


def _is_lines(source: str, holds: Holds) -> bool:
    if holds is Holds.AUTO:
        return Path(source).suffix.lower() in {".jsonl", ".ndjson"}
    return holds is Holds.JSONL
