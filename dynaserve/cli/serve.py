"""``dynaserve serve``: check everything, say what is served, become the server.

Model and defense are loaded here once before BentoML starts, so that a mistake is one clear
line rather than a worker's traceback. The server itself is ``dynaserve.serving.classifier``.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from dynaserve.cli.outcome import reporting, user_input

if TYPE_CHECKING:
    from dynaserve.defenses import Defense
    from dynaserve.serving.models import Model
    from dynaserve.serving.settings import ServeSettings

EPILOG = "Example: dynaserve serve model.onnx --defense defense.toml --port 8080"

_SERVICE = "dynaserve.serving.classifier:Classifier"
_ADVICE = (
    "dynanoise needs no data. With held-out labelled rows a rank template protects better, and "
    "costs no accuracy but confidence per input: dynaserve calibrate HELD_OUT.npz -o defense.toml"
)
_ADVICE_EMBEDDED = (
    "dynanoise needs no data. This model has held-out rows: --defense rank-template protects "
    "better, and costs no accuracy but confidence per input"
)
_NO_ACCESS_CONTROL = (
    "warning: {host} can be reached from other machines and there is no access control yet; "
    "anyone who reaches it may ask without limit"
)


@reporting
def serve(
    source: Annotated[
        str | None,
        typer.Argument(
            envvar="DYNASERVE_SOURCE",
            help="A .skops, .onnx, .pt2, .pt, .joblib or .pkl file, or a BentoML tag such as "
            "name:latest. Without it: a small digits classifier, trained at first start.",
        ),
    ] = None,
    *,
    defense: Annotated[
        str,
        typer.Option(
            envvar="DYNASERVE_DEFENSE",
            help="dynanoise, dynanoise-paper, rank-template, none, or a FILE.toml.",
        ),
    ] = "dynanoise",
    undefended: Annotated[
        bool,
        typer.Option(
            "--undefended",
            envvar="DYNASERVE_UNDEFENDED",
            help="Confirm --defense none, or noise of variance 0.",
        ),
    ] = False,
    trust_pickle: Annotated[
        bool,
        typer.Option(
            "--trust-pickle",
            envvar="DYNASERVE_TRUST_PICKLE",
            help="Load files that can run code; only your own ones.",
        ),
    ] = False,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")] = 3000,
    workers: Annotated[
        int, typer.Option(min=1, envvar="DYNASERVE_WORKERS", help="Server processes.")
    ] = 1,
    max_rows: Annotated[
        int, typer.Option(min=1, envvar="DYNASERVE_MAX_ROWS", help="Most rows in one request.")
    ] = 1024,
    max_bytes: Annotated[
        int | None,
        typer.Option(
            min=1,
            envvar="DYNASERVE_MAX_BYTES",
            help="Largest request body. Without it: 32 bytes for each number of --max-rows rows.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print what is served as one JSON object.")
    ] = False,
) -> None:
    """Serve a classifier behind a membership-inference defense."""
    with user_input():
        from dynaserve.cli.address import require_free  # noqa: PLC0415 - only this command
        from dynaserve.serving.settings import ServeSettings  # noqa: PLC0415

        settings = ServeSettings(
            source=source,
            defense=defense,
            trust_pickle=trust_pickle,
            undefended=undefended,
            max_rows=max_rows,
            max_bytes=max_bytes,
            workers=workers,
        )
        require_free(host, port)
        model, chosen = _load(settings)
    facts = _facts(settings, model, chosen, host, port)
    typer.echo(json.dumps(facts) if as_json else _prose(facts))
    sys.stdout.flush()
    become_server(settings, host, port)


def _load(settings: ServeSettings) -> tuple[Model, Defense]:
    """Load model and defense as a worker will, and try them together on a made-up row."""
    from dynaserve.serving.defenses import choose_defense, rehearse  # noqa: PLC0415 - frameworks
    from dynaserve.serving.models import ModelWarning, load_model  # noqa: PLC0415
    from dynaserve.serving.models.imports import require  # noqa: PLC0415

    require("bentoml", extra="serve")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", ModelWarning)
        model = load_model(settings.source, trust_pickle=settings.trust_pickle)
    for warning in caught:
        typer.echo(f"warning: {warning.message}", err=True)
    chosen = choose_defense(settings.defense, model, settings)
    rehearse(model, chosen)
    return model, chosen


def _facts(
    settings: ServeSettings, model: Model, chosen: Defense, host: str, port: int
) -> dict[str, Any]:
    """Return what is served, JSON-able; the key itself is not among it."""
    from dynaserve import _core  # noqa: PLC0415 - compiled
    from dynaserve.cli.address import is_loopback, url_of  # noqa: PLC0415
    from dynaserve.cli.example import curl_line, example_inputs  # noqa: PLC0415
    from dynaserve.defenses import NoiseKey  # noqa: PLC0415

    keyed = getattr(getattr(chosen, "config", None), "noise", None) == "keyed"
    is_embedded = settings.source is None
    advice = _ADVICE_EMBEDDED if is_embedded else _ADVICE
    url = url_of(host, port)
    return {
        "model": model.name,
        "version": model.version,
        "input_shape": list(model.input_shape),
        "dtype": str(model.dtype),
        "classes": model.classes,
        "defense": chosen.describe(),
        "advice": advice if settings.defense.startswith("dynanoise") else None,
        "key": NoiseKey.source() if keyed else None,
        "isa": _core.isa(),
        "workers": settings.workers,
        "warning": None if is_loopback(host) else _NO_ACCESS_CONTROL.format(host=host),
        "url": url,
        "curl": curl_line(url, example_inputs(model, is_embedded=is_embedded)),
    }


def _prose(facts: dict[str, Any]) -> str:
    classes = [str(label) for label in facts["classes"]]
    shown = ", ".join(classes[:10]) + (", ..." if len(classes) > 10 else "")
    shape = " x ".join("any" if size is None else str(size) for size in facts["input_shape"])
    lines = [
        f"model    {facts['model']}, version {facts['version'][:12]}",
        f"rows     {shape} ({facts['dtype']}) -> {len(classes)} classes: {shown}",
        f"defense  {facts['defense']}",
        f"         {facts['advice']}" if facts["advice"] else None,
        f"key      {facts['key']}" if facts["key"] else None,
        f"core     {facts['isa']}",
        f"url      {facts['url']}",
        facts["warning"],
        f"\nTry it:\n\n{facts['curl']}\n",
    ]
    return "\n".join(line for line in lines if line)


def become_server(settings: ServeSettings, host: str, port: int) -> NoReturn:
    """Replace this process by BentoML's server, so that signals reach it directly."""
    environment = os.environ | settings.to_environment() | {"BENTOML_DO_NOT_TRACK": "True"}
    arguments = ["-m", "bentoml", "serve", _SERVICE, "--host", host, "--port", str(port)]
    os.execve(sys.executable, [sys.executable, *arguments], environment)  # noqa: S606 - no shell
