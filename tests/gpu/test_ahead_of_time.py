"""What `benchmarks/gpu_resources.py` reads from the compiled kernels, held to what it should be."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("triton", reason="triton is not installed (extra gpu, Linux only)")

ROOT = Path(__file__).parent.parent.parent
BYTES = {"float16": 2, "bfloat16": 2, "float32": 4, "float64": 8}
WIDE = {"v4.b32", "v2.b64"}


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("compiled")
    environment = os.environ | {"TRITON_CACHE_DIR": str(folder)}
    environment.pop("TRITON_INTERPRET", None)
    # Compiling takes half as long again with coverage, and runs no line of a kernel.
    environment.pop("COVERAGE_PROCESS_CONFIG", None)
    table = folder / "table.json"
    ran = subprocess.run(
        [sys.executable, "-m", "benchmarks.gpu_resources", "--json", str(table)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    made: list[dict[str, Any]] = json.loads(table.read_text())
    return made


def accesses(forms: dict[str, int], dtype_bytes: int, row: dict[str, Any]) -> float:
    """Return how often 16-byte accesses touch each element of a program's tile."""
    wide = sum(count for form, count in forms.items() if form in WIDE)
    return wide * 16 * 32 * row["warps"] / (dtype_bytes * row["tile"])


def aligned(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in rows if row["classes"] >= 1000 and row["classes"] % 8 == 0]


def test_every_kernel_is_compiled_for_every_architecture(rows: list[dict[str, Any]]) -> None:
    for architecture in (80, 90, 100):
        made = {(r["defense"], r["kernel"]) for r in rows if r["architecture"] == architecture}
        assert made == {
            ("dynanoise", "single_pass"),
            ("dynanoise", "chunk_statistics"),
            ("dynanoise", "chunk_noise"),
            ("dynanoise", "chunk_release"),
            ("any label", "single_pass"),
            ("any label", "chunk_statistics"),
            ("any label", "chunk_noise"),
            ("any label", "chunk_release"),
            ("sensitivity", "chunk_statistics"),
            ("sensitivity", "row_sensitivity"),
            ("rank template", "single_pass"),
            ("rank template", "chunk_top"),
            ("rank template", "chunk_release"),
        }
    assert {row["classes"] for row in rows if row["kernel"] == "single_pass"} == {
        10,
        1000,
        1001,
        8192,
    }


def test_no_kernel_spills(rows: list[dict[str, Any]]) -> None:
    assert [row for row in rows if row["local_bytes"] != 0] == []


def test_registers_fit_the_threads(rows: list[dict[str, Any]]) -> None:
    assert all(0 < row["registers"] * 32 * row["warps"] <= 65536 for row in rows)


def test_a_single_pass_reads_and_writes_each_element_once_in_16_bytes(
    rows: list[dict[str, Any]],
) -> None:
    single = [row for row in aligned(rows) if row["kernel"] == "single_pass"]
    assert {row["dtype"] for row in single} == BYTES.keys()
    for row in single:
        assert accesses(row["loads"], BYTES[row["dtype"]], row) == 1
        assert accesses(row["stores"], 4, row) == 1
        # Nothing but the row keys, or the template's numbers, is read in smaller pieces.
        assert row["loads"].keys() - WIDE == {"b32"}
        assert row["loads"]["b32"] <= 4
        assert row["stores"].keys() == {"v4.b32"}


def test_the_split_form_reads_and_writes_in_16_bytes(rows: list[dict[str, Any]]) -> None:
    read_once = {"chunk_statistics", "chunk_noise", "chunk_top"}
    for row in aligned(rows):
        logits = BYTES[row["dtype"]]
        if row["kernel"] in read_once:
            assert accesses(row["loads"], logits, row) == 1
        if row["kernel"] == "chunk_release":
            width = logits if row["defense"] == "rank template" else 4
            assert accesses(row["loads"], width, row) == 1
        if row["kernel"] in {"chunk_noise", "chunk_release"}:
            assert accesses(row["stores"], 4, row) == 1
