"""The counts of all workers of one server, out of the files that each of them counts in.

What dead workers have counted stays in the sum, or it would fall, but not in files of their own:
it is folded into one for each kind, or a server whose workers come and go would fill its folder.
Their gauges go: nothing is in flight there any more, and a worker that was killed could not say so.

All of it happens under a lock on the folder, and takes effect with the renaming of one directory:
whoever is killed on the way has neither lost nor doubled a count.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from prometheus_client import Metric
from prometheus_client.mmap_dict import MmapedDict
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

SUMS = ("counter", "histogram", "summary")
"""The kinds whose files hold nothing but what can be added up, key by key."""
DEAD = "dead-"
"""Directories of what dead workers have counted; the one with the highest number counts."""
ENTRY_BYTES = 28
"""Most that an entry of a file takes beside its key: a length, padding, and two numbers."""


class Workers(Collector):
    """Adds up the files in a folder."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)

    def collect(self) -> Iterable[Metric]:
        """Return the sums, without the gauges of workers that are gone."""
        with locked(self.folder):
            dead = settled(self.folder)
            claim(self.folder, dead)
            with suppress(OSError):  # a full disk: they count as well where they are
                dead = folded(dead)
            files = [
                str(file)
                for place in (self.folder, dead)
                for file in place.glob("*.db")
                if file.stat().st_size  # else its worker is just making it
            ]
            # prometheus_client is typed, but not here.
            found: Iterable[Metric] = MultiProcessCollector.merge(files)  # type: ignore[no-untyped-call]
        for metric in found:
            if metric.type == "histogram":
                metric.samples.sort(key=place_of)
            yield metric


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep all others that read the folder away, threads of this process too."""
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def settled(folder: Path) -> Path:
    """Return the directory of the dead, having removed what the one before it has left."""
    *old, dead = sorted(folder.glob(f"{DEAD}*"), key=number_of) or [folder / f"{DEAD}0"]
    for each in old:
        shutil.rmtree(each, ignore_errors=True)
    return dead


def claim(folder: Path, dead: Path) -> None:
    """Move the sums of dead workers to the dead, and remove their gauges.

    A new process may get the id of a dead one, and would count on in its file. It cannot have come
    that far since it was found dead: it has to start Python first.
    """
    for file in folder.glob("*_*.db"):
        kind, pid = file.stem.split("_")[0], file.stem.rpartition("_")[2]
        if not pid.isdecimal() or is_alive(int(pid)):
            continue
        if file.name.startswith("gauge_live") or not file.stat().st_size:
            file.unlink(missing_ok=True)
        elif kind in SUMS:
            with suppress(OSError):
                dead.mkdir(exist_ok=True)
                file.rename(dead / f"{kind}_{secrets.token_hex(8)}.db")


def folded(dead: Path) -> Path:
    """Return a directory of the dead with one file for each kind; the same if it is one already."""
    files = {kind: list(dead.glob(f"{kind}_*.db")) for kind in SUMS}
    if all(len(each) <= 1 for each in files.values()):
        return dead
    fresh = dead.with_name("new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir()
    for kind, each in files.items():
        if each:
            write_sums(fresh / f"{kind}_sum.db", sums_of(each))
    after = fresh.rename(dead.with_name(f"{DEAD}{number_of(dead) + 1}"))  # from here on it counts
    shutil.rmtree(dead, ignore_errors=True)
    return after


def sums_of(files: Iterable[Path]) -> dict[str, float]:
    """Return the sum of each key's values; buckets of a histogram do not hold one another here."""
    sums: dict[str, float] = defaultdict(float)
    for file in files:
        # prometheus_client is typed, but not here.
        for key, value, _, _ in MmapedDict.read_all_values_from_file(file):  # type: ignore[no-untyped-call]
            sums[key] += value
    return sums


def write_sums(path: Path, sums: dict[str, float]) -> None:
    """Write a file as a worker does.

    Its room is taken up first: on a full disk that is an error, and writing to a map of it a
    signal that kills.
    """
    path.write_bytes(bytes(8 + sum(len(key.encode()) + ENTRY_BYTES for key in sums)))
    file = MmapedDict(str(path))  # type: ignore[no-untyped-call]
    try:
        for key, value in sums.items():
            file.write_value(key, value, 0.0)  # type: ignore[no-untyped-call]
    finally:
        file.close()  # type: ignore[no-untyped-call]


def number_of(dead: Path) -> int:
    """Return the number of a directory of the dead."""
    return int(dead.name.removeprefix(DEAD))


def is_alive(pid: int) -> bool:
    """Whether there is such a process, whoever's."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def place_of(sample: Sample) -> tuple[list[tuple[str, str]], str]:
    """Return a key that orders a histogram's samples as the formats want: buckets, count, sum."""
    labels = sorted(item for item in sample.labels.items() if item[0] != "le")
    return labels, sample.name
