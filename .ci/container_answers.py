"""Ask a running classifier, and hold its answers against what the defense makes of the model.

``container_answers.py URL STATE``: STATE is the server's state directory, with its digits model;
the noise key of both is in ``DYNASERVE_NOISE_KEY``.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

import httpx
import numpy as np
import tritonclient.http as triton

from dynaserve.defenses import DynaNoise, Undefended
from dynaserve.serving.models import embedded, load_model

TOLERANCE = 1e-6
"""Between answers to one row: float32, and scores that another batch sums in another order."""


def main(url: str, state: str) -> None:
    """Exit with a message unless every answer is right."""
    files = {path.name for path in Path(state).rglob("*") if path.is_file()}
    require(all(name.endswith(".skops") for name in files), f"unexpected in the state: {files}")
    with tempfile.TemporaryDirectory() as copy:
        # A copy of this user's own, for DynaServe reads no file that another one could replace.
        os.environ["DYNASERVE_STATE_DIR"] = str(shutil.copytree(state, Path(copy, "state")))
        rows, defended, undefended = expected()

    answer = httpx.post(f"{url}/predict", json={"inputs": rows.tolist()}, timeout=30)
    require(answer.status_code == 200, f"/predict: {answer.status_code} {answer.text}")
    got = np.array(answer.json()["probabilities"])
    require(answer.json()["labels"] == [6], f"/predict: labels {answer.json()['labels']}")
    require(near(got, defended), "/predict: not what the defense makes of the model's scores")
    require(not near(got, undefended), "/predict: the raw softmax")

    client = triton.InferenceServerClient(url.removeprefix("http://"))
    tensor = triton.InferInput("inputs", rows.shape, "FP64").set_data_from_numpy(rows)
    tensors = client.infer("digits", [tensor])
    require(tensors.as_numpy("labels").tolist() == [6], "/v2: another label")
    require(near(tensors.as_numpy("probabilities"), got), "/v2: not the answer of /predict")

    refused = httpx.post(f"{url}/predict", json={"inputs": [[0.0] * 63]}, timeout=30)
    require(refused.status_code == 400, f"63 numbers: {refused.status_code}")
    metrics = httpx.get(f"{url}/metrics", timeout=30)
    require(metrics.status_code == 200, f"/metrics: {metrics.status_code}")
    print("/predict and /v2 answered [6] with the defended probabilities; 63 numbers got 400")


def expected() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the example row, and its probabilities with and without the defense."""
    model = load_model(None)
    row = np.asarray(embedded.digits().held_out_images[:1].reshape(1, -1), model.dtype)
    logits = model.logits(row)
    defense = DynaNoise.keyed().with_model_version(model.version)
    return row, defense(logits, queries=row), Undefended()(logits)


def near(left: np.ndarray, right: np.ndarray) -> bool:
    """Whether two answers agree up to rounding."""
    return bool(np.abs(left - right).max() <= TOLERANCE)


def require(fine: bool, otherwise: str) -> None:
    """End here unless it is fine."""
    if not fine:
        sys.exit(otherwise)


if __name__ == "__main__":
    main(*sys.argv[1:])
