"""Puts a defended server under load: speed, errors, memory, and what clients see when it ends.

    python -m benchmarks.load throughput    # two workers against one
    python -m benchmarks.load soak --seconds 60
    python -m benchmarks.load memory --requests 100000
    python -m benchmarks.load shutdown      # SIGTERM under load
    python -m benchmarks.load kill          # kill -9 of a worker under load

The first three need wrk. Client and servers share the processor. It serves the embedded model
behind ``dynanoise``, asked for one row, and fails if a client saw what it may not see.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks import load_faults, load_steady, machine
from benchmarks.load_wrk import MissingError
from benchmarks.processes import clean_up_on_sigterm

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / ".benchmarks"


def main() -> int:
    """Run one of them, print, and write the numbers."""
    clean_up_on_sigterm()
    arguments = _parser().parse_args()
    console = Console(soft_wrap=True, highlight=False)
    try:
        found = _run(arguments, console)
    except MissingError as missing:
        print(missing, file=sys.stderr)
        return 1
    facts = machine.facts()
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"load_{arguments.what}.json"
    path.write_text(json.dumps({"machine": facts, "found": found}))
    console.print(machine.sentence(facts))
    console.print(f"Numbers: {path.relative_to(ROOT)}")
    return 1 if failed(found) else 0


def _run(arguments: argparse.Namespace, console: Console) -> dict[str, Any]:
    match arguments.what:
        case "throughput":
            return load_steady.throughput(
                console, rounds=arguments.rounds, seconds=arguments.seconds
            )
        case "soak":
            return load_steady.soak(console, seconds=arguments.seconds)
        case "memory":
            return load_steady.memory(console, requests=arguments.requests)
        case "shutdown":
            return load_faults.shutdown(console, times=arguments.times, workers=arguments.workers)
        case _:
            return load_faults.kill(console, times=arguments.times)


def failed(found: dict[str, Any]) -> bool:
    """Say whether a result, or one inside it, says that it failed."""
    inside = [each for each in found.values() if isinstance(each, dict)]
    return bool(found.get("failed")) or any(map(failed, inside))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Put a defended server under load.")
    kinds = parser.add_subparsers(dest="what", required=True)
    throughput = kinds.add_parser("throughput", help="two workers against one")
    throughput.add_argument("--rounds", type=int, default=6, help="of four runs for each route")
    throughput.add_argument("--seconds", type=int, default=3, help="of each run")
    soak = kinds.add_parser("soak", help="few connections and many; there may be no error")
    soak.add_argument("--seconds", type=int, default=60, help="for each number of connections")
    memory = kinds.add_parser("memory", help="memory of the workers over many requests")
    memory.add_argument("--requests", type=int, default=100_000)
    shutdown = kinds.add_parser("shutdown", help="SIGTERM under load")
    shutdown.add_argument("--times", type=int, default=6)
    shutdown.add_argument("--workers", type=int, default=2)
    kill = kinds.add_parser("kill", help="kill -9 of a worker under load")
    kill.add_argument("--times", type=int, default=2)
    return parser


if __name__ == "__main__":
    sys.exit(main())
