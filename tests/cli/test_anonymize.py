from __future__ import annotations

from typing import Any

import pytest

from dynaserve.serving.settings import AnonymizationSettings
from tests.cli.anonymized import TEXT, Fake

pytestmark = pytest.mark.usefixtures("fake")


def test_options_reach_the_anonymizer(pipe: Any, fake: Fake) -> None:
    done = pipe(
        TEXT, "--mode", "rewrite", "--model", "m.gguf", "--attributes", "age, sex",
        "--actionable", "high", "--lambda", "0.5", "--max-rounds", "7", "--seed", "3",
        "--context", "8192", "--grades", "generate", "--attack-tokens", "300",
    )  # fmt: skip
    assert done.exit_code == 0
    assert fake.settings == [
        AnonymizationSettings(
            model="m.gguf",
            mode="rewrite",
            attributes=("age", "sex"),
            actionable="high",
            max_mrs=0.5,
            max_rounds=7,
            seed=3,
            context=8192,
            grades="generate",
            attack_tokens=300,
        )
    ]


@pytest.mark.parametrize("names", ["age,shoes", ",", "identifier"])
def test_an_attribute_that_is_none_is_a_usage_error(pipe: Any, names: str) -> None:
    done = pipe(TEXT, "--attributes", names)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "name some of age, sex," in done.stderr
