"""What tells, from one run to the next, whether files are those that they were: digests."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

from dynaserve.bulk.shards import Shard

BLOCK = 1 << 25
"""Bytes that one digest covers; several are computed at a time."""
_PIECE = 1 << 20


@dataclass(frozen=True)
class Fingerprint:
    """What a file was when its digest was computed.

    Attributes
    ----------
    name, size
        As in `Shard`.
    digest
        BLAKE2b (RFC 7693), 16 bytes in hexadecimal, over the digests of its blocks.
    """

    name: str
    size: int
    digest: str


def fingerprint(shards: Sequence[Shard]) -> tuple[Fingerprint, ...]:
    """Return what tells whether files changed: names, sizes and a digest of every byte."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # hashing and reading let other threads run
        return tuple(
            Fingerprint(shard.name, shard.size, _digest_of(shard, pool)) for shard in shards
        )


def _digest_of(shard: Shard, pool: ThreadPoolExecutor) -> str:
    whole = hashlib.blake2b(digest_size=16)
    for digest in pool.map(partial(_block_digest, shard.path), range(0, shard.size, BLOCK)):
        whole.update(digest)
    return whole.hexdigest()


def _block_digest(path: Path, start: int) -> bytes:
    block = hashlib.blake2b()
    with path.open("rb") as file:
        file.seek(start)
        for piece in _pieces(file, BLOCK):
            block.update(piece)
    return block.digest()


def _pieces(file: IO[bytes], count: int) -> Iterator[bytes]:
    while count and (piece := file.read(min(_PIECE, count))):
        count -= len(piece)
        yield piece
