"""Workers that are threads of the test: what runs in them is seen, and starts at once."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dynaserve.bulk import job as job_module
from dynaserve.bulk import reading
from dynaserve.bulk import run as run_module
from dynaserve.bulk.cluster import Place
from tests.bulk.gate import Gate
from tests.bulk.tables import Table

distributed = pytest.importorskip("distributed")
pytest.importorskip("pyarrow")


@pytest.fixture(scope="session")
def client() -> Iterator[Any]:
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0"
    )
    with cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture
def here(client: Any, monkeypatch: pytest.MonkeyPatch) -> list[Place]:
    """Have runs use those workers; return where they were told to work."""
    asked: list[Place] = []

    @contextmanager
    def connected(where: Place) -> Iterator[Any]:
        asked.append(where)
        yield client

    monkeypatch.setattr(run_module, "connected", connected)
    return asked


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    """Have each test begin with a worker that has seen no run."""
    yield
    job_module._works.clear()
    job_module._ended.clear()
    reading.close()


@pytest.fixture
def dask_log(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """Return what Dask logs of calls that fail, however silent earlier tests have made it."""
    logger = logging.getLogger("distributed.worker")
    logger.addHandler(caplog.handler)
    with caplog.at_level(logging.DEBUG, logger=logger.name):
        yield caplog
    logger.removeHandler(caplog.handler)


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    return Gate.within(tmp_path)


@pytest.fixture
def logits(tmp_path: Path) -> Table:
    """Return 500 rows of 7 classes, in row groups of 120."""
    values = np.random.default_rng(0).normal(0, 3, (500, 7)).astype(np.float32)
    return Table(tmp_path / "logits.parquet", values).write(row_group_size=120)
