"""A bare Starlette app: JSON by the standard library, and raw bytes. No framework around it."""

from __future__ import annotations

import json

import numpy as np
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from benchmarks.peers.model import FEATURES, probabilities, served_weights

WEIGHTS = served_weights()


async def predict(request: Request) -> Response:
    """Return probabilities for rows, in JSON."""
    rows = np.asarray(json.loads(await request.body())["inputs"], np.float32)
    return JSONResponse({"probabilities": probabilities(rows, WEIGHTS).tolist()})


async def predict_raw(request: Request) -> Response:
    """Return the bytes of float32 probabilities for the bytes of float32 rows."""
    rows = np.frombuffer(await request.body(), np.float32).reshape(-1, FEATURES)
    answer = probabilities(rows, WEIGHTS).tobytes()
    return Response(answer, media_type="application/octet-stream")


async def ready(_: Request) -> Response:
    """Say that the app is up."""
    return Response()


app = Starlette(
    routes=[
        Route("/predict", predict, methods=["POST"]),
        Route("/predict_raw", predict_raw, methods=["POST"]),
        Route("/readyz", ready),
    ]
)
