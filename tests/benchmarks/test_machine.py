"""The machine in words."""

from __future__ import annotations

from benchmarks import machine
from dynaserve import _core
from tests.benchmarks.results import MACHINE


def test_this_machine_is_described_without_its_name() -> None:
    facts = machine.facts()
    assert "node" not in facts
    assert facts["isa"] == _core.isa()
    assert machine.processor(facts)
    assert f"{_core.isa()} kernels" in machine.sentence(facts)


def test_a_sentence_names_processor_cores_and_instruction_set() -> None:
    assert machine.sentence(MACHINE) == (
        "Some CPU, family 1, model 2; 2 cores; avx512 kernels; Linux, Python 3.11.7"
    )


def test_a_processor_without_brand_is_its_architecture() -> None:
    facts = MACHINE | {"cpu": {}, "machine": "aarch64", "cores": 1}
    assert machine.processor(facts) == "aarch64"
    assert "; 1 core;" in machine.sentence(facts)
