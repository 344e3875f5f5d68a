"""LitServe: JSON decoded and encoded in its worker, as its documentation has it."""

from __future__ import annotations

import argparse
from typing import Any

import litserve  # type: ignore[import-not-found]
import numpy as np

from benchmarks.peers.model import Array, probabilities, served_weights


class Linear(litserve.LitAPI):  # type: ignore[misc] # not in the environment that checks types
    """The linear model."""

    def setup(self, device: str) -> None:  # noqa: ARG002 - LitServe's signature
        """Get ready."""
        self.weights = served_weights()

    # LitServe reads the annotation at run time; with none, the request is what its JSON says.
    def decode_request(self, request) -> Array:  # type: ignore[no-untyped-def]
        """Return rows from JSON."""
        return np.asarray(request["inputs"], np.float32)

    def predict(self, x: Array) -> Array:
        """Return probabilities for rows."""
        return probabilities(x, self.weights)

    def encode_response(self, output: Array) -> dict[str, Any]:
        """Return what goes out as JSON."""
        return {"probabilities": output.tolist()}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    server = litserve.LitServer(Linear(), accelerator="cpu", workers_per_device=1)
    server.run(
        host="127.0.0.1",
        port=parser.parse_args().port,
        num_api_servers=1,
        generate_client_file=False,
        log_level="warning",
        access_log=False,
    )
