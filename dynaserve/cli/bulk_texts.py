"""The job of ``dynaserve bulk anonymize``: the texts of a unit through a worker's anonymizer.

It fails closed: a text comes out only if it is releasable. The key of consistent replacements is
in no job: a worker reads the file, and a keyed hash tells whether it is the same.
"""

from __future__ import annotations

import hashlib
import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from dynaserve.bulk.errors import StoppedError
from dynaserve.bulk.job import Done, Reject, Work, place
from dynaserve.bulk.same_key import SIZE, check_of
from dynaserve.bulk.shards import Format, Unit
from dynaserve.cli.anonymize_records import Fields, Record
from dynaserve.cli.bulk_records import read_unit, written
from dynaserve.keyfile import KeyFile
from dynaserve.serving.anonymizers import Runs, make_anonymizers, pseudonyms_of
from dynaserve.serving.settings import AnonymizationSettings

_END = 1 << 20
"""Bytes of a model file to look at, at each of its ends."""
_NO_TABLE = "pseudonyms: OSError"
"""Why a run failed whose table of consistent replacements could not be used; no fault of a text."""


@dataclass(frozen=True)
class ModelFacts:
    """What tells a model file from others, on all machines the same, without reading all of it.

    Of weights in several files, the first.

    Attributes
    ----------
    name
        Of the file, wherever it is.
    size
        Bytes.
    ends
        BLAKE2b (RFC 7693), 16 bytes in hexadecimal, of its first and last MiB.
    """

    name: str
    size: int
    ends: str


def model_facts(model: str | None) -> ModelFacts | None:
    """Return what is known of a model file; None if it is none, but another kind of name."""
    if model is None or not Path(model).is_file():
        return None
    path = Path(model)
    with path.open("rb") as file:
        first = file.read(_END)
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _END))
        ends = hashlib.blake2b(first + file.read(_END), digest_size=16)
    return ModelFacts(path.name, size, ends.hexdigest())


@dataclass(frozen=True)
class Texts:
    """A `Job` that anonymizes texts.

    Attributes
    ----------
    settings
        How.
    fields
        What fields or columns are called.
    format
        Of input and output.
    keep_texts
        Whether rejects hold their texts.
    key
        `key_check` of the key of consistent replacements, None if they are not.
    model
        `model_facts` of a model file, by which another one is told; None if there is none.
    """

    settings: AnonymizationSettings
    fields: Fields
    format: Format
    keep_texts: bool
    key: str | None
    model: ModelFacts | None

    command = "anonymize"

    @classmethod
    def by(
        cls, settings: AnonymizationSettings, fields: Fields, kind: Format, *, keep_texts: bool
    ) -> Texts:
        """Return the job for settings, with the key and the model file that are there.

        Raises
        ------
        ValueError, OSError
            The key cannot be read or made.
        """
        key = None
        if settings.consistent is not None:
            pseudonyms_of(Path(settings.consistent))  # makes the key if it is not there
            key = key_check(Path(settings.consistent))
        return cls(settings, fields, kind, keep_texts, key, model_facts(settings.model))

    @property
    def suffix(self) -> str:
        """See `Job`."""
        return self.format.value

    def configuration(self) -> Mapping[str, Any]:
        """See `Job`."""
        where = {"allow_remote", "consistent"}  # which change nothing of a text
        told = self.settings.model_dump(mode="json", exclude=where)
        if self.model is not None:
            told["model"] = asdict(self.model)  # wherever it is
        return {
            **told,
            "fields": asdict(self.fields),
            "rejected_texts": self.keep_texts,
            "consistent_key": self.key,
        }

    def ids(self, unit: Unit) -> Iterator[Sequence[Any]]:
        """See `Job`."""
        yield [each.id for each in read_unit(unit, 0, self.fields)]

    def start(self) -> Work:
        """See `Job`."""
        if self.key is not None:
            _require_key(Path(str(self.settings.consistent)), self.key)
        if self.model is not None and model_facts(self.settings.model) != self.model:
            raise StoppedError(
                f"the worker on {socket.gethostname()} has another model in {self.settings.model} "
                "than this process, or none; give both the same file under the same path"
            )
        anonymizer = make_anonymizers(self.settings)[self.settings.mode]
        return partial(_anonymized, self, anonymizer)


def _anonymized(job: Texts, anonymizer: Runs, unit: Unit, first: int) -> Done:
    """Anonymize a unit; see `Work`."""
    lines: list[dict[str, Any]] = []
    rejects: list[Reject] = []
    for row, read in enumerate(read_unit(unit, first, job.fields)):
        if isinstance(read, Record):
            where = place(unit, first, row)
            came = _line(job, anonymizer, read, where)
        else:
            came = read
        if isinstance(came, Reject):
            rejects.append(came)
        else:
            lines.append(came)
    return Done(written(unit, lines, job.fields), len(lines) + len(rejects), tuple(rejects))


def _line(job: Texts, anonymizer: Runs, record: Record, where: str) -> dict[str, Any] | Reject:
    """Return what is written of a text, or why it is not."""
    text = record.text if job.keep_texts else None
    try:
        result = anonymizer.run(record.text)
        if result.releasable:
            return job.fields.line(record, result)
    except MemoryError:
        raise  # says nothing of the text
    except OSError as error:  # nor does this: a later run has another disk to write to
        why = error.strerror or type(error).__name__
        raise StoppedError(f"a worker on {socket.gethostname()}: {why}") from None
    except Exception as error:
        return Reject(record.id, where, "failed", type(error).__name__, text)
    if result.outage:
        raise StoppedError(f"the model is not there: {result.reason}")
    if result.reason == _NO_TABLE:
        raise StoppedError(
            f"a worker on {socket.gethostname()} cannot read or write the table of replacements "
            f"beside {job.settings.consistent}: is its disk full, or held by another process?"
        )
    return Reject(record.id, where, result.status.value, result.reason, text)


def key_check(path: Path) -> str:
    """Return a keyed hash by which two processes know that they read the same key."""
    key = KeyFile(path, "pseudonym key", "name a file in a directory of your own").read()
    return check_of(hashlib.blake2b(key=key, digest_size=SIZE))


def _require_key(path: Path, check: str) -> None:
    """Refuse to go on with another key than the run began with, or to make one."""
    here = f"the worker on {socket.gethostname()}"
    if not path.is_file():
        raise StoppedError(f"{here} does not see the key file {path}; put the same one there")
    if key_check(path) != check:
        raise StoppedError(f"{here} has another key in {path} than this process; give both one")
