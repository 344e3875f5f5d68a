"""Read a PyTorch archive without loading it, and refuse what would run code or touch files.

``torch.export.load`` unpickles parts of a file, evaluates its shape expressions as Python,
looks up operators by any dotted name under ``torch`` and compiles node names into source.
TorchScript reaches files through operators and native code through custom classes, and runs
``__setstate__`` while it loads. So both are read against lists of what an ordinary classifier
needs; anything else is refused, harmless or not. Records come from PyTorch's own reader, since
two readers can disagree on what a crafted zip archive holds. No content is executed here.

Sources: torch/_export/serde/{schema,serialize}.py, torch/export/pt2_archive/_package.py and
torch/export/_unlift.py of PyTorch 2.13.
"""

from __future__ import annotations

import ast
import io
import json
import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from dynaserve.serving.models.file import ModelFile
from dynaserve.serving.models.imports import require
from dynaserve.serving.models.protocol import ModelError

_MODEL = "models/model.json"
_SAMPLES = "data/sample_inputs/model.pt"
_CONFIGS = (
    "data/weights/model_weights_config.json",
    "data/constants/model_constants_config.json",
)
_RECORD = re.compile(
    r"data/weights/weight_\d+|data/constants/tensor_\d+|archive_format|archive_version"
    r"|byteorder|\.data/\w+|extra/[^/]+|" + "|".join(map(re.escape, (_MODEL, _SAMPLES, *_CONFIGS)))
)
_NAME = re.compile(r"[\w.@]*")
_VARIABLE = re.compile(r"\w*")
_TENSOR_OPERATOR = re.compile(r"torch\.ops\.(aten|prims)\.(?!from_file\b|save\b)\w+(\.\w+)?")
_NUMBER_OPERATOR = re.compile(
    r"_operator\.(getitem|add|sub|mul|floordiv|truediv|mod|pow|neg|pos|and_|or_|not_"
    r"|eq|ne|lt|le|gt|ge)|math\.(floor|ceil|trunc|sqrt|pow)"
    r"|torch\.sym_(int|float|max|min|not|ite|sum)"
)
_TREE_TYPES = frozenset({None, "builtins.tuple", "builtins.list", "builtins.dict"})
_FREE_TEXT = frozenset({"metadata", "as_string", "as_strings", "torch_version"})
"""Fields that PyTorch keeps as text or writes into source as a quoted literal."""

_EXPRESSION_NODES = (
    ast.Expression, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Constant,
    ast.Name, ast.Call, ast.keyword, ast.Subscript, ast.Attribute, ast.Tuple,
    ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.expr_context,
)  # fmt: skip
_EXPRESSION_CALLS = frozenset(
    {
        "Symbol", "Integer", "Float", "Rational", "Add", "Mul", "Pow", "Max", "Min", "Mod",
        "Abs", "Eq", "Ne", "Lt", "Le", "Gt", "Ge", "And", "Or", "Not", "FloorDiv",
        "ModularIndexing", "Where", "PythonMod", "CleanDiv", "CeilToInt", "FloorToInt",
        "CeilDiv", "LShift", "RShift", "PowByNatural", "FloatPow", "FloatTrueDiv",
        "IntTrueDiv", "TruncToFloat", "TruncToInt", "RoundToInt", "RoundDecimal", "ToFloat",
        "Identity", "IsNonOverlappingAndDenseIndicator", "floor", "ceiling", "max", "min",
        "int", "size", "stride", "storage_offset", "dim",
    }
)  # fmt: skip

_SCRIPT_REFUSED = re.compile(
    r"\b(?:from_file|save)\b"
    r"|\bgetattr\b(?!\(\w+, \"\w+\"\))"
    r"|\bops\b(?!\.(?:prim|aten)\.\w)"
    r"|\bclasses(?:\s|\\|#[^\n]*)*\."
)
_SCRIPT_PICKLE_REFUSED = re.compile(r"\bclasses[\n.]")
"""``torch.classes.*``: native classes, some of which load libraries when they are unpickled."""


class ArchiveReader:
    """The records of a PyTorch zip archive."""

    def __init__(self, file: ModelFile) -> None:
        torch = require("torch", extra="torch")
        try:
            self._reader = torch._C.PyTorchFileReader(io.BytesIO(file.content))
        except RuntimeError as error:
            raise file.unreadable("a PyTorch archive", error) from None
        self.names: list[str] = self._reader.get_all_records()

    def read(self, name: str) -> bytes:
        """Return the content of the record ``name``."""
        return bytes(self._reader.get_record(name))

    def read_json(self, name: str) -> Any:
        """Return the parsed content of the record ``name``."""
        return json.loads(self.read(name))


def check_export(file: ModelFile, archive: ArchiveReader) -> None:
    """Refuse a ``torch.export`` archive that could run code when loaded or called.

    Raises
    ------
    ModelError
        Naming the first thing that an ordinary exported classifier does not hold.
    """
    try:
        problem = next(_export_problems(archive), None)
    except (ValueError, TypeError, KeyError, AttributeError, RuntimeError, RecursionError):
        problem = "a structure that PyTorch does not write"
    if problem:
        raise _refusal(file, problem, "export it again with torch.export.save (torch >= 2.9)")


def check_torchscript(file: ModelFile, archive: ArchiveReader) -> None:
    """Refuse TorchScript that names file operators, native classes or foreign operators.

    Raises
    ------
    ModelError
        Naming what was found.
    """
    refused = {".py": _SCRIPT_REFUSED, ".pkl": _SCRIPT_PICKLE_REFUSED}
    for name in archive.names:
        pattern = refused.get(PurePosixPath(name).suffix)
        found = pattern and pattern.search(archive.read(name).decode("latin-1"))
        if found:
            raise _refusal(file, f"{found.group()!r} in {name}", "save the model without it")


def _refusal(file: ModelFile, problem: str, remedy: str) -> ModelError:
    return ModelError(
        f"{file.name} holds {problem}, which can run code or touch files when PyTorch loads it. "
        f"If you made the file or trust who did, pass --trust-pickle (trust_pickle=True); "
        f"else {remedy}"
    )


def _export_problems(archive: ArchiveReader) -> Iterator[str]:
    for name in archive.names:
        if not _RECORD.fullmatch(name):
            yield f"the record {name!r}"
    for name in _CONFIGS:
        for entry in archive.read_json(name)["config"].values():
            if entry["use_pickle"] or not re.fullmatch(r"(weight|tensor)_\d+", entry["path_name"]):
                yield f"a pickled weight in {name}"
    if _is_pickle_with_code(archive.read(_SAMPLES)):
        yield f"a pickle that builds more than tensors ({_SAMPLES})"
    yield from _program_problems(archive.read_json(_MODEL), field="")


def _is_pickle_with_code(content: bytes) -> bool:
    torch = require("torch", extra="torch")
    try:
        if content:
            torch.load(io.BytesIO(content), weights_only=True)
    except Exception:
        return True
    return False


def _program_problems(node: Any, field: str) -> Iterator[str]:
    """Walk the program; ``field`` is the nearest key of a field that holds ``node``."""
    if field in _FREE_TEXT:
        return
    if isinstance(node, dict):
        for key, value in node.items():
            if not _NAME.fullmatch(key):
                yield f"the name {key[:60]!r}"
            yield from _program_problems(value, key)
    elif isinstance(node, list):
        for value in node:
            yield from _program_problems(value, field)
    elif isinstance(node, str):
        yield from _text_problems(node, field)


def _text_problems(text: str, field: str) -> Iterator[str]:
    if field in ("target", "as_operator"):
        if not (_TENSOR_OPERATOR.fullmatch(text) or _NUMBER_OPERATOR.fullmatch(text)):
            yield f"the operator {text[:60]!r}"
    elif field in ("expr_str", "guards_code"):
        if not _is_plain_expression(text):
            yield f"the expression {text[:60]!r}"
    elif field in ("in_spec", "out_spec"):
        if not _is_plain_tree(json.loads(text)[1]):
            yield f"a call signature of other types than tuples, lists and dicts ({field})"
    elif not (_VARIABLE if field in ("name", "as_name") else _NAME).fullmatch(text):
        yield f"the name {text[:60]!r}"


def _is_plain_expression(text: str) -> bool:
    """Whether ``text`` is arithmetic over names, sizes and the functions listed above."""
    for node in ast.walk(ast.parse(text, mode="eval")):
        if not isinstance(node, _EXPRESSION_NODES):
            return False
        if isinstance(node, ast.Call):
            function = node.func
            called = function.attr if isinstance(function, ast.Attribute) else None
            called = function.id if isinstance(function, ast.Name) else called
            if called not in _EXPRESSION_CALLS:
                return False
        if isinstance(node, ast.Attribute) and node.attr not in _EXPRESSION_CALLS:
            return False
        if isinstance(node, ast.Constant) and not re.fullmatch(r"[\w.]+", str(node.value)):
            return False
    return True


def _is_plain_tree(tree: Any) -> bool:
    context = json.loads(tree["context"]) if tree["context"] else None
    keys = context if isinstance(context, list) else []
    return (
        tree["type"] in _TREE_TYPES
        and (context is None or isinstance(context, list))
        and all(isinstance(key, str) and key.isidentifier() for key in keys)
        and all(_is_plain_tree(child) for child in tree["children_spec"])
    )
