"""A request that works as it is, to print when a server starts."""

from __future__ import annotations

import json
import shlex
from contextlib import suppress
from typing import Any

import numpy as np

from dynaserve.atomic import replace_file
from dynaserve.serving.models import Model, embedded
from dynaserve.serving.models.scores import probe_rows
from dynaserve.state import state_directory

_LONGEST = 400


def example_inputs(model: Model, *, is_embedded: bool) -> list[Any]:
    """Return one row the model takes: a held-out digit for the embedded model, else zeros."""
    if is_embedded:
        row = embedded.digits().held_out_images[0].astype(int)
    else:
        row = np.zeros_like(probe_rows(model.input_shape, model.dtype, 1)[0])
    return [row.tolist()]


def curl_line(url: str, inputs: list[Any], *, with_key: bool = False) -> str:
    """Return a shell line that sends ``inputs``; a long body goes through a file.

    With ``with_key`` it sends the API key that the variable ``DYNASERVE_API_KEY`` holds.

    The file is ``example.json`` in the state directory; where there can be none, the line is long.
    """
    body = json.dumps({"inputs": inputs}, separators=(",", ":"))
    if len(body) > _LONGEST:
        with suppress(OSError):
            path = state_directory() / "example.json"
            replace_file(path, body.encode(), mode=0o600)
            body = f"@{path}"
    headers = "-H 'content-type: application/json'"
    if with_key:
        headers += ' -H "x-api-key: $DYNASERVE_API_KEY"'
    return f"curl -s {url}/predict {headers} -d {shlex.quote(body)}"
