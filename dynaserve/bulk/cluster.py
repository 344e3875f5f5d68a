"""Where units are worked on: processes of this machine, or a Dask cluster that is there already.

It starts, finds and leaves clusters, and knows nothing of the work.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from dynaserve.bulk.errors import StoppedError
from dynaserve.extras import needing

_PATIENCE = 30
"""Seconds to wait for a scheduler, and for its first worker."""
_LOOPBACK = "127.0.0.1"
_ENCRYPTED = {"tls", "wss"}
_PROTOCOLS = {"tcp", "ws", *_ENCRYPTED}
_ADDRESS = "address of a scheduler, such as tcp://10.0.0.5:8786"
_BLANK = re.compile(r"[\s\0]")


@dataclass(frozen=True)
class Place:
    """Where to work.

    Attributes
    ----------
    workers
        Processes of this machine; None is one for each core that this process may use, as Dask
        counts them.
    scheduler
        Address of a cluster instead, such as ``tcp://10.0.0.5:8786``.
    """

    workers: int | None = None
    scheduler: str | None = None

    def __post_init__(self) -> None:
        if self.scheduler is not None:
            _require_address(self.scheduler)
        if self.workers is not None and self.scheduler is not None:
            raise ValueError("--workers starts workers here, --scheduler uses those of a cluster")


def _require_address(address: str) -> None:
    """Refuse what Dask would try in vain for long, or with an error of another kind.

    Raises
    ------
    ValueError
        Which does not repeat what may hold a password.
    """
    if "@" in address:
        raise ValueError(
            "--scheduler has a user or password in it, which Dask has no use for; give the "
            f"{_ADDRESS}"
        )
    with suppress(ValueError):  # as of a port that is none
        told = urlsplit(address if "://" in address else f"tcp://{address}")
        bare = not (told.path or told.query or told.fragment or _BLANK.search(address))
        if told.scheme in _PROTOCOLS and told.hostname and told.port and bare:
            return
    raise ValueError(f"--scheduler {address!r} is no {_ADDRESS}")


def require_dask() -> Any:
    """Return ``distributed``.

    Raises
    ------
    ImportError
        Naming the extra that has it.
    """
    with needing("bulk work needs Dask and cryptography", extra="bulk"):
        import cryptography  # noqa: F401, PLC0415 - makes the certificates of local workers
        import distributed  # noqa: PLC0415 - optional
    return distributed


@contextmanager
def connected(where: Place) -> Iterator[Any]:
    """Yield a ``distributed.Client`` of workers; those of this machine end with it.

    Local workers speak TLS with a certificate of this run: whoever reaches the port of a Dask
    worker can run code as its user, and a port of this machine is open to all its users.

    Raises
    ------
    StoppedError
        There is no scheduler at that address, or it has no workers.
    """
    distributed = require_dask()
    if where.scheduler is not None:
        with _closing(_client_of(distributed, where.scheduler)) as client:
            yield client
        return
    cluster = distributed.LocalCluster(
        n_workers=where.workers,
        threads_per_worker=1,
        processes=True,
        host=_LOOPBACK,
        dashboard_address=f"{_LOOPBACK}:0",
        protocol="tls",
        security=True,
        silence_logs=logging.CRITICAL,
    )
    with _closing(cluster), _closing(distributed.Client(cluster)) as client:
        yield client


def _client_of(distributed: Any, address: str) -> Any:
    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # what goes wrong is said in our words
    _require_certificates(distributed, address)
    try:
        client = distributed.Client(address, timeout=_PATIENCE)
    except (OSError, ValueError, distributed.TimeoutError):
        raise StoppedError(
            f"{address}: no Dask scheduler answers there within {_PATIENCE} s"
        ) from None
    try:
        client.wait_for_workers(1, timeout=_PATIENCE)
    except distributed.TimeoutError:  # which is Python's own from 3.11 on
        with _closing(client):
            raise StoppedError(
                f"{address}: the scheduler has no workers; start some with: dask worker {address}"
            ) from None
    return client


def _require_certificates(distributed: Any, address: str) -> None:
    """Refuse an address that takes certificates if there are none.

    A client that finds out by itself is left half-made, and blocks the next one when it goes.
    """
    where = "in Dask's configuration, under distributed.comm.tls"
    try:
        told = distributed.Security().get_connection_args("client")
    except (OSError, ValueError):
        raise StoppedError(f"the certificates {where} cannot be read") from None
    encrypted = address.partition("://")[0] in _ENCRYPTED
    if told["ssl_context"] is None if encrypted else told["require_encryption"]:
        raise StoppedError(
            f"{address}: takes certificates to speak with; name them {where}, and give an address "
            "of tls://"
        )


@contextmanager
def _closing(closed: Any) -> Iterator[Any]:
    try:
        yield closed
    finally:
        with suppress(OSError, require_dask().TimeoutError):  # what has gone need not be closed
            closed.close()
