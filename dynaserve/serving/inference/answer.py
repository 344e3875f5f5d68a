"""An inference answer: defended probabilities and the labels that they give, as asked for.

It gets nothing but defended probabilities, so that nothing else can leave here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from dynaserve.serving.inference.datatypes import BYTES, DATATYPES, FP32, INT64
from dynaserve.serving.inference.request import Asked


class Labels:
    """The model's own names of classes as a tensor: INT64 if all are such integers, else text.

    Parameters
    ----------
    classes : list of str or int
        One per column of the probabilities.
    """

    def __init__(self, classes: list[str | int]) -> None:
        within = np.iinfo(np.int64)
        if all(type(name) is int and within.min <= name <= within.max for name in classes):
            self.datatype = INT64
            self._numbers = np.array(classes, DATATYPES[INT64])
        else:
            self.datatype = BYTES
            self._names = [str(name) for name in classes]
            # A BYTES element is its length, uint32 little-endian, and then its bytes.
            encoded = [name.encode() for name in self._names]
            self._raw = [len(name).to_bytes(4, "little") + name for name in encoded]

    def values(self, columns: NDArray[np.intp]) -> Any:
        """Return the labels of columns, for JSON."""
        if self.datatype == INT64:
            return self._numbers[columns]
        return [self._names[column] for column in columns]

    def raw(self, columns: NDArray[np.intp]) -> memoryview | bytes:
        """Return the labels of columns, as binary data."""
        if self.datatype == INT64:
            return self._numbers[columns].data
        return b"".join([self._raw[column] for column in columns])


@dataclass(frozen=True)
class Answer:
    """A body, and where the JSON in it ends if raw tensors follow."""

    body: bytes
    json_length: int | None


def write_answer(
    about: dict[str, Any], asked: Asked, probabilities: NDArray[Any], labels: Labels
) -> Answer:
    """Return the answer to a request.

    Parameters
    ----------
    about : dict
        Fields that every answer of the model has.
    asked : Asked
        Which outputs are wanted, and in what form.
    probabilities : ndarray (n, k)
        Defended; sent as float32.
    labels : Labels
        Of the k classes.
    """
    outputs: list[dict[str, Any]] = []
    tail: list[memoryview | bytes] = []
    for output in asked.outputs:
        if output.name == "labels":
            columns = probabilities.argmax(axis=1)
            tensor = {"name": output.name, "shape": columns.shape, "datatype": labels.datatype}
            data = labels.raw(columns) if output.binary else labels.values(columns)
        else:
            sent = np.ascontiguousarray(probabilities, DATATYPES[FP32])
            tensor = {"name": output.name, "shape": sent.shape, "datatype": FP32}
            data = sent.data if output.binary else sent.ravel()
        if output.binary:
            raw = memoryview(data)
            tail.append(raw)
            tensor["parameters"] = {"binary_data_size": raw.nbytes}
        else:
            tensor["data"] = data
        outputs.append(tensor)
    document = {**about, **({} if asked.id is None else {"id": asked.id}), "outputs": outputs}
    json = orjson.dumps(document, option=orjson.OPT_SERIALIZE_NUMPY)
    if not tail:
        return Answer(json, None)
    return Answer(b"".join([json, *tail]), len(json))
