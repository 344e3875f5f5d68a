"""``dynaserve bulk canary-audit``: summarize planted conversations of any number, and audit that.

What it publishes is there under its name only if the audit of these very bytes passed. No canary's
value reaches the terminal or a report.
"""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dynaserve.cli.bulk_options import Out, Scheduler, Source, UnitBytes, Workers
from dynaserve.cli.canary import Form
from dynaserve.cli.canary_benchmark import nothing_checked
from dynaserve.cli.outcome import ExitCode, reporting, user_input
from dynaserve.cli.written import require_no_input

if TYPE_CHECKING:
    from dynaserve.bulk.canary import Corpus
    from dynaserve.bulk.cluster import Place
    from dynaserve.canarybench import CanaryManifest, Report
    from dynaserve.canarybench.pipeline import Release

EPILOG = "Example: dynaserve bulk canary-audit planted/ audited/ --manifest secret.json"

RELEASE, LEAKING, MEMBERS = "release.json", "_leaking.json", "_clusters.json"
COMMAND = "canary-audit"
STEPS = ("vectors", "fit", "clusters", "texts", "release", "audit")
"""What the command says it does, in order."""
_UNIT_BYTES = 1 << 22


class Summary(str, Enum):
    """What a cluster's published text is made of."""

    KEYWORD = "keyword"
    EXTRACTIVE = "extractive"


class Defense(str, Enum):
    """What keeps single users out of it."""

    NONE = "none"
    K_MIN = "k-min"
    REDACTION = "redaction"
    BOTH = "both"


@reporting
def canary_audit(
    source: Source,
    output: Out,
    *,
    manifest: Annotated[
        Path, typer.Option("--manifest", help="The secret file that says what was planted.")
    ],
    summarizer: Annotated[
        Summary, typer.Option(help="Typical words, or the most typical conversations.")
    ] = Summary.KEYWORD,
    defense: Annotated[Defense, typer.Option(help="What to defend with.")] = Defense.BOTH,
    k_min: Annotated[int, typer.Option(min=1, help="Fewest users of a published cluster.")] = 25,
    clusters: Annotated[
        int | None,
        typer.Option(
            min=1, help="How many to look for; by default the root of the number of texts."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Of the clusters.")] = 0,
    workers: Workers = None,
    scheduler: Scheduler = None,
    unit_bytes: UnitBytes = None,
    form: Annotated[Form, typer.Option("--format", help="Form of the report.")] = Form.TEXT,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
) -> None:
    """Summarize planted conversations by cluster, and look for the canaries in the result.

    IN holds id, user and text, as dynaserve canary plant writes them, in JSON lines or Parquet. The
    result is OUT/release.json if it passes, else OUT/_leaking.json; the report is printed. The exit
    code is 1 if it leaks, 2 if something cannot be used, read or written, and 5 if nothing could
    have leaked. Workers count terms and find clusters; the rest is done by one process.
    """
    with user_input():
        from dynaserve.bulk.canary import Corpus  # noqa: PLC0415 - all for a light start
        from dynaserve.bulk.cluster import Place  # noqa: PLC0415
        from dynaserve.canarybench import CanaryManifest  # noqa: PLC0415
        from dynaserve.canarybench.reports import render  # noqa: PLC0415
        from dynaserve.cli.bulk_running import stopping  # noqa: PLC0415

        place = Place(workers, scheduler)
        for path in _published(output):
            require_no_input(path, [manifest, source])
        planted = CanaryManifest.load(manifest)
        corpus = Corpus(source, output, unit_bytes or _UNIT_BYTES)
    with ExitStack() as claim:
        with user_input(), stopping(COMMAND, output):
            claim.enter_context(corpus.claimed())
        release = _release(
            corpus,
            planted,
            place,
            summarizer=summarizer.value,
            k_min=k_min if defense in {Defense.K_MIN, Defense.BOTH} else 1,
            redacted=defense in {Defense.REDACTION, Defense.BOTH},
            clusters=clusters,
            seed=seed,
        )
        report, path = _audited(release, planted, output)
    typer.echo(render(report, "json" if as_json else form.value, str(path)), nl=False)
    raise typer.Exit(ExitCode.FINE if report.passed else ExitCode.CHECK_FAILED)


def _release(
    corpus: Corpus,
    manifest: CanaryManifest,
    place: Place,
    *,
    summarizer: str,
    k_min: int,
    redacted: bool,
    clusters: int | None,
    seed: int,
) -> Release:
    """Return what is published of conversations, and which canaries are in which cluster.

    What is wrong with files or workers is the user's to know; what is wrong in between is a bug.
    """
    with user_input():
        from dynaserve.canarybench.large_release import publish_selected, select  # noqa: PLC0415
        from dynaserve.canarybench.summarizers import SUMMARIZERS  # noqa: PLC0415
        from dynaserve.cli.bulk_progress import watching  # noqa: PLC0415
        from dynaserve.cli.bulk_running import stopping  # noqa: PLC0415
        from dynaserve.redaction import redact  # noqa: PLC0415

    _begin("vectors")
    with user_input(), stopping(COMMAND, corpus.output), watching() as watch:
        rows = corpus.count(place, watch)
        for path in _published(corpus.output):
            path.unlink(missing_ok=True)  # a pass from before must not survive an error
    _begin("fit")
    with user_input(), stopping(COMMAND, corpus.output):
        job = corpus.fit(rows, clusters, seed)
    _begin("clusters")
    with user_input(), stopping(COMMAND, corpus.output), watching() as watch:
        assigned = corpus.assign(job, place, watch)
    _begin("texts")
    selection = select(assigned, k_min=k_min)
    with user_input():
        texts, planted = corpus.read(assigned, selection, manifest)
    _begin("release")
    return publish_selected(
        selection,
        texts,
        planted,
        summarizer=SUMMARIZERS[summarizer],
        redact=redact if redacted else None,
    )


def _published(output: Path) -> list[Path]:
    return [output / name for name in (RELEASE, LEAKING, MEMBERS)]


def _audited(release: Release, manifest: CanaryManifest, output: Path) -> tuple[Report, Path]:
    """Audit a release, and write it under the name that it then deserves."""
    from dynaserve.atomic import replace_file  # noqa: PLC0415 - light start
    from dynaserve.canarybench import audit_release  # noqa: PLC0415
    from dynaserve.cli.bulk_running import stopping  # noqa: PLC0415

    _begin("audit")
    body = release.serialized()
    with nothing_checked():
        report = audit_release(manifest, body, clusters=release.members, form="json")
    path = output / (RELEASE if report.passed else LEAKING)
    with user_input(), stopping(COMMAND, output):
        replace_file(output / MEMBERS, json.dumps(dict(release.members)).encode(), mode=0o600)
        replace_file(path, body, mode=0o666 if report.passed else 0o600)
    return report, path


def _begin(step: str) -> None:
    """Say on standard error what is done now, in the form that progress has there."""
    typer.echo(step if sys.stderr.isatty() else json.dumps({"step": step}), err=True)
