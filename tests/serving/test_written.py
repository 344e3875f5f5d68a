from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import orjson
import pytest
from numpy.typing import NDArray

from dynaserve.serving.written import PART_NUMBERS, written_in_parts


def rows_of(*shape: int, dtype: type[Any] = np.float64) -> NDArray[Any]:
    return np.random.default_rng(0).random(shape).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "shape",
    [
        (1, 3),
        (1, PART_NUMBERS + 1),
        (2, PART_NUMBERS),
        (PART_NUMBERS + 1, 1),
        (1025, 70),  # the last part is smaller
    ],
)
def test_it_is_what_is_written_at_once(shape: tuple[int, int], dtype: type[Any]) -> None:
    rows = rows_of(*shape, dtype=dtype)
    document = {"labels": ["a]}", 7], "rows": rows}
    expected = orjson.dumps(document, option=orjson.OPT_SERIALIZE_NUMPY)
    assert asyncio.run(written_in_parts(document)) == expected


def test_others_have_their_turn_between_the_parts() -> None:
    async def run(rows: NDArray[Any]) -> int:
        turns = 0

        async def others() -> None:
            nonlocal turns
            while True:
                await asyncio.sleep(0)
                turns += 1

        task = asyncio.create_task(others())
        await asyncio.sleep(0)
        await written_in_parts({"rows": rows})
        task.cancel()
        return turns

    assert asyncio.run(run(rows_of(64, PART_NUMBERS // 4))) >= 15
