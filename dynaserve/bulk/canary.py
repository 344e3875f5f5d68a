"""Clusters of conversations in shards, step by step; each step leaves files, or little in memory.

Workers count terms and find clusters; what has to see all conversations at once, the fit and the
counts of users, is done where the command runs. Manifest and canaries never leave that process.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dynaserve.atomic import replace_file
from dynaserve.bulk.canary_jobs import Clusters, Vectors, terms_of
from dynaserve.bulk.canary_rows import read_conversations, require_columns
from dynaserve.bulk.cluster import Place
from dynaserve.bulk.output import LEDGER, LOCK, locked
from dynaserve.bulk.reading import close, read_tables
from dynaserve.bulk.run import Watch, require_apart, run
from dynaserve.bulk.shards import Shard, Stamp, cut, find_shards, require_unchanged, stamps
from dynaserve.canarybench.conversations import Conversation
from dynaserve.canarybench.large import PER_CLUSTER, Model, default_clusters, fit
from dynaserve.canarybench.large_release import Assigned, Selection, user_hash
from dynaserve.canarybench.large_sample import Sample
from dynaserve.canarybench.manifest import CanaryManifest
from dynaserve.canarybench.terms import HASHED

_WORK, _MARK = "_work", "_audit"
_MARKED = b"dynaserve bulk canary-audit\n"
"""What a file in the directory of work says if an audit has made it, and nobody else."""
_PIECE = 1 << 24
_COLUMNS = ("cluster", "user", "similarity", "value", "quotable")


@dataclass
class Corpus:
    """Conversations, and where work on them is kept.

    Attributes
    ----------
    source
        A file or directory of them.
    output
        Where a directory is kept with all that a later run can go on with; it holds ids and
        hashed terms, and is for its owner alone.
    unit_bytes
        About how much a worker takes at a time.
    """

    source: Path
    output: Path
    unit_bytes: int
    shards: tuple[Shard, ...] = field(init=False, repr=False)
    _begun: tuple[Stamp, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        require_apart(self.source, self.output)
        self.shards = find_shards(self.source)
        self._begun = stamps(self.shards)
        require_columns(self.shards)

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """Keep the output for one audit, where there is nothing but what an earlier one left.

        Raises
        ------
        ValueError
            The output holds something else, its work is open to others, or another audit is at it.
        """
        if os.path.lexists(self._work):
            _require_private(self._work)
        if not self._is_marked() and (others := self._others()):
            raise ValueError(
                f"{self.output}: is not empty, and no earlier audit has worked there: holds "
                f"{others[0]}; name another directory"
            )
        self._work.mkdir(mode=0o700, parents=True, exist_ok=True)
        _require_private(self._work)
        with locked(self.output, _WORK):
            if not self._is_marked():
                replace_file(self._work / _MARK, _MARKED, mode=0o600)
            yield

    def _is_marked(self) -> bool:
        mark = self._work / _MARK
        return mark.is_file() and mark.read_bytes() == _MARKED

    def _others(self) -> list[str]:
        """Return the names of what not even an audit that was killed before its mark has made."""
        if not self.output.exists():
            return []
        if not self._work.exists():
            return sorted(each.name for each in self.output.iterdir())
        begun = re.compile(rf"{re.escape(LOCK)}|\.{_MARK}\.[0-9a-f]{{16}}")
        others = [each.name for each in self.output.iterdir() if each.name != _WORK]
        others += [
            f"{_WORK}/{each.name}"
            for each in self._work.iterdir()
            if not begun.fullmatch(each.name)
        ]
        return sorted(others)

    def count(self, where: Place, watch: Watch) -> int:
        """Have the terms of all conversations counted, and return how many there are.

        Raises
        ------
        ValueError, OSError, StoppedError
            As `run`; a row that is no conversation is refused, as are two with one id.
        """
        done = run(
            Vectors(),
            self.source,
            self._vectors,
            where,
            unit_bytes=self.unit_bytes,
            watch=watch,
        )
        if not done.rows:
            raise ValueError(f"{self.source}: holds no conversations")
        return done.rows

    def fit(self, rows: int, clusters: int | None, seed: int) -> Clusters:
        """Find clusters, or those that an earlier run has found, and return what assigns them.

        Parameters
        ----------
        clusters
            How many; None is the square root of ``rows``.
        """
        clusters = clusters or default_clusters(rows)
        # Of the very vectors that are there now, not of those that were there before.
        of = hashlib.blake2b((self._vectors / LEDGER).read_bytes(), digest_size=8).hexdigest()
        path = self._work / f"model-{clusters}-{seed}-{of}.npz"
        if not path.exists():
            self._fitted(rows, clusters, seed).save(path)
        return Clusters.by(path)

    def _fitted(self, rows: int, clusters: int, seed: int) -> Model:
        sample = Sample(PER_CLUSTER * clusters, seed)
        frequency = np.zeros(HASHED, np.int64)
        for batch in _batches(self._vectors, ["id", "terms", "counts"]):
            counts = terms_of(batch)
            frequency += np.bincount(counts.indices, minlength=HASHED)
            sample.add(batch.column("id").to_pylist(), counts)
        return fit(sample.drawn(), frequency, rows, clusters=clusters, seed=seed)

    def assign(self, job: Clusters, where: Place, watch: Watch) -> Assigned:
        """Have the cluster of each conversation found.

        Raises
        ------
        ValueError, OSError, StoppedError
            As `run`.
        """
        path = self._work / job.model.stem.replace("model", "clusters")
        run(job, self._vectors, path, where, unit_bytes=self.unit_bytes, watch=watch)
        pieces = [
            [batch.column(name).to_numpy(zero_copy_only=False) for name in _COLUMNS]
            for batch in _batches(path, _COLUMNS)
        ]
        return Assigned(*(np.concatenate(column) for column in zip(*pieces, strict=True)))

    def read(
        self, assigned: Assigned, selection: Selection, manifest: CanaryManifest
    ) -> tuple[dict[int, Conversation], dict[int, list[str]]]:
        """Return the conversations that were chosen, and the ids of planted ones by cluster.

        Raises
        ------
        ValueError
            A canary is not where the manifest says, so that not to find it would mean nothing;
            or the conversations have changed since they were counted.
        """
        wanted = frozenset(selection.positions.tolist())
        by_conversation = manifest.by_conversation
        texts: dict[int, Conversation] = {}
        planted: dict[int, list[str]] = {}
        there, at = 0, -1
        rows = self._conversations()
        for at, each in zip(range(len(assigned.labels)), rows, strict=False):
            if canaries := by_conversation.get(each.id):
                there += sum(canary.value in each.text for canary in canaries)
                # The manifest's own string: copies of so many would take room.
                own = str(canaries[0].conversation_id)
                planted.setdefault(int(assigned.labels[at]), []).append(own)
            if at in wanted and user_hash(each.user) == int(assigned.users[at]):
                texts[at] = each
        whole = at + 1 == len(assigned.labels) and next(rows, None) is None
        if not whole or len(texts) != len(wanted):
            raise ValueError(f"{self.source}: has changed while it was read; start anew")
        require_unchanged(self.source, self._begun)
        if missing := len(manifest.canaries) - there:
            raise ValueError(
                f"{missing} of the {len(manifest.canaries)} canaries of the manifest do not stand "
                "in their conversations: it belongs to other ones, or these are only a part"
            )
        return texts, planted

    def _conversations(self) -> Iterator[Conversation]:
        for shard in self.shards:
            first = 0
            for unit in cut([shard], self.unit_bytes):
                for each in read_conversations(unit, first):
                    first += 1
                    yield each

    @property
    def _work(self) -> Path:
        return self.output.absolute() / _WORK

    @property
    def _vectors(self) -> Path:
        return self._work / "vectors"


def _require_private(directory: Path) -> None:
    """Refuse a directory that somebody else has made, or that others may open."""
    info = directory.lstat()
    if not stat.S_ISDIR(info.st_mode):
        raise ValueError(f"{directory}: is no directory; move it elsewhere")
    if info.st_uid != os.geteuid() or info.st_mode & 0o077:
        raise ValueError(
            f"{directory}: belongs to somebody else or is open to others (mode "
            f"{stat.S_IMODE(info.st_mode):04o}); it holds ids and hashed terms of conversations: "
            "name another OUT, or delete it"
        )


def _batches(directory: Path, columns: Sequence[str]) -> Iterator[Any]:
    for unit in cut(find_shards(directory), _PIECE):
        yield from read_tables(unit, columns)
    close()
