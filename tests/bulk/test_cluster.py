from __future__ import annotations

import math
import os
import re
import socket
import ssl
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dynaserve.bulk import cluster
from dynaserve.bulk import run as run_module
from dynaserve.bulk.cluster import Place, connected, require_dask
from dynaserve.bulk.errors import StoppedError
from dynaserve.bulk.run import Summary, Watch, run
from dynaserve.bulk.shards import require_arrow
from dynaserve.cli import app
from tests.bulk.jobs import Upper, lines


def test_workers_are_started_or_found_not_both() -> None:
    with pytest.raises(ValueError, match="--workers starts workers here, --scheduler uses those"):
        Place(2, "tcp://127.0.0.1:1")


@pytest.mark.parametrize(
    "address",
    [
        "", " ", "foo", "127.0.0.1", "tcp://", "tcp://a", "tcp://:8786", "tcp://[::1", "[::1]",
        "tcp://a:99999", "tcp://a:0", "tcp://a:b", "tcp://a:-1", "http://a:8786", "ucx://",
        "ucx://a:1", "://a:1", "tcp://a:1/b", "tcp://a:1?b", "tcp://a:1#b", "tcp://a b:1",
        "tcp://a:1\n",
    ],
)  # fmt: skip
def test_what_is_no_address_of_a_scheduler_is_said_at_once(address: str) -> None:
    said = f"--scheduler {address!r} is no address of a scheduler, such as tcp://10.0.0.5:8786"
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        Place(scheduler=address)


@pytest.mark.parametrize(
    "address",
    ["tcp://a:1", "tls://10.0.0.5:8786", "ws://a.b:80", "wss://a:443", "tcp://[::1]:65535", "a:1"],
)
def test_an_address_of_a_scheduler_is_taken_as_it_is(address: str) -> None:
    assert Place(scheduler=address).scheduler == address


@pytest.mark.parametrize("command", ["defend", "anonymize", "canary-audit"])
def test_a_password_in_an_address_is_refused_and_not_repeated(tmp_path: Path, command: str) -> None:
    source, out = lines(tmp_path / "a.jsonl", 1), tmp_path / "out"
    told = ["bulk", command, str(source), str(out), "--scheduler", "tcp://me:hunter2@10.0.0.5:8786"]
    told += ["--manifest", str(source)] if command == "canary-audit" else []
    result = CliRunner().invoke(app, told)
    assert result.exit_code == 2
    assert "has a user or password in it" in result.stderr
    assert "hunter2" not in result.output + result.stderr
    assert "such as tcp://10.0.0.5:8786" in result.stderr
    assert not out.exists()


@pytest.mark.parametrize("name", ["distributed", "cryptography", "pyarrow"])
def test_without_the_extra_it_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    need = require_arrow if name == "pyarrow" else require_dask
    with pytest.raises(ImportError, match=r'pip install "dynaserve\[bulk\]"'):
        need()


def test_a_scheduler_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "_PATIENCE", 0.2)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{unused.getsockname()[1]}"
        with (
            pytest.raises(StoppedError, match=f"{address}: no Dask scheduler"),
            connected(Place(scheduler=address)),
        ):
            pass


@pytest.mark.parametrize(
    ("address", "told", "said"),
    [
        ("tls://127.0.0.1:1", {}, "tls://127.0.0.1:1: takes certificates"),
        (
            "tcp://127.0.0.1:1",
            {"distributed.comm.require-encryption": True},
            "tcp://127.0.0.1:1: takes certificates",
        ),
        (
            "tls://127.0.0.1:1",
            {
                "distributed.comm.tls.ca-file": "/no.pem",
                "distributed.comm.tls.client.cert": "/no.pem",
            },
            "the certificates in Dask's configuration, under distributed.comm.tls cannot be read",
        ),
    ],
)
def test_an_address_that_takes_certificates_says_where_to_name_them(
    address: str, told: dict[str, Any], said: str
) -> None:
    import dask

    with (
        dask.config.set(told),
        pytest.raises(StoppedError, match=re.escape(said)) as caught,
        connected(Place(scheduler=address)),
    ):
        pass
    assert "distributed.comm.tls" in str(caught.value)


def test_a_scheduler_without_workers_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    import distributed

    monkeypatch.setattr(cluster, "_PATIENCE", 1)
    here = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "protocol": "tcp"}
    with distributed.LocalCluster(n_workers=0, processes=False, **here) as empty:
        where = Place(scheduler=empty.scheduler_address)
        with pytest.raises(StoppedError, match="start some with: dask worker"), connected(where):
            pass


def test_a_time_out_that_is_not_pythons_own_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    import distributed

    class LateError(Exception):
        """As Dask's is up to Python 3.10."""

    class Client:
        def __init__(self, *_: Any, **__: Any) -> None:
            pass

        def wait_for_workers(self, *_: Any, **__: Any) -> None:
            raise LateError

        def close(self) -> None:
            raise LateError

    monkeypatch.setattr(distributed, "TimeoutError", LateError)
    monkeypatch.setattr(distributed, "Client", Client)
    with (
        pytest.raises(StoppedError, match="the scheduler has no workers"),
        connected(Place(scheduler="tcp://127.0.0.1:1")),
    ):
        pass


def test_dask_counts_the_cores_where_nobody_says_how_many_workers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import distributed

    class StartedError(Exception):
        pass

    asked: list[Any] = []

    def cluster_of(**options: Any) -> None:
        asked.append(options["n_workers"])
        raise StartedError

    monkeypatch.setattr(distributed, "LocalCluster", cluster_of)
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)  # as on macOS
    for workers in (None, 3):
        with pytest.raises(StartedError), connected(Place(workers)):
            pass
    assert asked == [None, 3]


def pid(_: Any = None) -> int:
    return os.getpid()


def test_workers_are_processes_that_speak_tls_and_outlive_a_deadly_unit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = lines(tmp_path / "a.jsonl", 100)
    with connected(Place(workers=2)) as client:
        addresses = client.nthreads()
        assert len(addresses) == 2
        assert set(addresses.values()) == {1}
        assert len({os.getpid(), *client.run(pid).values()}) == 3
        assert all(address.startswith("tls://127.0.0.1:") for address in addresses)
        port = int(client.scheduler.address.rpartition(":")[2])
        stranger = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        stranger.check_hostname, stranger.verify_mode = False, ssl.CERT_NONE
        with (
            socket.create_connection(("127.0.0.1", port), 10) as connection,
            pytest.raises((ssl.SSLError, ConnectionError)),  # it has no certificate of the run
            stranger.wrap_socket(connection) as wrapped,
        ):
            wrapped.recv(1)
        client.cluster.scheduler.allowed_failures = 0
        monkeypatch.setattr(run_module, "connected", lambda _: nullcontext(client))
        output = tmp_path / "out"
        # The only deadly unit, and none of those that waited on the workers which it ended.
        said = r"a\.jsonl, bytes 0 to 500: it ended every worker that tried it \(.*: 1\);"
        with pytest.raises(StoppedError, match=said):
            run(Upper("kill"), source, output, Place(), unit_bytes=500, watch=Watch())
        units = math.ceil(source.stat().st_size / 500)
        parts = [part.name for part in sorted(output.glob("part-*"))]
        assert parts == [f"part-{number:09d}.jsonl" for number in range(1, units)]
        again = run(Upper(), source, output, Place(), unit_bytes=500, watch=Watch())
        first = (output / "part-000000000.jsonl").read_bytes().count(b"\n")
        assert again == Summary(100, 100 - first, 0)
