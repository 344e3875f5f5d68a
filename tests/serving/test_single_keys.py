from __future__ import annotations

import doctest
import json

import pytest

from dynaserve.serving import single_keys
from dynaserve.serving.single_keys import TwiceError


def test_an_object_whose_keys_differ_is_read_in_order() -> None:
    text = '{"b": {"a": 1}, "a": [{"a": 2}], "A": null}'
    read = json.loads(text, object_pairs_hook=single_keys.single_keys)
    assert [*read.items()] == [("b", {"a": 1}), ("a", [{"a": 2}]), ("A", None)]


@pytest.mark.parametrize(
    "text", ['{"a": 1, "a": 1}', '[{}, {"b": {"c": 0, "a": 1, "\\u0061": 2}}]']
)
def test_a_key_that_stands_twice_is_named_to_the_caller_alone(text: str) -> None:
    with pytest.raises(TwiceError) as caught:
        json.loads(text, object_pairs_hook=single_keys.single_keys)
    assert caught.value.key == "a"
    assert str(caught.value) == "a key stands twice in one object"


def test_the_example_is_right() -> None:
    result = doctest.testmod(single_keys)
    assert (result.failed, result.attempted) == (0, 2)
