"""``dynaserve canary``: plant canaries, audit what a system publishes, run the benchmark.

No canary's value reaches the terminal or a report: they are in the planted file and in the
manifest, and both are for their owner alone.
"""

from __future__ import annotations

import json
import secrets
import sys
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dynaserve.cli.canary_benchmark import measured, nothing_checked, print_benchmark
from dynaserve.cli.outcome import ExitCode, UsageError, reporting, user_input
from dynaserve.cli.written import require_no_input

if TYPE_CHECKING:
    from dynaserve.canarybench.serialized import Format

app = typer.Typer(
    name="canary",
    help="Does what a system publishes about its users repeat what they wrote?",
    no_args_is_help=True,
)

_MANIFEST = typer.Option("--manifest", help="The secret file that says what was planted.")


class Form(str, Enum):
    """How a report is written."""

    TEXT = "text"
    JSON = "json"
    JUNIT = "junit"
    SARIF = "sarif"
    GITHUB = "github"


class Holds(str, Enum):
    """What a release holds."""

    AUTO = "auto"
    JSON = "json"
    JSONL = "jsonl"
    TEXT = "text"


@app.command(epilog="Example: dynaserve canary plant in.jsonl planted.jsonl --manifest secret.json")
@reporting
def plant(
    conversations: Annotated[
        Path,
        typer.Argument(
            metavar="IN.jsonl",
            help="Conversations: JSON lines (or .csv) with 'text', perhaps 'id' and 'user'.",
        ),
    ],
    output: Annotated[Path, typer.Argument(metavar="OUT.jsonl", help="The same, planted.")],
    *,
    manifest: Annotated[Path, _MANIFEST],
    probability: Annotated[
        float, typer.Option(min=0, max=1, help="That a conversation gets a canary.")
    ] = 0.6,
    kinds: Annotated[
        str | None,
        typer.Option(help="Kinds of canary, with commas: email,phone,address,phrase,..."),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(help="Makes it repeatable; who knows it knows the canaries. [random]"),
    ] = None,
    decoys: Annotated[
        int, typer.Option(min=0, help="Values held back, to measure false alarms with.")
    ] = 1000,
    force: Annotated[bool, typer.Option("--force", help="Overwrite what exists.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Plant canaries in conversations, for any system to summarize."""
    with user_input():
        from dynaserve.canarybench import conversations as files  # noqa: PLC0415 - light start
        from dynaserve.canarybench import plant as plant_canaries  # noqa: PLC0415

        for path in (output, manifest):
            _require_free(path, force=force)
            if path.resolve() == conversations.resolve():
                raise UsageError(f"{path} is the input; name another file to write")
        if output.resolve() == manifest.resolve():
            raise UsageError("OUT and --manifest are the same file")
        chosen = {} if kinds is None else {"kinds": [kind.strip() for kind in kinds.split(",")]}
        planted, written = plant_canaries(
            files.read_conversations(conversations),
            probability=probability,
            seed=secrets.randbits(63) if seed is None else seed,
            decoys=decoys,
            **chosen,
        )
        if not written.canaries:
            raise UsageError("no conversation got a canary; raise --probability")
        output.unlink(missing_ok=True)  # texts with other canaries would pass by this manifest
        written.save(manifest)
        files.write_conversations(output, planted)
    facts = {
        "conversations": len(planted),
        "canaries": len(written.canaries),
        "decoys": len(written.decoys),
        "output": str(output),
        "manifest": str(manifest),
    }
    if as_json:
        typer.echo(json.dumps(facts))
    else:
        typer.echo(
            f"planted {facts['canaries']} canaries in {len(planted)} conversations; now summarize "
            f"{output}, and audit with: dynaserve canary audit RELEASE --manifest {manifest}"
        )


@app.command(
    epilog="Example: summarize planted.jsonl | dynaserve canary audit - --manifest secret.json"
)
@reporting
def audit(
    release: Annotated[
        str, typer.Argument(metavar="RELEASE", help="What would be published; - is stdin.")
    ],
    *,
    manifest: Annotated[Path, _MANIFEST],
    form: Annotated[Form, typer.Option("--format", help="Form of the report.")] = Form.TEXT,
    holds: Annotated[
        Holds, typer.Option("--input", help="What the release holds; auto goes by its name.")
    ] = Holds.AUTO,
    clusters: Annotated[
        Path | None,
        typer.Option(help="JSON object: cluster id -> list of conversation ids."),
    ] = None,
    baseline: Annotated[
        Path | None, typer.Option(help="Accepted findings, none of them verbatim.")
    ] = None,
    write_baseline: Annotated[
        Path | None, typer.Option(help="Write a baseline that accepts what may be accepted.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write the report to a file.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
) -> None:
    """Look for the planted canaries in a release. Exit code 1 if it leaks, 5 if nothing could."""
    with user_input():
        from dynaserve.canarybench import CanaryManifest, audit_release  # noqa: PLC0415
        from dynaserve.canarybench.baseline import load_baseline, save_baseline  # noqa: PLC0415
        from dynaserve.canarybench.reports import render  # noqa: PLC0415
        from dynaserve.canarybench.reports.text import headline  # noqa: PLC0415

        inputs: list[str | Path | None] = [release, manifest, clusters, baseline]
        require_no_input(output, inputs)
        require_no_input(write_baseline, [*inputs, output])
        if output is not None and output.is_file():  # /dev/null is none, and stays
            output.resolve().unlink()  # a pass from before must not survive an error now
        with nothing_checked():
            report = audit_release(
                CanaryManifest.load(manifest),
                _read(release),
                clusters=None if clusters is None else _membership(clusters),
                baseline=() if baseline is None else load_baseline(baseline),
                form=_form(release) if holds is Holds.AUTO else holds.value,
            )
        if write_baseline is not None:
            accepted = save_baseline(write_baseline, report)
            typer.echo(f"wrote {write_baseline}, which accepts {accepted} findings", err=True)
        rendered = render(report, "json" if as_json else form.value, release)
        if output is None:
            typer.echo(rendered, nl=False)
        else:
            _write(output, rendered)
            typer.echo(headline(report), err=True)
    raise typer.Exit(ExitCode.FINE if report.passed else ExitCode.CHECK_FAILED)


@app.command(epilog="Example: dynaserve canary run --seeds 5")
@reporting
def run(
    *,
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds, from 0.")] = 5,
    conversations: Annotated[int, typer.Option(min=2, help="How many, synthetic.")] = 3000,
    k_min: Annotated[int, typer.Option(min=1, help="Fewest users of a published cluster.")] = 25,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Run the benchmark: what our own summaries leak, undefended and defended."""
    cells = measured(seeds, conversations=conversations, k_min=k_min)
    from dynaserve.canarybench.reports import benchmark  # noqa: PLC0415 - scikit-learn

    if as_json:
        typer.echo(json.dumps({"cells": benchmark.benchmark_json(cells)}))
    else:
        print_benchmark(benchmark.benchmark_table(cells))


def _read(release: str) -> bytes:
    return sys.stdin.buffer.read() if release == "-" else Path(release).read_bytes()


def _write(output: Path, rendered: str) -> None:
    """Write a report whole or not at all, unless it goes to a device or a pipe."""
    from dynaserve.atomic import replace_file  # noqa: PLC0415 - light start

    if output.exists():
        output.write_text(rendered, encoding="utf-8")
    else:
        replace_file(output.resolve(), rendered.encode())


def _form(release: str) -> Format:
    """Return what a file holds by its name; what cannot be that is then an error."""
    suffixes: dict[str, Format] = {".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl"}
    return suffixes.get(Path(release).suffix.lower(), "auto")


def _membership(path: Path) -> dict[str, list[str]]:
    try:
        clusters = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        raise UsageError(f"{path}: is not JSON") from None
    fits = isinstance(clusters, dict) and all(
        isinstance(ids, list) and all(isinstance(each, str) for each in ids)
        for ids in clusters.values()
    )
    if not fits:
        raise UsageError(f"{path}: must be an object: cluster id -> list of conversation ids")
    return dict(clusters)


def _require_free(path: Path, *, force: bool) -> None:
    if path.is_dir():
        raise UsageError(f"{path} is a directory; name the file to write in it")
    if path.exists() and not force:
        raise UsageError(f"{path} exists; pass --force to overwrite it")
    if not path.parent.is_dir():
        raise UsageError(f"{path.parent} is not a directory")
