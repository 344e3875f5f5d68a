"""``dynaserve bulk``: the same work over files too large for one process."""

from __future__ import annotations

import typer

from dynaserve.cli import bulk_anonymize, bulk_canary, bulk_defend

app = typer.Typer(
    name="bulk",
    help="Work on files too large for one process, on all cores or a Dask cluster.",
    no_args_is_help=True,
)
app.command(epilog=bulk_anonymize.EPILOG)(bulk_anonymize.anonymize)
app.command(epilog=bulk_defend.EPILOG)(bulk_defend.defend)
app.command(epilog=bulk_canary.EPILOG)(bulk_canary.canary_audit)
