"""The ``dynaserve`` command. One module per command; each imports what it needs when it runs.

``dynaserve --help`` has to be quick, so nothing here may import a framework or the core.
"""

from __future__ import annotations

from typing import Annotated

import typer

from dynaserve.cli import (
    anonymize,
    audit,
    bento,
    bulk,
    calibrate,
    canary,
    info,
    keys,
    reproduce_canarybench,
    reproduce_dynanoise,
    reproduce_rlaa,
    serve,
    tune,
)

app = typer.Typer(
    name="dynaserve",
    help="Privacy middleware for model serving: answers that say less about the training data.",
    epilog=serve.EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.command(epilog=serve.EPILOG)(serve.serve)
app.command(epilog=calibrate.EPILOG)(calibrate.calibrate)
app.command(epilog=audit.EPILOG)(audit.audit)
app.command(epilog=tune.EPILOG)(tune.tune)
app.command(epilog=anonymize.EPILOG)(anonymize.anonymize)
app.add_typer(canary.app)
app.add_typer(keys.app)
app.add_typer(bento.app)
app.add_typer(bulk.app)
app.command(epilog=info.EPILOG)(info.info)

reproduce = typer.Typer(
    name="reproduce",
    help="Run a paper's experiment, and print its table beside ours.",
    no_args_is_help=True,
)
reproduce.command(epilog=reproduce_dynanoise.EPILOG)(reproduce_dynanoise.dynanoise)
reproduce.command(epilog=reproduce_canarybench.EPILOG)(reproduce_canarybench.canarybench)
reproduce.command(epilog=reproduce_rlaa.EPILOG)(reproduce_rlaa.rlaa)
app.add_typer(reproduce)


def _print_version(wanted: bool) -> None:
    if wanted:
        from dynaserve._version import __version__  # noqa: PLC0415 - only here

        typer.echo(f"dynaserve {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    del version  # handled by its callback


def main() -> None:
    """Run the command line; the console script ``dynaserve``."""
    app()
