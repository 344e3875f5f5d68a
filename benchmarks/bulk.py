"""Work over large files: throughput with 1 and 2 workers, memory, and what a killed run comes to.

python -m benchmarks.bulk defend                                  # small, to see that it runs
python -m benchmarks.bulk defend --rows 1000000 --classes 100     # the table in docs/scaling.md
python -m benchmarks.bulk anonymize --texts 200000 --data ../shared/data --kills 5

``defend`` times whole commands, start and end of Dask included, and beside that the work alone as
the command's own progress tells it: from when workers begin with rows to when the last is done.
Workers take turns, so that a slow spell of the machine hits both; the best of each counts.

It fails if outputs differ, if a worker holds more than `LIMIT`, if two workers do the work of
`LARGE` rows or more less than `SPEEDUP` times as fast as one, or if there were fewer kills than
asked for.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import json
import os
import random
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from benchmarks.bulk_command import Command, Timing
from dynaserve import DynaNoise

ROW_GROUP = 65_536
MIB = 2**20
LIMIT = 1024
"""MiB that a worker may hold."""
LARGE, SPEEDUP = 500_000, 1.6
"""From so many rows on, two workers have to do the work so many times as fast as one."""
VERSION = "made-up-logits"
HEADER = "workers  seconds  per second   work, s per second  MiB/worker"


def best_of(taken: list[Timing]) -> Timing:
    """Return the best times of some runs, and the most memory."""
    return Timing(
        min(each.seconds for each in taken),
        min(each.work for each in taken),
        max(each.peak for each in taken),
    )


def require_small(timing: Timing) -> None:
    """Hold the limit of memory.

    Raises
    ------
    SystemExit
        A worker has held more.
    """
    if timing.peak > LIMIT:
        raise SystemExit(f"a worker held {timing.peak:.0f} MiB, more than {LIMIT}")


def require_faster(rows: int, speedup: float) -> None:
    """Hold the limit of how much faster two workers are, for so many rows that it counts.

    Raises
    ------
    SystemExit
        They are less.
    """
    if rows >= LARGE and speedup < SPEEDUP:
        raise SystemExit(f"2 workers do the work {speedup:.2f} times as fast, less than {SPEEDUP}")


def line_of(workers: int, rows: int, timing: Timing) -> str:
    """Return a line of the table."""
    return (
        f"{workers:>7}{timing.seconds:>9.1f}{rows / timing.seconds:>11,.0f}{timing.work:>9.1f}"
        f"{rows / timing.work:>11,.0f}{timing.peak:>12.0f}"
    )


def logits(rows: int, classes: int) -> Iterator[NDArray[np.float32]]:
    """Yield row groups of made-up logits."""
    generator = np.random.default_rng(0)
    for start in range(0, rows, ROW_GROUP):
        shape = (min(ROW_GROUP, rows - start), classes)
        yield generator.normal(0, 3, shape).astype(np.float32)


def write_logits(path: Path, rows: int, classes: int) -> None:
    """Write them with whole numbers for ids."""
    schema = pa.schema({"id": pa.int64(), "logits": pa.list_(pa.float32(), classes)})
    first = 0
    with pq.ParquetWriter(path, schema) as writer:
        for group in logits(rows, classes):
            ids = pa.array(np.arange(first, first + len(group)))
            values = pa.FixedSizeListArray.from_arrays(pa.array(group.ravel()), classes)
            writer.write_table(pa.table([ids, values], schema))
            first += len(group)


def require_equal(output: Path, rows: int, classes: int) -> None:
    """Compare with one call of the defense in this process, bit for bit.

    Raises
    ------
    RuntimeError
        A number differs.
    """
    every = np.concatenate(list(logits(rows, classes)))
    defense = DynaNoise.keyed(model_version=VERSION)
    expected = defense(every, queries=every).view(np.uint32)
    first = 0
    for part in sorted(output.glob("part-*")):
        table = pq.read_table(part)
        values = table["probabilities"].combine_chunks().flatten().to_numpy().view(np.uint32)
        last = first + len(table)
        same = np.array_equal(values.reshape(-1, classes), expected[first:last])
        if not same or not np.array_equal(table["id"].to_numpy(), np.arange(first, last)):
            raise RuntimeError(f"{part}: differs from one call in one process")
        first = last
    if first != rows:
        raise RuntimeError(f"{output}: {first} rows for {rows}")


def defend(directory: Path, arguments: argparse.Namespace) -> None:
    """Time the defense with 1 and 2 workers, and print a table."""
    rows, classes, source = arguments.rows, arguments.classes, directory / "logits.parquet"
    write_logits(source, rows, classes)
    print(f"{rows:,} rows of {classes} classes, {source.stat().st_size / MIB:.0f} MiB of Parquet")
    timings: dict[int, list[Timing]] = {1: [], 2: []}
    for turn in range(arguments.turns):
        for workers in (1, 2) if turn % 2 == 0 else (2, 1):
            output = directory / f"out-{turn}-{workers}"
            options = ("--query-from", "logits", "--model-version", VERSION, "--workers", workers)
            timings[workers].append(Command("defend", source, output, *options).ends())
            require_equal(output, rows, classes)
            shutil.rmtree(output)
    print(HEADER)
    best = {workers: best_of(taken) for workers, taken in timings.items()}
    for workers, timing in best.items():
        print(line_of(workers, rows, timing))
        require_small(timing)
    whole, work = best[1].seconds / best[2].seconds, best[1].work / best[2].work
    print(f"2 workers are {whole:.2f} times as fast as 1, and {work:.2f} times in the work alone")
    print("every run equals one call of the defense in one process, bit for bit")
    require_faster(rows, work)


def corpus(data: Path) -> list[str]:
    """Return the texts of the corpora that are there.

    Raises
    ------
    SystemExit
        There are none.
    """
    texts: list[str] = []
    file = data / "synthpai" / "comments_eval_revised.jsonl.gz"
    if file.exists():
        with gzip.open(file, "rt") as lines:
            texts += [each["text"] for line in lines for each in json.loads(line)["comments"]]
    file = data / "llmprivacy" / "synthetic_dataset.jsonl"
    if file.exists():
        texts += [json.loads(line)["response"] for line in file.read_text().splitlines()]
    file = data / "presidio" / "synth_dataset_v2.json"
    if file.exists():
        texts += [each["full_text"] for each in json.loads(file.read_text())]
    file = data / "banking77" / "train.csv"
    if file.exists():
        with file.open(newline="") as rows:
            texts += [row["text"] for row in csv.DictReader(rows)]
    if not texts:
        raise SystemExit(f"{data}: holds no texts; see --data")
    return texts


def write_texts(path: Path, texts: list[str], count: int) -> None:
    """Write so many texts, repeated if need be, with ids of their own."""
    with path.open("w") as file:
        for number in range(count):
            row = {"id": f"text-{number}", "text": texts[number % len(texts)]}
            file.write(json.dumps(row) + "\n")


def digest_of(output: Path) -> str:
    """Return a digest of all that a run has written."""
    content = hashlib.blake2b(digest_size=16)
    for path in [*sorted(output.glob("part-*")), *output.glob("_rejects.jsonl")]:
        content.update(path.name.encode() + path.read_bytes())
    return content.hexdigest()


def killed_run(run: tuple[object, ...], output: Path, moments: list[float]) -> None:
    """Run it and kill it again and again, then let it end.

    Parameters
    ----------
    moments
        Seconds after which to kill it, each time.

    Raises
    ------
    SystemExit
        It ended before it was killed so often.
    """
    for killed, moment in enumerate(moments):
        command = Command(*run)
        with suppress(subprocess.TimeoutExpired):
            command.process.wait(moment)
        if command.process.poll() is not None:
            command.ends()
            raise SystemExit(f"it ended after {killed} of {len(moments)} kills; try more texts")
        command.kill()
        print(f"killed with {len(list(output.glob('part-*')))} parts done", flush=True)
    Command(*run).ends()


def moments_of(seed: int, kills: int, seconds: float) -> list[float]:
    """Return random moments to kill a run at that takes so many seconds, each of its share."""
    generator = random.Random(seed)
    return [generator.uniform(0, seconds / kills) for _ in range(kills)]


def anonymize(directory: Path, arguments: argparse.Namespace) -> None:
    """Time the anonymizer with 1 and 2 workers, and compare with a run that is killed."""
    count, source = arguments.texts, directory / "texts.jsonl"
    texts = corpus(arguments.data)
    write_texts(source, texts, count)
    different, size = min(count, len(texts)), source.stat().st_size / MIB
    print(f"{count:,} texts, {different:,} of them different, {size:.1f} MiB")
    print(HEADER)
    digests = {}
    for workers in arguments.workers:
        output = directory / f"out-{workers}"
        taken = Command("anonymize", source, output, "--workers", workers).ends()
        digests[f"{workers} workers"] = digest_of(output)
        print(line_of(workers, count, taken), flush=True)
        require_small(taken)
    output = directory / "killed"
    run = ("anonymize", source, output, "--workers", arguments.workers[-1])
    print(f"killed at moments of --seed {arguments.seed}")
    killed_run(run, output, moments_of(arguments.seed, arguments.kills, taken.seconds))
    digests[f"killed {arguments.kills} times"] = digest_of(output)
    if len(set(digests.values())) > 1:
        raise SystemExit(f"the outputs differ: {digests}")
    print(f"the same output, byte for byte: {', '.join(digests)}")


def main() -> None:
    """Measure one kind of work in a directory that goes when it is done."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    kinds = parser.add_subparsers(required=True)
    one = kinds.add_parser("defend")
    one.add_argument("--rows", type=int, default=20_000)
    one.add_argument("--classes", type=int, default=100)
    one.add_argument("--turns", type=int, default=2)
    one.set_defaults(measure=defend)
    other = kinds.add_parser("anonymize")
    other.add_argument("--texts", type=int, default=400)
    other.add_argument("--data", type=Path, default=Path("../shared/data"))
    other.add_argument("--kills", type=int, default=2)
    other.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(32))
    other.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    other.set_defaults(measure=anonymize)
    for each in (one, other):
        each.add_argument("--directory", type=Path, help="Where there is room for the files.")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.directory) as name:
        os.environ["DYNASERVE_STATE_DIR"] = str(Path(name, "state"))  # a key for this run alone
        arguments.measure(Path(name), arguments)


if __name__ == "__main__":
    main()
