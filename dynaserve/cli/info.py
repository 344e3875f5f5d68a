"""``dynaserve info``: what is installed and in force on this machine. It never shows a key."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
from collections.abc import Callable
from typing import Annotated, Any

import typer

from dynaserve.cli.outcome import reporting, user_input

EPILOG = "Example: dynaserve info --json"

_EXTRAS = {
    "serve": ("bentoml", "joblib", "onnxruntime", "orjson", "scikit-learn", "skops"),
    "torch": ("torch",),
    "gpu": ("torch", "triton"),
}


@reporting
def info(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show versions, instruction sets, extras, the state directory and the defense in force."""
    with user_input():
        facts = _facts() | {"problems": _problems()}
    if as_json:
        typer.echo(json.dumps(facts))
    else:
        _print(facts)


def _facts() -> dict[str, Any]:
    from dynaserve import __version__, _core  # noqa: PLC0415 - compiled
    from dynaserve.defenses import NoiseKey  # noqa: PLC0415
    from dynaserve.serving.settings import ServeSettings  # noqa: PLC0415
    from dynaserve.state import state_path  # noqa: PLC0415

    versions = {package: _version(package) for names in _EXTRAS.values() for package in names}
    return {
        "dynaserve": __version__,
        "python": platform.python_version(),
        "numpy": _version("numpy"),
        "packages": versions,
        "extras": {
            extra: all(versions[package] for package in packages)
            for extra, packages in _EXTRAS.items()
        },
        "isa": _core.isa(),
        "isas": _core.available_isas(),
        "isa_forced": bool(os.environ.get("DYNASERVE_ISA")),
        "state_directory": str(state_path()),
        "key": NoiseKey.source(),
        "defense": ServeSettings.from_environment().defense,
    }


def _problems() -> list[str]:
    """Return in words what would keep a server from starting, a line each."""
    from dynaserve.defenses import NoiseKey  # noqa: PLC0415 - compiled
    from dynaserve.serving.defenses import NAMES, from_file  # noqa: PLC0415
    from dynaserve.serving.settings import ServeSettings  # noqa: PLC0415
    from dynaserve.state import state_directory  # noqa: PLC0415

    defense = ServeSettings.from_environment().defense
    checks: list[Callable[[], object]] = [state_directory]
    if NoiseKey.exists():
        checks.append(NoiseKey.resolve)
    if defense not in NAMES:
        checks.append(lambda: from_file(defense))
    # In order, each once: several may fail for the same reason.
    return list(dict.fromkeys(filter(None, map(_failure, checks))))


def _failure(check: Callable[[], object]) -> str | None:
    try:
        check()
    except (ValueError, OSError) as error:
        return str(error)
    return None


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _print(facts: dict[str, Any]) -> None:
    forced = " (DYNASERVE_ISA)" if facts["isa_forced"] else ""
    lines = {name: facts[name] for name in ("dynaserve", "python", "numpy")}
    lines |= {name: version or "missing" for name, version in facts["packages"].items()}
    for extra, present in facts["extras"].items():
        hint = "present" if present else f"incomplete: pip install 'dynaserve[{extra}]'"
        lines[f"extra {extra}"] = hint
    lines["instruction set"] = f"{facts['isa']}{forced} of {', '.join(facts['isas'])}"
    for name in ("state_directory", "key", "defense"):
        lines[name.replace("_", " ")] = facts[name]
    for name, value in lines.items():
        typer.echo(f"{name:<16} {value}")
    for problem in facts["problems"]:
        typer.echo(f"{'problem':<16} {problem}")
