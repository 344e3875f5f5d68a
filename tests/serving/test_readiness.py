from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dynaserve import _core
from dynaserve.defenses import DynaNoise
from dynaserve.serving import readiness as module
from dynaserve.serving.batching import Batches
from dynaserve.serving.readiness import Readiness, Watched
from dynaserve.serving.scoring import Scorer
from dynaserve.serving.telemetry.counts import LUMP, LUMP_ROWS, REGISTRY

KEY = bytes(range(32))
ROW = np.zeros((1, 3))


@dataclass
class Model:
    """Answers with its inputs as logits, when it may; rows of 666 are broken."""

    name: str = "echo"
    version: str = "v1"
    dtype: np.dtype[Any] = ROW.dtype
    input_shape: tuple[int | None, ...] = (3,)
    classes: list[str | int] = field(default_factory=lambda: ["a", "b", "c"])
    broken: bool = False
    shapes: list[tuple[int, ...]] = field(default_factory=list)
    go: threading.Event = field(default_factory=threading.Event)

    def logits(self, inputs: NDArray[Any]) -> NDArray[Any]:
        self.shapes.append(inputs.shape)
        assert self.go.wait(20)
        if self.broken:
            raise RuntimeError("broken")
        return inputs


@pytest.fixture
def model() -> Iterator[Model]:
    model = Model()
    model.go.set()
    yield model
    model.go.set()


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Stand in for the clock by which calls went well."""
    now = [1000.0]
    monkeypatch.setattr(module, "monotonic", lambda: now[0])
    return now


def ready(model: Model) -> tuple[Readiness, Batches]:
    defense = DynaNoise.keyed(key=KEY, model_version="v1")
    watched = Watched(Scorer(model, defense), ROW)
    batches = Batches(watched, max_rows=8)
    return Readiness(watched, batches), batches


def counts() -> dict[str, float]:
    return {
        sample.name + str(sample.labels): sample.value
        for metric in REGISTRY.collect()
        for sample in metric.samples
        if not sample.name.endswith("_created")
    }


def test_a_good_answer_holds_for_a_second(model: Model, now: list[float]) -> None:
    async def run() -> list[bool]:
        is_ready, _ = ready(model)
        found = [await is_ready() for _ in range(50)]
        assert model.shapes == [(1, 3)]
        model.broken = True
        now[0] += 0.9
        found += [await is_ready()]
        now[0] += 0.2
        found += [await is_ready(), await is_ready()]
        model.broken = False
        return [*found, await is_ready()]

    assert asyncio.run(run()) == [True] * 51 + [False] * 2 + [True]
    assert len(model.shapes) == 4


def test_a_request_that_was_answered_is_answer_enough(model: Model, now: list[float]) -> None:
    async def run() -> bool:
        is_ready, batches = ready(model)
        await batches(np.ones((2, 3)))
        return await is_ready()

    assert asyncio.run(run())
    assert model.shapes == [(2, 3)]


def test_nobody_counts_the_made_up_row(model: Model, now: list[float]) -> None:
    """Neither as a row, a call or a repeat, nor as a label kept, which a tie often is."""

    async def run() -> None:
        is_ready, batches = ready(model)
        await batches(ROW)  # the same row, and a client's
        before, rows, repeated = counts(), LUMP.rows, LUMP.repeated
        not_told = _core.labels_kept() - LUMP.told
        for _ in range(20):
            now[0] += 2
            assert await is_ready()
        assert counts() == before
        assert (LUMP.rows, LUMP.repeated) == (rows, repeated)
        assert _core.labels_kept() - LUMP.told == not_told
        await batches(ROW)
        assert (LUMP.rows - rows) % LUMP_ROWS == 1

    asyncio.run(run())
    assert len(model.shapes) == 22


def test_it_shares_no_call_with_requests(model: Model, now: list[float]) -> None:
    async def run() -> None:
        is_ready, batches = ready(model)
        model.go.clear()
        asking = [asyncio.create_task(batches(np.ones((1, 3))))]
        await asyncio.sleep(0.05)
        asking += [asyncio.create_task(each) for each in (is_ready(), batches(np.ones((1, 3))))]
        await asyncio.sleep(0.05)
        model.go.set()
        found = await asyncio.gather(*asking)
        assert found[1] is True

    asyncio.run(run())
    assert model.shapes == [(1, 3)] * 3


def test_a_model_that_others_keep_busy_is_ready_and_one_that_is_stuck_is_not(
    model: Model, now: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PROBE_SECONDS", 0.05)

    async def run() -> list[bool]:
        is_ready, batches = ready(model)
        await batches(np.ones((1, 3)))
        model.go.clear()
        batches.paces.clear()  # or the next call would run at once
        stuck = asyncio.create_task(batches(np.ones((8, 3))))
        found = []
        for _ in range(4):
            now[0] += 3
            found.append(await is_ready())
        model.go.set()
        await stuck
        return [*found, await is_ready()]

    assert asyncio.run(run()) == [True, True, True, False, True]
    assert model.shapes[:2] == [(1, 3), (8, 3)]


def test_who_asks_meanwhile_waits_for_the_same_row(model: Model, now: list[float]) -> None:
    async def run() -> list[bool]:
        is_ready, _ = ready(model)
        return await asyncio.gather(*(is_ready() for _ in range(20)))

    assert asyncio.run(run()) == [True] * 20
    assert model.shapes == [(1, 3)]
