from __future__ import annotations

import hmac
import logging
import os
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dynaserve.serving.access import ring as module
from dynaserve.serving.access.errors import UnauthenticatedError
from dynaserve.serving.access.records import KeyRecord
from dynaserve.serving.access.ring import Client, KeyRing
from dynaserve.serving.refused import LaterError, RefusedError
from tests.serving.access.conftest import Clock, KeyFile, key_of

ID, OTHER = "a" * 12, "b" * 12
NOON = datetime(2026, 6, 1, 12, tzinfo=timezone.utc)


@pytest.fixture
def ring(key_file: KeyFile, ticks: Clock) -> Iterator[KeyRing]:
    key_file.put(ID, rows_per_day=5, requests_per_second=1.5)
    return KeyRing(key_file.path)


def test_a_key_stands_for_its_client(ring: KeyRing) -> None:
    assert ring.client_of(key_of(ID)) == Client(ID, "client", 1.5, 5)


@pytest.mark.parametrize(
    "presented",
    [
        "",
        key_of(OTHER),
        key_of(ID)[:-1],
        key_of(ID) + "0",
        key_of(ID).upper(),
        "Bearer",
        f"dyn_{ID}_{'0' * 64}",
        f"dyn_{OTHER}_{key_of(ID)[-64:]}",
        "ü" * 81,
        "\x00",
        "\udcff",
    ],
)
def test_anything_else_is_nobody(ring: KeyRing, presented: str) -> None:
    with pytest.raises(UnauthenticatedError):
        ring.client_of(presented)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text() | st.from_regex(r"dyn_[0-9a-f]{12}_[0-9a-f]{64}", fullmatch=True))
def test_no_text_is_an_error_or_a_key(ring: KeyRing, presented: str) -> None:
    with pytest.raises(UnauthenticatedError):
        ring.client_of(presented)


def test_expired_and_revoked_keys_look_like_unknown_ones(
    key_file: KeyFile, ticks: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    key_file.put(ID, expires=NOON)
    key_file.put(OTHER, revoked=NOON)
    ring = KeyRing(key_file.path)
    wall = Clock(NOON.timestamp() - 0.5)
    monkeypatch.setattr(module.time, "time", wall)
    assert ring.client_of(key_of(ID)).id == ID
    wall.step(0.5)
    told = set()
    for presented in (key_of(ID), key_of(OTHER), key_of("c" * 12)):
        with pytest.raises(UnauthenticatedError) as error:
            ring.client_of(presented)
        told.add((str(error.value), error.value.status, error.value.reason))
    assert len(told) == 1
    assert ticks.seconds == 1_000_000  # no clock but the wall's decides


def test_secrets_are_compared_in_constant_time_also_for_an_unknown_id(
    ring: KeyRing, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = []
    really = hmac.compare_digest

    def compare(one: bytes, other: bytes) -> bool:
        compared.append((len(one), len(other)))
        return really(one, other)

    monkeypatch.setattr(module.hmac, "compare_digest", compare)
    ring.client_of(key_of(ID))
    for wrong in (f"dyn_{ID}_{'0' * 64}", key_of(OTHER), "garbage"):
        with pytest.raises(UnauthenticatedError):
            ring.client_of(wrong)
    assert compared == [(32, 32)] * 4


def test_an_unknown_id_is_nobody_even_if_digests_were_equal(
    ring: KeyRing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module.hmac, "compare_digest", lambda *_: True)
    with pytest.raises(UnauthenticatedError):
        ring.client_of(key_of(OTHER))


def test_a_revocation_works_within_a_second(ring: KeyRing, key_file: KeyFile, ticks: Clock) -> None:
    key_file.put(ID, revoked=NOON)
    ticks.step(0.9)
    assert ring.client_of(key_of(ID)).id == ID
    ticks.step(0.1)
    with pytest.raises(UnauthenticatedError):
        ring.client_of(key_of(ID))


def test_a_new_key_works_without_a_restart(ring: KeyRing, key_file: KeyFile, ticks: Clock) -> None:
    key_file.put(OTHER)
    ticks.step(1)
    assert ring.client_of(key_of(OTHER)).id == OTHER


def test_the_file_is_looked_at_once_a_second_and_read_only_if_it_changed(
    ring: KeyRing, ticks: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = []
    stat = os.stat
    monkeypatch.setattr(module.os, "stat", lambda path: looked.append(path) or stat(path))
    monkeypatch.setattr(module, "read_records", lambda _: pytest.fail("read again"))
    for _ in range(30):
        ring.client_of(key_of(ID))
        ticks.step(0.125)
    assert looked == [ring.path] * 3


def look(ring: KeyRing, ticks: Clock) -> None:
    """Have the ring look at the file, and wait until it has read it."""
    ticks.step(1)
    with suppress(RefusedError):
        ring.client_of(key_of(ID))
    if ring._reading is not None:
        ring._reading.join()


@pytest.mark.parametrize("small", [0, 10**9], ids=["on a thread", "at once"])
@pytest.mark.parametrize("damage", ["gone", "garbage", "deep", "writable", "directory"])
def test_a_file_that_breaks_lets_nobody_in_until_it_is_whole(
    ring: KeyRing,
    key_file: KeyFile,
    ticks: Clock,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    damage: str,
    small: int,
) -> None:
    monkeypatch.setattr(module, "SMALL_BYTES", small)
    content = key_file.path.read_bytes()
    if damage == "writable":
        key_file.path.chmod(0o666)
    else:
        key_file.path.unlink()
        if damage == "garbage":
            key_file.path.write_bytes(b"hush = hush")
        elif damage == "deep":
            key_file.path.write_bytes(b"hush = " + b"[" * 100_000)
        elif damage == "directory":
            key_file.path.mkdir()
    with caplog.at_level(logging.ERROR):
        for _ in range(5):
            look(ring, ticks)
            with pytest.raises(LaterError) as error:
                ring.client_of(key_of(ID))
            assert (error.value.status, error.value.seconds) == (503, 1)
    assert len(caplog.messages) == 1
    assert "hush" not in caplog.text
    if damage == "directory":
        key_file.path.rmdir()
    key_file.path.unlink(missing_ok=True)
    key_file.path.write_bytes(content)
    key_file.path.chmod(0o600)
    look(ring, ticks)
    assert ring.client_of(key_of(ID)).id == ID


def test_a_large_file_is_read_by_a_thread_and_the_keys_of_before_hold_until_then(
    ring: KeyRing, key_file: KeyFile, ticks: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SMALL_BYTES", 0)
    go, read_by = threading.Event(), []
    read_records = module.read_records

    def read(path: Path) -> dict[str, KeyRecord]:
        found = read_records(path)
        read_by.append(threading.get_ident())
        assert go.wait(20)
        return found

    monkeypatch.setattr(module, "read_records", read)
    key_file.put(OTHER)
    for _ in range(3):
        ticks.step(1)
        assert ring.client_of(key_of(ID)).id == ID
        with pytest.raises(UnauthenticatedError):
            ring.client_of(key_of(OTHER))
    while not read_by:
        time.sleep(0.01)
    key_file.put(ID, revoked=NOON)  # after it was read: the next look shows
    go.set()
    assert ring._reading is not None
    ring._reading.join()
    assert ring.client_of(key_of(OTHER)).id == OTHER
    look(ring, ticks)
    with pytest.raises(UnauthenticatedError):
        ring.client_of(key_of(ID))
    assert len(read_by) == 2
    assert threading.get_ident() not in read_by


def test_without_a_thread_to_read_it_nobody_gets_in(
    ring: KeyRing, key_file: KeyFile, ticks: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(module, "SMALL_BYTES", 0)
    monkeypatch.setattr(threading.Thread, "start", fail)
    key_file.put(ID, revoked=NOON)
    ticks.step(1)
    with pytest.raises(LaterError):
        ring.client_of(key_of(ID))


def test_whatever_goes_wrong_while_it_is_read_lets_nobody_in(
    ring: KeyRing,
    key_file: KeyFile,
    ticks: Clock,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(_: object) -> None:
        raise RecursionError("hush")

    monkeypatch.setattr(module, "read_records", fail)
    key_file.put(ID, revoked=NOON)
    ticks.step(1)
    for _ in range(3):
        with pytest.raises(LaterError):
            ring.client_of(key_of(ID))
    assert caplog.messages == ["nobody gets in: RecursionError"]


def test_a_file_that_is_wrong_at_the_start_is_said_then(key_file: KeyFile) -> None:
    with pytest.raises(FileNotFoundError, match="keys create"):
        KeyRing(key_file.path)
    key_file.put(ID)
    key_file.path.chmod(0o666)
    with pytest.raises(ValueError, match="others can write"):
        KeyRing(key_file.path)


def test_no_key_and_no_digest_shows(ring: KeyRing) -> None:
    assert key_of(ID)[-64:] not in repr(vars(ring))
    assert "sha256" not in repr(vars(ring))
