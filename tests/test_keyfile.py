"""Key files under any name; how far they are trusted is tested with the noise key."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from dynaserve.keyfile import SIZE, KeyFile, require_strong


def key_file(path: Path, **options: str) -> KeyFile:
    return KeyFile(path, "corpus key", "name another file", **options)


def test_a_key_is_made_once_for_its_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "corpus.key"
    key = key_file(path).read()
    assert len(key) == SIZE
    assert key == key_file(path).read() == path.read_bytes()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_refusals_say_whose_key_it_is_and_where_another_may_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "corpus.key"
    key = key_file(path).read()
    owner = os.geteuid()
    tmp_path.chmod(0o777)
    with pytest.raises(ValueError, match=r"^corpus key: others can write") as error:
        key_file(path, otherwise="set KEY").read()
    assert str(error.value).endswith("name another file, or set KEY")
    with pytest.raises(ValueError, match="others can write") as error:
        key_file(path).read()
    assert str(error.value).endswith("or name another file")
    tmp_path.chmod(0o700)
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(ValueError, match="corpus key") as error:
        key_file(path).read()
    assert "name another file" in str(error.value)
    assert key.hex() not in str(error.value)


@pytest.mark.parametrize(
    ("key", "error", "message"),
    [
        ("x" * SIZE, TypeError, "here: needs 32 bytes, not str"),
        (b"x" * 31, ValueError, "here: needs exactly 32 bytes, got 31"),
        (bytes(SIZE), ValueError, "here: all bytes are zero"),
    ],
)
def test_weak_keys_are_refused(key: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        require_strong(key, "here")
    require_strong(bytearray(range(SIZE)), "here")
