from __future__ import annotations

import base64
import copy
import errno
import os
import pickle
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dynaserve.defenses.keys import NoiseKey

SECRET = bytes(range(32))


def fingerprint(key: NoiseKey) -> bytes:
    return key.blake2b(16).digest()


def test_a_given_key_wins_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DYNASERVE_NOISE_KEY", "ff" * 32)
    assert fingerprint(NoiseKey.resolve(SECRET)) == fingerprint(NoiseKey(SECRET))
    key = NoiseKey(SECRET)
    assert NoiseKey.resolve(key) is key


@pytest.mark.parametrize(
    "text",
    [
        SECRET.hex(),
        SECRET.hex().upper(),
        base64.b64encode(SECRET).decode(),
        base64.b64encode(SECRET).decode().rstrip("="),
        base64.urlsafe_b64encode(SECRET).decode(),
        f"  {SECRET.hex()}\n",
    ],
)
def test_the_environment_may_hold_hex_or_base64(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DYNASERVE_NOISE_KEY", text)
    assert fingerprint(NoiseKey.resolve()) == fingerprint(NoiseKey(SECRET))


@pytest.mark.parametrize("text", ["", "abc", "zz" * 32, SECRET.hex()[:-2], "!" * 44, "ab" * 33])
def test_a_wrong_environment_key_is_refused_and_not_echoed(
    text: str, monkeypatch: pytest.MonkeyPatch, state_directory: Path
) -> None:
    monkeypatch.setenv("DYNASERVE_NOISE_KEY", text)
    with pytest.raises(ValueError, match="DYNASERVE_NOISE_KEY: needs 64 hex") as caught:
        NoiseKey.resolve()
    assert len(text) < 4 or text not in str(caught.value)
    assert not state_directory.exists()


@pytest.mark.parametrize("secret", [b"", b"k" * 31, b"k" * 33])
def test_a_key_of_another_length_is_refused(secret: bytes) -> None:
    with pytest.raises(ValueError, match=f"needs exactly 32 bytes, got {len(secret)}"):
        NoiseKey.resolve(secret)


def test_a_key_of_zeros_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="all bytes are zero"):
        NoiseKey(bytes(32))
    monkeypatch.setenv("DYNASERVE_NOISE_KEY", "00" * 32)
    with pytest.raises(ValueError, match="DYNASERVE_NOISE_KEY: all bytes are zero"):
        NoiseKey.resolve()


def test_text_is_no_key() -> None:
    with pytest.raises(TypeError, match="needs 32 bytes, not str"):
        NoiseKey("k" * 32)  # type: ignore[arg-type]


def test_the_key_file_is_made_once_for_the_owner_alone(state_directory: Path) -> None:
    first, second = NoiseKey.resolve(), NoiseKey.resolve()
    path = state_directory / "noise.key"
    assert fingerprint(first) == fingerprint(second)
    assert fingerprint(first) == fingerprint(NoiseKey(path.read_bytes()))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(state_directory.iterdir()) == [path]


def test_racing_processes_end_up_with_one_key(state_directory: Path) -> None:
    code = (
        "import sys; from dynaserve.defenses.keys import NoiseKey; sys.stdin.read(1);"
        "print(NoiseKey.resolve().blake2b(16).hexdigest())"
    )
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(6)
    ]
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("g")
        racer.stdin.flush()
    prints = {racer.communicate()[0].strip() for racer in racers}
    assert prints == {fingerprint(NoiseKey.resolve()).hex()}
    assert [path.name for path in state_directory.iterdir()] == ["noise.key"]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o660, 0o620])
def test_a_key_file_that_others_can_reach_is_refused(mode: int, state_directory: Path) -> None:
    NoiseKey.resolve()
    (state_directory / "noise.key").chmod(mode)
    with pytest.raises(ValueError, match=f"others can read it .mode {mode:04o}.; run chmod 600"):
        NoiseKey.resolve()


def test_a_key_file_of_another_user_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    NoiseKey.resolve()
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(ValueError, match=f"belongs to user {owner}, not to user {owner + 1}"):
        NoiseKey.resolve()


@pytest.mark.parametrize("mode", [0o770, 0o702, 0o777, 0o1777])
@pytest.mark.parametrize("there", [False, True], ids=["no key yet", "a key"])
def test_a_directory_in_which_others_can_write_keeps_no_key(
    mode: int, there: bool, state_directory: Path
) -> None:
    if there:
        NoiseKey.resolve()
    state_directory.mkdir(exist_ok=True)
    state_directory.chmod(mode)
    with pytest.raises(ValueError, match=f"others can write .* .mode {mode:04o}.; run chmod go-w"):
        NoiseKey.resolve()
    assert (state_directory / "noise.key").exists() == there


def test_a_directory_that_others_can_only_read_keeps_a_key(state_directory: Path) -> None:
    state_directory.mkdir(mode=0o755)
    assert fingerprint(NoiseKey.resolve()) == fingerprint(NoiseKey.resolve())


def test_without_hard_links_the_error_names_the_variable(
    state_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def link(*_: Any) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", link)
    with pytest.raises(
        OSError, match=r"hard links.* DYNASERVE_STATE_DIR, or set DYNASERVE_NOISE_KEY"
    ):
        NoiseKey.resolve()
    assert list(state_directory.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"short", b"x" * 33, SECRET.hex().encode()])
def test_a_key_file_of_another_length_is_refused(content: bytes, state_directory: Path) -> None:
    NoiseKey.resolve()
    (state_directory / "noise.key").write_bytes(content)
    with pytest.raises(ValueError, match=r"noise\.key: needs exactly 32 bytes"):
        NoiseKey.resolve()


@pytest.mark.timeout(30)
@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, lambda path: path.symlink_to("nowhere")])
def test_what_is_no_regular_file_is_no_key_file(
    make: Callable[[Path], None], state_directory: Path
) -> None:
    state_directory.mkdir()
    make(state_directory / "noise.key")
    assert NoiseKey.exists()
    with pytest.raises(ValueError, match=r"noise key file .*noise\.key: is .*; delete it"):
        NoiseKey.resolve()


def test_a_link_to_a_key_file_is_followed(state_directory: Path) -> None:
    key = NoiseKey.resolve()
    path = state_directory / "noise.key"
    path.rename(state_directory / "kept")
    path.symlink_to("kept")
    assert fingerprint(NoiseKey.resolve()) == fingerprint(key)


@pytest.mark.parametrize("copier", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_key_is_never_pickled_or_copied(copier: Any) -> None:
    with pytest.raises(TypeError, match="cannot be pickled or copied"):
        copier(NoiseKey(SECRET))


def test_a_key_shows_nothing_of_itself() -> None:
    key = NoiseKey(SECRET)
    assert {repr(key), str(key), f"{key}", f"{[key]}"[1:-1]} == {"NoiseKey(hidden)"}
    assert not hasattr(key, "__dict__")


def test_source_names_the_file_that_the_key_is_read_from(state_directory: Path) -> None:
    assert NoiseKey.source() == f"none yet; {state_directory}/noise.key is made at first use"
    assert not NoiseKey.exists()
    assert not state_directory.exists()
    NoiseKey.resolve()
    assert NoiseKey.source() == f"file {state_directory}/noise.key"


def test_source_names_the_variable_and_not_its_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DYNASERVE_NOISE_KEY", "ab" * 32)
    assert NoiseKey.source() == "environment (DYNASERVE_NOISE_KEY)"
