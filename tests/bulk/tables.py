"""Parquet files of logits to test with, and what comes of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray


@dataclass(frozen=True)
class Table:
    """Logits in a file, with ids from ``first`` on; the queries are other numbers."""

    path: Path
    logits: NDArray[Any]
    first: int = 0

    @property
    def queries(self) -> NDArray[np.float64]:
        return np.arange(2.0 * len(self.logits)).reshape(-1, 2) + self.first

    @property
    def ids(self) -> list[str]:
        return [f"row-{self.first + row}" for row in range(len(self.logits))]

    def write(self, **options: Any) -> Table:
        table = pa.table(
            {
                "id": self.ids,
                "logits": pa.FixedSizeListArray.from_arrays(
                    pa.array(self.logits.ravel()), self.logits.shape[1]
                ),
                "query": pa.FixedSizeListArray.from_arrays(pa.array(self.queries.ravel()), 2),
            }
        )
        self.path.parent.mkdir(exist_ok=True, parents=True)
        pq.write_table(table, self.path, **options)
        return self


def undecoded(values: list[bytes], kind: Any) -> Any:
    """Return a column of text that need not be UTF-8, as careless programs write it."""
    bare = pa.large_binary() if pa.types.is_large_string(kind) else pa.binary()
    return pa.Array.from_buffers(kind, len(values), pa.array(values, bare).buffers())


def damaged(path: Path, table: Any) -> Path:
    """Write a table whose last page cannot be unpacked; the rest of the file is as it should be."""
    pq.write_table(table, path, use_dictionary=False, compression="zstd")
    content = bytearray(path.read_bytes())
    page = pq.ParquetFile(path).metadata.row_group(0).column(0)
    end = page.data_page_offset + page.total_compressed_size
    content[end - 200 : end] = bytes(200)
    path.write_bytes(content)
    return path


def released(directory: Path) -> tuple[list[Any], NDArray[np.int64], NDArray[np.float32]]:
    """Return ids, labels and probabilities, in the order of the parts."""
    table = pq.read_table(directory)
    rows = [np.asarray(row, np.float32) for row in table["probabilities"].to_pylist()]
    return table["id"].to_pylist(), table["label"].to_numpy(), np.array(rows)
