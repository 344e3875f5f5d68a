"""Fingerprints: equal for equal configurations, different for different ones."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dynaserve.mia.shadows.fingerprint import fingerprint


@dataclass(frozen=True)
class Config:
    rate: float
    data: Any = None


def double(x: float) -> float:
    return 2 * x


@pytest.mark.parametrize(
    "make",
    [
        lambda: Config(0.1, np.arange(3)),
        lambda: make_pipeline(StandardScaler(), LogisticRegression(C=2.0)),
        lambda: functools.partial(double, x=3),
        lambda: {"a": [1, None, True, "b"], "f": double, "c": Config},
    ],
)
def test_equal_values_have_equal_fingerprints(make: Any) -> None:
    assert fingerprint(make()) == fingerprint(make())


def test_different_values_have_different_fingerprints() -> None:
    values = [
        Config(0.1),
        Config(0.2),
        Config,
        Config(0.1, np.arange(3)),
        Config(0.1, np.arange(3).astype(np.int32)),
        Config(0.1, np.arange(3)[::-1]),
        Config(0.1, np.arange(4).reshape(2, 2)),
        Config(0.1, np.arange(4)),
        LogisticRegression(C=1.0),
        LogisticRegression(C=2.0),
        double,
        functools.partial(double, 1),
        functools.partial(double, 2),
    ]
    assert len({fingerprint(value) for value in values}) == len(values)


def test_what_has_no_name_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot be resumed with a function in it"):
        fingerprint({"loss": lambda: None})
    with pytest.raises(ValueError, match="a object in it"):
        fingerprint([object()])


@dataclass(frozen=True)
class _Watched:
    trainer: str
    log: object = field(compare=False)


def test_what_does_not_count_in_a_comparison_does_not_tell_runs_apart() -> None:
    assert fingerprint(_Watched("one", object())) == fingerprint(_Watched("one", object()))
    assert fingerprint(_Watched("one", 1)) != fingerprint(_Watched("two", 1))
