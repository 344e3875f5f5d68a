from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from dynaserve.bulk import fingerprints
from dynaserve.bulk.fingerprints import fingerprint
from dynaserve.bulk.shards import find_shards


def test_the_fingerprint_is_names_sizes_and_a_tree_of_digests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fingerprints, "BLOCK", 4)
    (tmp_path / "a.jsonl").write_bytes(b"0123456789")
    (found,) = fingerprint(find_shards(tmp_path))
    leaves = [hashlib.blake2b(part).digest() for part in (b"0123", b"4567", b"89")]
    assert found.digest == hashlib.blake2b(b"".join(leaves), digest_size=16).hexdigest()
    assert (found.name, found.size) == ("a.jsonl", 10)


def test_any_byte_changes_the_fingerprint(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"a" * 1000)
    before = fingerprint(find_shards(path))
    path.write_bytes(b"a" * 999 + b"b")
    assert fingerprint(find_shards(path)) != before
