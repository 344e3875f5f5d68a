"""The house rule of imports: only downwards, and never in a circle."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import dynaserve

ROOT = Path(dynaserve.__file__).parent

BASE = {
    "_core",
    "_version",
    "atomic",
    "extras",
    "keyfile",
    "npz",
    "processes",
    "redaction",
    "state",
    "tables",
}
DEFENSES = BASE | {"defenses", "__init__"}
MIDDLE = DEFENSES | {"mia", "rlaa", "canarybench"}
MAY_IMPORT: dict[str, set[str]] = {
    **{name: set() for name in BASE},
    "npz": {"atomic"},
    "keyfile": {"atomic"},
    "defenses": BASE,
    "__init__": BASE | {"defenses"},
    "mia": DEFENSES,
    "rlaa": BASE,
    "canarybench": BASE,
    "serving": MIDDLE,
    "bulk": MIDDLE,
    "cli": MIDDLE | {"serving", "bulk"},
    "__main__": {"cli"},
}
"""Part of the package -> the parts it may import beside itself; "__init__" is its public names."""


def modules() -> dict[str, Path]:
    """Return dotted name without the package -> file; "__init__" is the package itself."""
    found = {}
    for path in ROOT.rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)
        found[name] = path
    return found


def imported_by(name: str, path: Path, known: set[str]) -> set[str]:
    """Return the modules of this package that a file imports, at any depth of its code."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join(["dynaserve", *above, *([node.module] if node.module else [])])
            targets = [f"{base}.{alias.name}" for alias in node.names]
        else:
            continue
        for target in targets:
            if target == "dynaserve" or target.startswith("dynaserve."):
                found.add(resolve(target.removeprefix("dynaserve").strip("."), known))
    return found - {name}


def resolve(target: str, known: set[str]) -> str:
    """Return the module that holds a dotted name; a plain name of the package is the package."""
    while target and target not in known:
        target = target.rpartition(".")[0]
    return target or "__init__"


def graph() -> dict[str, set[str]]:
    files = modules()
    known = {*files, "_core"}
    return {name: imported_by(name, path, known) for name, path in files.items()}


def test_every_part_of_the_package_has_a_layer() -> None:
    assert {name.partition(".")[0] for name in modules()} <= MAY_IMPORT.keys()


@pytest.mark.parametrize("part", sorted({name.partition(".")[0] for name in modules()}))
def test_imports_point_downwards(part: str) -> None:
    upwards = {
        f"{name} -> {target}"
        for name, targets in graph().items()
        if name.partition(".")[0] == part
        for target in targets
        if target.partition(".")[0] not in MAY_IMPORT[part] | {part}
    }
    assert upwards == set()


def test_no_module_imports_itself_by_a_detour() -> None:
    try:
        TopologicalSorter(graph()).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_the_import_reader_sees_every_form() -> None:
    known = {"__init__", "_core", "defenses", "defenses.keys", "state"}
    assert resolve("defenses.keys.NoiseKey", known) == "defenses.keys"
    assert resolve("_core", known) == "_core"
    assert resolve("DynaNoise", known) == "__init__"
    assert "_core" in graph()["defenses.dynanoise.defense"]
    assert "state" in graph()["defenses.keys"]
