"""Load by wrk, a client in C that costs little of the processor that it shares with a server."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.clients import Request

ERRORS = ("connect", "read", "write", "status", "timeout")

# wrk's own report is prose; this is what its numbers are called inside.
SCRIPT = """\
wrk.method = "POST"
local body = io.open({body}, "rb")
wrk.body = body:read("*a")
body:close()
{headers}
function done(summary, latency, requests)
  local errors, quantiles = summary.errors, {{}}
  for i = 1, {quantiles} do
    quantiles[i] = string.format("%f", latency:percentile(100 * (i - 0.5) / {quantiles}))
  end
  io.write(string.format(
    '\\n{mark}{{"requests": %d, "microseconds": %d, "quantiles": [%s], "errors": [%d, %d, %d, %d, %d]}}\\n',
    summary.requests, summary.duration, table.concat(quantiles, ", "),
    errors.connect, errors.read, errors.write, errors.status, errors.timeout))
end
"""  # noqa: E501 - one format string
QUANTILES = 200
MARK = "report: "


class MissingError(Exception):
    """There is no wrk; the message says how to get it."""


class Load(NamedTuple):
    """What one run of wrk saw."""

    requests: int
    """That got an answer."""
    seconds: float
    latencies: NDArray[np.float64]
    """Seconds that requests took, by `QUANTILES` of them, sorted, as wrk corrects them."""
    errors: dict[str, int]
    """Kind, as in ``ERRORS``, -> how many."""

    @property
    def p50_ms(self) -> float:
        """The median."""
        return 1e3 * float(np.quantile(self.latencies, 0.5, method="hazen"))

    @property
    def p99_ms(self) -> float:
        """What 99% of the requests took at most."""
        return 1e3 * float(np.quantile(self.latencies, 0.99, method="hazen"))

    @property
    def per_second(self) -> float:
        """Answers in a second."""
        return self.requests / self.seconds


def load(port: int, request: Request, *, connections: int, seconds: int) -> Load:
    """Send a request again and again over so many kept connections, from one thread.

    Raises
    ------
    MissingError
        wrk is not installed.
    RuntimeError
        It failed; the message holds what it said.
    """
    program = shutil.which("wrk")
    if program is None:
        raise MissingError("missing: wrk\n    Debian/Ubuntu: apt-get install wrk")
    with TemporaryDirectory() as temporary:
        written = _write_script(request, Path(temporary))
        command = [
            *(program, "--threads", "1", "--connections", str(connections)),
            *("--duration", f"{seconds}s", "--timeout", "30s", "--script", str(written)),
            f"http://127.0.0.1:{port}{request.path}",
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"wrk failed:\n{done.stdout}{done.stderr}")
    return read_report(done.stdout)


def _write_script(request: Request, directory: Path) -> Path:
    body, written = directory / "body", directory / "post.lua"
    body.write_bytes(request.body)
    written.write_text(script(request, body))
    return written


def script(request: Request, body: Path) -> str:
    """Return the Lua script that posts a request whose body is in a file."""
    # A JSON string of plain ASCII is a Lua string too.
    headers = "\n".join(
        f"wrk.headers[{json.dumps(name)}] = {json.dumps(value)}"
        for name, value in request.headers.items()
    )
    return SCRIPT.format(
        body=json.dumps(str(body)), headers=headers, mark=MARK, quantiles=QUANTILES
    )


def read_report(output: str) -> Load:
    """Return what the script printed at the end of wrk's own report."""
    found = json.loads(output.rpartition(MARK)[2])
    return Load(
        requests=found["requests"],
        seconds=found["microseconds"] / 1e6,
        latencies=np.array(found["quantiles"]) / 1e6,
        errors=dict(zip(ERRORS, found["errors"], strict=True)),
    )
