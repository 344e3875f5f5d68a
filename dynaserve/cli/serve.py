"""``dynaserve serve``: check everything, say what is served, become the server.

Model and defense are loaded here once before BentoML starts, so that a mistake is one clear
line rather than a worker's traceback. The server itself is ``dynaserve.serving.classifier``.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeVar

import typer

from dynaserve.cli.outcome import reporting, user_input
from dynaserve.cli.settings_flags import with_flags
from dynaserve.serving.settings import ServeSettings, SettingsError

if TYPE_CHECKING:
    from dynaserve.defenses import Defense
    from dynaserve.serving.models import Model

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
_NO_KEYS = (
    "{host} can be reached from other machines, which are answered with API keys only; make one "
    "with: dynaserve keys create NAME"
)
T = TypeVar("T")


@reporting
@with_flags(ServeSettings, "source")
def serve(
    given: dict[str, Any],
    *,
    check: Annotated[
        bool, typer.Option("--check", help="Say what would be served, or all that is wrong; exit.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print what is served as one JSON object.")
    ] = False,
) -> None:
    """Serve a classifier behind a membership-inference defense.

    A setting is a flag, else the variable in brackets, else a key of the --config file.
    """
    with user_input():
        from dynaserve.cli.address import require_free  # noqa: PLC0415 - only this command

        settings = ServeSettings.load(given)
        if not check:
            require_free(settings.host, settings.port)
        model, chosen = _require_all(settings)
    facts = _facts(settings, model, chosen)
    typer.echo(json.dumps(facts) if as_json else _prose(facts))
    sys.stdout.flush()
    if not check:
        become_server(settings)


def _require_all(settings: ServeSettings) -> tuple[Model, Defense]:
    """Return model and defense; raise all that stands in the way of serving them.

    Raises
    ------
    SettingsError
        Its problems are those of the model or defense, of keys, limits and telemetry.
    """
    problems: list[str] = []

    def tried(step: Callable[[ServeSettings], T]) -> T | None:
        try:
            return step(settings)
        except SettingsError as error:
            problems.extend(error.problems)
        except (ValueError, OSError, ImportError) as error:
            problems.append(str(error))
        return None

    loaded = tried(_load)
    tried(_require_keys)
    tried(_require_servable)
    if loaded is None or problems:
        raise SettingsError(*problems)
    return loaded


def _require_keys(settings: ServeSettings) -> None:
    """Refuse a service that others reach without API keys."""
    from dynaserve.serving.access.gate import key_file  # noqa: PLC0415 - starlette
    from dynaserve.serving.access.local import is_loopback  # noqa: PLC0415

    if key_file(settings) is None and not is_loopback(settings.host):
        raise SettingsError(_NO_KEYS.format(host=settings.host))


def _require_servable(settings: ServeSettings) -> None:
    from dynaserve.serving.supervised import require_servable  # noqa: PLC0415 - BentoML

    require_servable(settings)


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


def _facts(settings: ServeSettings, model: Model, chosen: Defense) -> dict[str, Any]:
    """Return what is served, JSON-able; the key itself is not among it."""
    from dynaserve import _core  # noqa: PLC0415 - compiled
    from dynaserve.cli.address import url_of  # noqa: PLC0415
    from dynaserve.cli.example import curl_line, example_inputs  # noqa: PLC0415
    from dynaserve.defenses import NoiseKey  # noqa: PLC0415
    from dynaserve.serving.access.gate import key_file  # noqa: PLC0415 - starlette
    from dynaserve.serving.inference.described import name_of  # noqa: PLC0415

    keyed = getattr(getattr(chosen, "config", None), "noise", None) == "keyed"
    is_embedded = settings.source is None
    advice = _ADVICE_EMBEDDED if is_embedded else _ADVICE
    url = url_of(settings.host, settings.port)
    keys = key_file(settings)
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
        "access": f"API keys in {keys}" if keys else "this machine only, without API keys",
        "url": url,
        "inference": f"{url}/v2/models/{settings.name or name_of(model.name)}/infer",
        "curl": curl_line(
            url, example_inputs(model, is_embedded=is_embedded), with_key=keys is not None
        ),
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
        f"access   {facts['access']}",
        f"url      {facts['url']}/predict",
        f"         {facts['inference']}",
        f"\nTry it:\n\n{facts['curl']}\n",
    ]
    return "\n".join(line for line in lines if line)


def become_server(settings: ServeSettings) -> NoReturn:
    """Replace this process by BentoML's server, so that signals reach it directly."""
    from dynaserve.serving.supervised import already_tried  # noqa: PLC0415 - BentoML

    environment = os.environ | settings.to_environment() | already_tried()
    environment["BENTOML_DO_NOT_TRACK"] = "True"
    address = ["--host", settings.host, "--port", str(settings.port)]
    arguments = ["-m", "bentoml", "serve", _SERVICE, *address]
    os.execve(sys.executable, [sys.executable, *arguments], environment)  # noqa: S606 - no shell
