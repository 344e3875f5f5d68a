from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from dynaserve import DynaNoise, DynaNoiseConfig
from dynaserve.defenses.dynanoise.config import checked_config

GOOD = {"base_variance": 0.3, "sensitivity_scale": 2.0, "temperature": 10.0}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("base_variance", -1e-9),
        ("base_variance", float("nan")),
        ("base_variance", float("inf")),
        ("base_variance", 1e10),
        ("base_variance", None),
        ("sensitivity_scale", -1.0),
        ("sensitivity_scale", float("inf")),
        ("temperature", "1"),
        ("temperature", True),
        ("preserve_top1", "yes"),
        ("preserve_top1", 1),
        ("model_version", "\ud800"),
        ("temperature", 0.0),
        ("temperature", -1.0),
        ("temperature", 1e-12),
        ("temperature", float("inf")),
        ("noise", "sticky"),
        ("preserve_top1", "perhaps"),
        ("model_version", 3),
        ("seed", 7),
    ],
)
def test_a_wrong_field_is_named_in_one_line(field: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"^DynaNoise: {field}[=:]") as caught:
        checked_config(**GOOD | {field: value})
    assert "\n" not in str(caught.value)
    with pytest.raises(ValidationError):
        DynaNoiseConfig(**GOOD | {field: value})


def test_the_constructors_name_a_wrong_parameter() -> None:
    with pytest.raises(ValueError, match=r"^DynaNoise: temperature=0: "):
        DynaNoise.paper(temperature=0)
    with pytest.raises(ValueError, match=r"^DynaNoise: base_variance=-1: "):
        DynaNoise.keyed(key=b"k" * 32, base_variance=-1)


@pytest.mark.parametrize("field", ["key", "noise", "temperature", "model_version"])
@pytest.mark.parametrize("secret", [b"SECRET", ["SECRET"]])
def test_what_is_in_the_wrong_place_is_never_echoed(field: str, secret: Any) -> None:
    for make in (DynaNoiseConfig, checked_config):
        with pytest.raises(ValueError, match=field) as caught:
            make(**GOOD | {field: secret})
        assert "SECRET" not in str(caught.value)


def test_a_number_of_an_unknown_field_is_not_echoed() -> None:
    with pytest.raises(ValueError, match=r"^DynaNoise: seed: Extra") as caught:
        checked_config(**GOOD, seed=4711)
    assert "4711" not in str(caught.value)


def test_a_config_is_frozen() -> None:
    config = DynaNoiseConfig(**GOOD)
    with pytest.raises(ValidationError, match="frozen"):
        config.temperature = 1.0  # type: ignore[misc]


def test_numpy_scalars_are_numbers() -> None:
    config = checked_config(**GOOD | {"base_variance": np.float32(0.5), "temperature": np.int64(2)})
    assert (config.base_variance, config.temperature) == (0.5, 2.0)
    assert type(config.base_variance) is float


def test_the_canonical_bytes_hold_everything_but_the_version() -> None:
    config = DynaNoiseConfig(**GOOD, model_version="v1")
    assert config.canonical() == DynaNoiseConfig(**GOOD, model_version="v2").canonical()
    for change in (
        {"base_variance": 0.30000000000000004},
        {"sensitivity_scale": 0.0},
        {"temperature": 1.0},
        {"noise": "keyed"},
        {"preserve_top1": True},
    ):
        assert config.canonical() != DynaNoiseConfig(**GOOD | change).canonical()
