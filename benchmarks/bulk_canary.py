"""A large audit from end to end: seconds of each step, memory of all processes, what leaks.

python -m benchmarks.bulk_canary                              # small, to see that it runs
python -m benchmarks.bulk_canary --conversations 1000000      # the figures in docs/scaling.md

Plants canaries in synthetic conversations and runs ``dynaserve bulk canary-audit`` twice, as a
process of its own: defended from the start, then undefended with the clusters that are there.
Memory is what command and workers hold together, looked at five times a second; pages that they
share count for each.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import psutil

from benchmarks.bulk_command import COMMAND
from dynaserve.canarybench import plant
from dynaserve.canarybench.canaries import KINDS
from dynaserve.canarybench.conversations import write_conversations
from dynaserve.canarybench.corpus import generate
from dynaserve.canarybench.planting import PROBABILITY
from dynaserve.cli.bulk_canary import STEPS

MIB = 2**20
LIMIT = 4096
"""MiB that all processes may hold together."""
SHARD = 50_000


def write_planted(
    directory: Path, manifest: Path, count: int, probability: float
) -> tuple[int, int]:
    """Write so many planted conversations in shards; return how many bytes and canaries they have.

    Canaries are of all kinds: of the paper's four there are too few different phone numbers.
    """
    planted, secrets = plant(generate(count, seed=0), probability=probability, kinds=KINDS, seed=0)
    secrets.save(manifest)
    for start in range(0, count, SHARD):
        path = directory / f"part-{start:08d}.jsonl"
        write_conversations(path, planted[start : start + SHARD])
    size = sum(path.stat().st_size for path in directory.iterdir())
    return size, len(secrets.canaries)


@dataclass
class Audit:
    """A run of the command."""

    seconds: dict[str, float]
    """Of each step."""
    peak: float
    """MiB of all processes together."""
    code: int
    report: Any = field(repr=False)


def audit(*arguments: object) -> Audit:
    """Run the command, and return how it went.

    Raises
    ------
    RuntimeError
        There is no verdict; the message holds what it said.
    """
    command = [*COMMAND, "canary-audit", *map(str, arguments), "--json"]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    begun: list[tuple[str, float]] = [("start", time.perf_counter())]
    said: list[str] = []
    with (
        tempfile.TemporaryFile("w+") as out,
        subprocess.Popen(
            command, env=environment, stdout=out, stderr=subprocess.PIPE, text=True
        ) as process,
    ):
        assert process.stderr is not None
        reader = threading.Thread(target=_listen, args=(process.stderr, said, begun))
        reader.start()
        peak = 0.0
        while process.poll() is None:
            peak = max(peak, memory_of(process.pid))
            time.sleep(0.2)
        reader.join()
        begun.append(("end", time.perf_counter()))
        if process.returncode not in {0, 1}:
            raise RuntimeError("".join(said))
        out.seek(0)
        report = json.load(out)
    seconds = {step: end - start for (step, start), (_, end) in pairwise(begun)}
    return Audit(seconds, peak, process.returncode, report)


def _listen(lines: Iterable[str], said: list[str], begun: list[tuple[str, float]]) -> None:
    """Note what the command says, and when it begins with a step."""
    for line in lines:
        said.append(line)
        with suppress(ValueError):
            told = json.loads(line)
            if told.keys() == {"step"} and told["step"] in STEPS:
                begun.append((told["step"], time.perf_counter()))


def memory_of(process: int) -> float:
    """Return what a process and all that it has started hold, in MiB."""
    with suppress(psutil.Error):
        parent = psutil.Process(process)
        held = 0
        for each in (parent, *parent.children(recursive=True)):
            with suppress(psutil.Error):
                held += each.memory_info().rss
        return held / MIB
    return 0.0


def print_run(name: str, run: Audit) -> None:
    """Print the steps of a run, and what it found."""
    steps = ", ".join(f"{step} {seconds:.1f}" for step, seconds in run.seconds.items())
    print(f"{name}: {sum(run.seconds.values()):.1f} s ({steps}), {run.peak:.0f} MiB")
    report = run.report
    held_back = len(report["suppressed"]["clusters"])
    for what in ("canary", "cluster"):
        rate = report[f"{what}_rate"]
        print(f"  {what} rate: {rate['found']} of {rate['total']}, at most {rate['high']:.3%}")
    print(f"  {len(report['clusters'])} clusters published, {held_back} held back")


def main() -> None:
    """Measure in a directory that goes when it is done.

    Raises
    ------
    SystemExit
        The defended release leaks, the undefended one does not, or there is too much in memory.
    """
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--conversations", type=int, default=3000)
    parser.add_argument("--probability", type=float, default=PROBABILITY)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--directory", type=Path, help="Where there is room for the files.")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.directory) as name:
        source, output, manifest = (Path(name, each) for each in ("in", "out", "secret.json"))
        source.mkdir()
        started = time.perf_counter()
        size, canaries = write_planted(
            source, manifest, arguments.conversations, arguments.probability
        )
        print(
            f"{arguments.conversations:,} conversations, {size / MIB:.0f} MiB, {canaries:,} "
            f"canaries, made in {time.perf_counter() - started:.0f} s",
            flush=True,
        )
        options = [source, output, "--manifest", manifest, "--workers", arguments.workers]
        options += ["--summarizer", "extractive"]
        defended = audit(*options)
        print_run("defended", defended)
        undefended = audit(*options, "--defense", "none")
        print_run("undefended, clusters kept", undefended)
        if (defended.code, undefended.code) != (0, 1):
            raise SystemExit("the defended release has to pass and the undefended one to leak")
        if (peak := max(defended.peak, undefended.peak)) > LIMIT:
            raise SystemExit(f"{peak:.0f} MiB are more than {LIMIT}")


if __name__ == "__main__":
    main()
