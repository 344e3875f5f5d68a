"""An inference request, read: its JSON header, its one tensor, and which outputs it wants.

Fields that the protocol leaves to extensions are ignored, but for those that would have it
answered in another form than it would get. Every refusal says what would be right, and quotes
nothing of the request.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from dynaserve.serving.inference.datatypes import DATATYPES
from dynaserve.serving.inference.tensors import NAME, checked_shape, fitted, from_bytes, from_json
from dynaserve.serving.models import Model
from dynaserve.serving.refused import RefusedError, TooLargeError
from dynaserve.serving.requests import Limits, parse

OUTPUTS = ("probabilities", "labels")
LENGTH_HEADER = "inference-header-content-length"
MAX_ID = 1024
"""Characters; an id comes back in the answer."""
MAX_OBJECTS = 64
"""More than one input, two outputs and the parameters of all of them are."""
MORE_LISTS = 16
"""Lists around those that hold the rows."""
UNSUPPORTED = ("classification", "shared_memory_region")
"""Parameters of an output that would change its form."""


@dataclass(frozen=True)
class Output:
    """An output that a request wants, and whether as raw bytes."""

    name: str
    binary: bool


EVERY_OUTPUT = {binary: tuple(Output(name, binary) for name in OUTPUTS) for binary in (False, True)}
"""What a request gets that names none."""


@dataclass(frozen=True)
class Asked:
    """What a request asks."""

    rows: NDArray[Any] = field(repr=False)
    """(n, *input_shape), in the model's dtype, finite."""
    outputs: tuple[Output, ...]
    """At least one, each another."""
    id: str | None = field(repr=False)


def read_request(
    body: bytes | bytearray, json_length: str | None, model: Model, limits: Limits
) -> Asked:
    """Return what a request asks.

    Parameters
    ----------
    body : bytes
        A JSON object, and then the raw bytes of the tensor if the object does not hold it.
    json_length : str or None
        What the header ``Inference-Header-Content-Length`` says, if it is there.
    model : Model
        What the rows are for.
    limits : Limits
        How much one request may bring.

    Raises
    ------
    TooLargeError
        There are too many rows, or lists.
    RefusedError
        Anything else is wrong.
    """
    json, raw = split(body, json_length)
    document = parsed(json, limits)
    tensor = only_input(document)
    dtype = DATATYPES.get(text(tensor, "datatype", "the input"))
    if dtype is None:
        raise RefusedError(f'the datatype of "{NAME}" must be one of {", ".join(DATATYPES)}')
    shape = checked_shape(
        tensor.get("shape"), model.input_shape, limits.max_rows, limits.max_columns
    )
    if (data := binary_data(tensor, raw)) is not None:
        values = from_bytes(data, dtype, shape)
    else:
        values = from_json(tensor.get("data"), dtype, shape)
    return Asked(fitted(values, model.dtype), wanted_outputs(document), request_id(document))


def split(body: bytes | bytearray, json_length: str | None) -> tuple[bytes | bytearray, memoryview]:
    """Return the JSON object and the raw bytes after it; of the two, the larger is not copied."""
    if json_length is None:
        return body, memoryview(b"")
    digits = json_length.strip()
    # A length of more digits is past any limit, and Python's own limit is at 4300.
    if not (digits.isascii() and digits.isdigit() and len(digits) < 20):
        raise RefusedError(f"the header {LENGTH_HEADER} must be the number of bytes of the JSON")
    length = int(digits)
    if length > len(body):
        raise RefusedError(f"the header {LENGTH_HEADER} is past the end of the body")
    return body[:length], memoryview(body)[length:]


def parsed(json: bytes | bytearray, limits: Limits) -> dict[str, Any]:
    """Return the JSON object of a request, itself unchecked.

    Raises
    ------
    TooLargeError, RefusedError
        It is no JSON object, or has more in it than a request has, which would fill memory.
    """
    if limits.max_lists is not None and json.count(b"[") > limits.max_lists + MORE_LISTS:
        raise TooLargeError(
            f"the body holds more lists than {limits.max_rows} rows do; send at most "
            f"{limits.max_rows} rows at once"
        )
    if json.count(b"{") > MAX_OBJECTS:
        raise RefusedError("the body holds more objects than an inference request has")
    document = parse(
        json,
        "(NaN, Infinity and numbers past 1.8e308 are not JSON); raw tensors after the JSON need "
        f"the header {LENGTH_HEADER}",
    )
    if not isinstance(document, dict):
        raise RefusedError('send one object with the field "inputs"')
    return document


def only_input(document: dict[str, Any]) -> dict[str, Any]:
    """Return the one input tensor of a request, itself unchecked."""
    inputs = document.get("inputs")
    if not (isinstance(inputs, list) and len(inputs) == 1 and isinstance(inputs[0], dict)):
        raise RefusedError(f'"inputs" must be a list of one tensor, named "{NAME}"')
    if text(inputs[0], "name", "the input") != NAME:
        raise RefusedError(f'the one input tensor is named "{NAME}"')
    return inputs[0]


def binary_data(tensor: dict[str, Any], raw: memoryview) -> memoryview | None:
    """Return the raw bytes of a tensor; None if its data is in the JSON."""
    parameters = parameters_of(tensor, f'"{NAME}"')
    if parameters.get("shared_memory_region"):
        raise RefusedError('the parameter "shared_memory_region" of an input is not supported')
    size = parameters.get("binary_data_size")
    if size is None:
        if len(raw):
            raise RefusedError(
                f'{len(raw)} bytes follow the JSON; give "{NAME}" the parameter "binary_data_size"'
            )
        if tensor.get("data") is None:
            raise RefusedError(
                f'"{NAME}" holds no data; send it in "data", or after the JSON with the parameter '
                f'"binary_data_size" and the header {LENGTH_HEADER}'
            )
        return None
    if type(size) is not int or size != len(raw):
        raise RefusedError(
            f'"binary_data_size" of "{NAME}" must be the number of bytes after the JSON, which '
            f"is {len(raw)}"
        )
    if tensor.get("data") is not None:
        raise RefusedError(f'"{NAME}" is both in "data" and after the JSON; send one of them')
    return raw


def wanted_outputs(document: dict[str, Any]) -> tuple[Output, ...]:
    """Return the outputs that a request names, or else all."""
    all_binary = flag(parameters_of(document, "the request"), "binary_data_output", default=False)
    named = document.get("outputs")
    if named is None or named == []:
        return EVERY_OUTPUT[all_binary]
    if not isinstance(named, list) or not all(isinstance(output, dict) for output in named):
        raise RefusedError('"outputs" must be a list of objects, each with a "name"')
    found = []
    for output in named:
        name = text(output, "name", "an output")
        if name not in OUTPUTS:
            raise RefusedError(f"an output must be one of {', '.join(OUTPUTS)}")
        parameters = parameters_of(output, f'output "{name}"')
        for unsupported in UNSUPPORTED:
            if parameters.get(unsupported):
                raise RefusedError(f'the parameter "{unsupported}" of an output is not supported')
        found.append(Output(name, flag(parameters, "binary_data", default=all_binary)))
    if len({output.name for output in found}) < len(found):
        raise RefusedError("an output is named twice")
    return tuple(found)


def request_id(document: dict[str, Any]) -> str | None:
    """Return the id that comes back in the answer, if there is one."""
    value = document.get("id")
    if value is not None and not (isinstance(value, str) and len(value) <= MAX_ID):
        raise RefusedError(f'"id" must be a string of at most {MAX_ID} characters')
    return value


def text(holder: dict[str, Any], name: str, whose: str) -> str:
    """Return a field that must be a string."""
    value = holder.get(name)
    if not isinstance(value, str):
        raise RefusedError(f'{whose} needs a "{name}", a string')
    return value


def parameters_of(holder: dict[str, Any], whose: str) -> dict[str, Any]:
    """Return the parameters of something, none if there are none."""
    value = holder.get("parameters")
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise RefusedError(f'"parameters" of {whose} must be an object')
    return value


def flag(parameters: dict[str, Any], name: str, *, default: bool) -> bool:
    """Return a parameter that must be true or false."""
    value = parameters.get(name)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise RefusedError(f'the parameter "{name}" must be true or false')
    return value
