"""Every public class shows how it is used; the examples run."""

from __future__ import annotations

import doctest
import importlib

import pytest


@pytest.mark.parametrize(
    ("module", "owner"),
    [
        ("dynaserve.defenses.dynanoise.defense", "DynaNoise"),
        ("dynaserve.defenses.dynanoise.config", "DynaNoiseConfig"),
        ("dynaserve.defenses.rank_template.defense", "RankTemplate"),
        ("dynaserve.defenses.rank_template.public_reference", "PublicReference"),
        ("dynaserve.defenses.undefended", "Undefended"),
        ("dynaserve.defenses.keys", "NoiseKey"),
        ("dynaserve.defenses.files", "load_defense"),
    ],
)
def test_the_example_runs(module: str, owner: str) -> None:
    loaded = importlib.import_module(module)
    found = {test.name: test for test in doctest.DocTestFinder().find(loaded)}
    example = found[f"{module}.{owner}"]
    assert example.examples, f"{owner} has no example"
    assert doctest.DocTestRunner().run(example).failed == 0
