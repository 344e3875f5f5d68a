"""``dynaserve bulk defend``: logits in Parquet files to what may be released of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from dynaserve.cli.bulk_options import AsJson, Out, Scheduler, Source, UnitBytes, Workers
from dynaserve.cli.outcome import UsageError, reporting, user_input

if TYPE_CHECKING:
    from dynaserve.defenses.document import Document

EPILOG = "Example: dynaserve bulk defend logits/ defended/ --defense defense.toml --workers 8"

_UNIT_BYTES = 1 << 24


@reporting
def defend(
    source: Source,
    output: Out,
    *,
    defense: Annotated[
        str, typer.Option(help="dynanoise, dynanoise-paper, or a FILE.toml.")
    ] = "dynanoise",
    undefended: Annotated[
        bool,
        typer.Option("--undefended", help="Confirm a file without a defense, or of variance 0."),
    ] = False,
    logits: Annotated[str, typer.Option(help="The column of lists of logits.")] = "logits",
    id_column: Annotated[
        str, typer.Option("--id", help="The column of ids, which differ from row to row.")
    ] = "id",
    query_from: Annotated[
        str,
        typer.Option(
            help="The column that keyed noise is made from: the model's input, or something that "
            "is the same whenever the input is. Where it differs for one input, so does the "
            "noise, which then averages away; an id that counts calls is such a thing. The logits "
            "themselves will do for a model that repeats them to the bit."
        ),
    ] = "query",
    model_version: Annotated[
        str,
        typer.Option(
            help="Of the model that the logits are of; keyed noise is made for it. The same text "
            "as elsewhere: dynaserve serve takes the SHA-256 of the model's file. Needed unless "
            "the defense file has one."
        ),
    ] = "",
    workers: Workers = None,
    scheduler: Scheduler = None,
    unit_bytes: UnitBytes = None,
    as_json: AsJson = False,
) -> None:
    """Defend logits in Parquet files; columns id, label and probabilities come out.

    Every row is the same, to the bit, as one call of the defense makes it. The noise key is read
    by each worker, from DYNASERVE_NOISE_KEY or the key file in its state directory. The exit code
    is 1 if rows are rejected, 2 if something cannot be used, read or written, and 5 if there are
    no rows.
    """
    with user_input():
        from dynaserve.bulk.cluster import Place  # noqa: PLC0415 - all for a light start
        from dynaserve.bulk.defend import Defending  # noqa: PLC0415
        from dynaserve.bulk.releasing import Columns  # noqa: PLC0415
        from dynaserve.bulk.shards import find_shards  # noqa: PLC0415
        from dynaserve.cli.bulk_running import run_job  # noqa: PLC0415
        from dynaserve.serving.defenses import releases_scores  # noqa: PLC0415

        place = Place(workers, scheduler)
        document = _bound(_document(defense), model_version)
        job = Defending.by(document, Columns(id_column, logits, query_from))
        if releases_scores(job.defense()) and not undefended:
            raise UsageError(
                "without a defense, or with noise of variance 0, the raw scores tell who was in "
                "the training data; if that is meant, say --undefended too"
            )
        job = job.for_input(find_shards(source))
    run_job(job, source, output, place, unit_bytes=unit_bytes or _UNIT_BYTES, as_json=as_json)


def _bound(document: Document, model_version: str) -> Document:
    """Return a defense for one version of a model, which keyed noise has to be."""
    known = document.parameters.get("model_version", "")
    if known and model_version not in ("", known):
        raise UsageError(
            f"--model-version {model_version}: the defense file is for model version {known}"
        )
    if document.parameters.get("noise") == "keyed" and not (known or model_version):
        raise UsageError(
            "keyed noise is for one version of a model: give --model-version, the same as "
            "elsewhere for that model; dynaserve serve takes the SHA-256 of its file"
        )
    if "noise" not in document.parameters or not model_version:
        return document
    return replace(document, parameters=document.parameters | {"model_version": model_version})


def _document(name_or_file: str) -> Document:
    """Return the defense of that name or file."""
    from dynaserve.defenses import DynaNoise  # noqa: PLC0415 - the core
    from dynaserve.defenses.document import Document, read_document  # noqa: PLC0415

    if name_or_file == "dynanoise":
        return Document(DynaNoise.KIND, DynaNoise.keyed().config.model_dump())
    if name_or_file == "dynanoise-paper":
        return Document(DynaNoise.KIND, DynaNoise.paper().config.model_dump())
    try:
        return read_document(name_or_file)
    except FileNotFoundError:
        raise UsageError(
            f"--defense {name_or_file}: there is no such file; choose dynanoise, dynanoise-paper, "
            "or a FILE.toml that dynaserve calibrate wrote"
        ) from None
    except ValueError as error:
        raise UsageError(f"--defense {name_or_file}: {error}") from None
