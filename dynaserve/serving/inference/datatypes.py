"""The protocol's names of types, and the numpy types behind them: little-endian, as on the wire.

Those are the numbers that a classifier takes. Booleans are none, as in JSON, and text is none.
"""

from __future__ import annotations

from typing import Any

import numpy as np

DATATYPES: dict[str, np.dtype[Any]] = {
    **{f"FP{8 * size}": np.dtype(f"<f{size}") for size in (2, 4, 8)},
    **{f"INT{8 * size}": np.dtype(f"<i{size}") for size in (1, 2, 4, 8)},
    **{f"UINT{8 * size}": np.dtype(f"<u{size}") for size in (1, 2, 4, 8)},
}
FP32, INT64, BYTES = "FP32", "INT64", "BYTES"


def datatype_of(dtype: np.dtype[Any]) -> str:
    """Return what the protocol calls a numpy type of numbers.

    Examples
    --------
    >>> datatype_of(np.dtype(np.float64))
    'FP64'
    """
    return {"f": "FP", "i": "INT", "u": "UINT"}[dtype.kind] + str(8 * dtype.itemsize)
