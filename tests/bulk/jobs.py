"""Jobs that do as tests want; workers import them from here."""

from __future__ import annotations

import errno
import json
import os
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from dynaserve.bulk.errors import StoppedError
from dynaserve.bulk.job import Done, Reject, Work, place
from dynaserve.bulk.reading import read_lines
from dynaserve.bulk.shards import Unit


@dataclass(frozen=True)
class Upper:
    """Writes lines in capitals; the fault says what goes wrong with the row of id 7."""

    fault: str = ""
    notes: str = ""

    command = "upper"
    suffix = "jsonl"

    def configuration(self) -> Mapping[str, Any]:
        return {"case": "upper"}

    def ids(self, unit: Unit) -> Iterator[Sequence[Any]]:
        for line in read_lines(unit):
            yield [json.loads(line)["id"]]

    def start(self) -> Work:
        return partial(self._work)

    def _work(self, unit: Unit, first: int) -> Done:
        lines, rejects = [], []
        for row, line in enumerate(read_lines(unit)):
            own = json.loads(line)["id"]
            if own == 7:
                self._fail(line)
            if own == 7 and self.fault == "reject":
                rejects.append(Reject(own, place(unit, first, row), "failed", "KeyError"))
            else:
                lines.append(line.upper() + b"\n")
        if self.notes:
            Path(self.notes, str(unit.start)).touch()
        return Done(b"".join(lines), len(lines) + len(rejects), tuple(rejects))

    def _fail(self, line: bytes) -> None:
        if self.fault == "full":
            raise OSError(errno.ENOSPC, "No space left on device", "/out/part")
        if self.fault == "bug":
            raise ZeroDivisionError("a bug")
        if self.fault == "quoting":
            raise ValueError(f"what to do with {line.decode()}?")
        if self.fault == "missing":
            raise StoppedError("the worker has no key")
        if self.fault == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(60)


def lines(path: Path, count: int) -> Path:
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text("".join(json.dumps({"id": own, "t": "x" * 20}) + "\n" for own in range(count)))
    return path
