"""``dynaserve bento``: a service as a bento, and the bento as a container image.

BentoML does the work; this brings the service, what is baked in, and a last stage for the image
(``bento_source``, ``bento_image``). What the builders say goes to stderr.
"""

from __future__ import annotations

import json
import logging
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from dynaserve.cli.bento_source import Recipe
from dynaserve.cli.outcome import ExitCode, UsageError, reporting, user_input

app = typer.Typer(
    name="bento",
    help="Package a service for deployment: as a bento, or as a container image.",
    no_args_is_help=True,
)


class Service(str, Enum):
    """What can be deployed."""

    CLASSIFIER = "classifier"
    ANONYMIZER = "anonymizer"
    SUMMARIES = "summaries"


class Backend(str, Enum):
    """What makes an image."""

    DOCKER = "docker"
    PODMAN = "podman"
    BUILDAH = "buildah"


Model = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Bake a model in. Without it the service reads DYNASERVE_SOURCE (classifier) or "
        "DYNASERVE_MODEL (anonymizer) at run time.",
    ),
]
Defense = Annotated[
    Path | None,
    typer.Option(metavar="FILE.toml", help="Bake a defense in, from dynaserve calibrate or tune."),
]
TrustPickle = Annotated[
    bool, typer.Option("--trust-pickle", help="Bake in a model file that can run code.")
]
Packages = Annotated[
    list[str] | None,
    typer.Option(
        "--package",
        metavar="REQUIREMENT",
        help="Install this too, such as 'dynaserve[torch]' for a model that is mounted.",
    ),
]
BaseImage = Annotated[
    str,
    typer.Option(
        metavar="IMAGE", help="A Debian or Ubuntu with Python. [default: python:X.Y-slim]"
    ),
]
Python = Annotated[
    str,
    typer.Option("--python", metavar="X.Y", help="Python in the image. [default: this one's]"),
]
Version = Annotated[
    str | None, typer.Option("--version", help="Version of the bento. [default: a new one]")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


@app.command(epilog="Example: dynaserve bento build classifier --model model.onnx")
@reporting
def build(
    service: Service,
    *,
    model: Model = None,
    defense: Defense = None,
    trust_pickle: TrustPickle = False,
    package: Packages = None,
    base_image: BaseImage = "",
    python_version: Python = "",
    version: Version = None,
    as_json: AsJson = False,
) -> None:
    """Build a bento, into BentoML's store."""
    packages = tuple(package or ())
    bento = _build(
        Recipe(service.value, model, defense, trust_pickle, packages, base_image, python_version),
        version,
    )
    facts = {"bento": str(bento.tag), "path": bento.path, "bytes": bento.total_size()}
    if as_json:
        typer.echo(json.dumps(facts))
    else:
        typer.echo(f"bento    {facts['bento']}, {facts['bytes'] / 1e6:.1f} MB: {facts['path']}")
        typer.echo(f"serve    bentoml serve {facts['bento']}")


@app.command(epilog="Example: dynaserve bento containerize classifier --tag fraud:7 --model m.onnx")
@reporting
def containerize(
    service: Service,
    *,
    tag: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME:TAG", help="Name of the image. [default: that of the bento]"),
    ] = None,
    backend: Annotated[
        Backend, typer.Option(envvar="BENTOML_CONTAINERIZE_BACKEND", help="What makes the image.")
    ] = Backend.DOCKER,
    model: Model = None,
    defense: Defense = None,
    trust_pickle: TrustPickle = False,
    package: Packages = None,
    base_image: BaseImage = "",
    python_version: Python = "",
    version: Version = None,
    opt: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[=VALUE]", help="Option of the backend's build, such as no-cache."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Build a bento and a container image of it: no root, no compiler, no key inside."""
    with user_input():
        from dynaserve.cli.bento_image import make_image, require_backend  # noqa: PLC0415 - heavy

        options = _options(opt or [])
        require_backend(backend.value)
    packages = tuple(package or ())
    bento = _build(
        Recipe(service.value, model, defense, trust_pickle, packages, base_image, python_version),
        version,
    )
    images = tag or [str(bento.tag)]
    with _building():
        make_image(bento, backend.value, images, options)
    facts = {"bento": str(bento.tag), "images": images, "backend": backend.value}
    if as_json:
        typer.echo(json.dumps(facts))
    else:
        typer.echo(f"bento    {facts['bento']}")
        typer.echo(f"image    {', '.join(images)}, made by {backend.value}")


def _build(recipe: Recipe, version: str | None) -> Any:
    """Return the bento, kept in BentoML's store."""
    with user_input():
        from dynaserve.serving.models.imports import require  # noqa: PLC0415 - frameworks

        bentos = require("bentoml.bentos", extra="serve")
        content = recipe.bake()
    with tempfile.TemporaryDirectory(prefix="dynaserve-bento-") as folder, _building():
        service = recipe.write(Path(folder), content)
        return bentos.build(service, build_ctx=folder, version=version)


@contextmanager
def _building() -> Iterator[None]:
    """Show what the builders say, and end with one line if they fail."""
    from bentoml.exceptions import BentoMLException  # noqa: PLC0415 - heavy

    said = logging.StreamHandler(sys.stderr)
    logger = logging.getLogger("bentoml")
    level = logger.level
    logger.addHandler(said)
    logger.setLevel(logging.INFO)
    try:
        yield
    except BentoMLException as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(ExitCode.CHECK_FAILED) from None
    finally:
        logger.removeHandler(said)
        logger.setLevel(level)


def _options(given: list[str]) -> dict[str, Any]:
    """Return ``NAME=VALUE`` as BentoML takes it: a value, several, or a flag."""
    options: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        name = name.lstrip("-").replace("-", "_")
        if not name or name in ("file", "tag", "context_path"):
            raise UsageError(f"--opt {text}: not an option that can be given here")
        if name in options and (options[name] is True) == bool(equals):
            raise UsageError(f"--opt {text}: {name} is given with a value and without one")
        options[name] = (*options.get(name, ()), value) if equals else True
    return options
