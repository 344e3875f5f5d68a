from __future__ import annotations

import numpy as np
import pytest
from tritonclient.utils import triton_to_np_dtype

from dynaserve.serving.inference.datatypes import DATATYPES, datatype_of


@pytest.mark.parametrize("name", DATATYPES)
def test_names_mean_what_they_mean_to_tritons_client(name: str) -> None:
    assert DATATYPES[name] == triton_to_np_dtype(name)
    assert DATATYPES[name].newbyteorder("<") == DATATYPES[name]
    assert datatype_of(DATATYPES[name]) == name


def test_numbers_are_all_there_is() -> None:
    assert {dtype.kind for dtype in DATATYPES.values()} == {"f", "i", "u"}
    assert datatype_of(np.dtype(">f4")) == "FP32"
