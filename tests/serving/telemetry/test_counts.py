from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dynaserve import DynaNoise, _core
from dynaserve.defenses.dynanoise.query_keys import QueryKeys
from dynaserve.defenses.keys import NoiseKey
from dynaserve.serving.access.errors import OverBudgetError
from dynaserve.serving.refused import BusyError, LateError, RefusedError, TooLargeError
from dynaserve.serving.telemetry import count_call, counts
from dynaserve.serving.visit import Visit

Grown = Callable[..., float]
KEY = bytes(range(32))
DEFENSE = DynaNoise.keyed(key=KEY, base_variance=9.0)


@pytest.fixture
def grown() -> Grown:
    """Return by how much a sample has grown since this test began."""

    def value(name: str, labels: dict[str, str]) -> float:
        return counts.REGISTRY.get_sample_value(name, labels) or 0.0

    before = {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for metric in counts.REGISTRY.collect()
        for sample in metric.samples
    }

    def grown(name: str, **labels: str) -> float:
        return value(name, labels) - before.get((name, tuple(sorted(labels.items()))), 0.0)

    return grown


def end(seconds: float = 0.003, **known: Any) -> None:
    counts.count_begin()
    counts.count_end(Visit(id="i", **known), seconds)


def test_a_request_counts_by_route_and_status(grown: Grown) -> None:
    end(endpoint="/predict", status=200)
    end(endpoint="/predict", status=200)
    end(endpoint="/predict", status=400)
    assert grown("dynaserve_requests_total", endpoint="/predict", status="200") == 2
    assert grown("dynaserve_requests_total", endpoint="/predict", status="400") == 1


def test_its_time_falls_in_the_buckets_above_it(grown: Grown) -> None:
    end(seconds=0.0004, endpoint="/timed", status=200)
    end(seconds=0.3, endpoint="/timed", status=200)
    bucket = "dynaserve_request_seconds_bucket"
    assert grown(bucket, endpoint="/timed", le="0.0002") == 0
    assert grown(bucket, endpoint="/timed", le="0.0005") == 1
    assert grown(bucket, endpoint="/timed", le="0.2") == 1
    assert grown(bucket, endpoint="/timed", le="0.5") == 2
    assert grown("dynaserve_request_seconds_sum", endpoint="/timed") == pytest.approx(0.3004)


def test_phases_are_those_of_requests_that_reached_the_model(grown: Grown) -> None:
    end(endpoint="/predict", status=200, queue=0.001, model=0.02, defense=0.0003)
    end(endpoint="/readyz", status=200)
    for phase, seconds in {"queue": 0.001, "model": 0.02, "defense": 0.0003}.items():
        assert grown("dynaserve_phase_seconds_count", phase=phase) == 1
        assert grown("dynaserve_phase_seconds_sum", phase=phase) == pytest.approx(seconds)


def test_a_refusal_counts_by_reason_with_its_rows(grown: Grown) -> None:
    end(status=413, refused=TooLargeError.reason, rows=5000)
    end(status=413, refused=TooLargeError.reason)
    assert grown("dynaserve_rejected_requests_total", reason="too_large") == 2
    assert grown("dynaserve_rejected_rows_total", reason="too_large") == 5000
    assert grown("dynaserve_budget_refusals_total") == 0
    end(status=413, refused=OverBudgetError.reason, rows=9)
    assert grown("dynaserve_rejected_rows_total", reason="too_large") == 5009
    assert grown("dynaserve_budget_refusals_total") == 0
    end(status=429, refused="budget", rows=7)
    assert grown("dynaserve_budget_refusals_total") == 1
    assert grown("dynaserve_rejected_rows_total", reason="budget") == 7


def test_known_reasons_start_at_zero() -> None:
    class RareError(RefusedError):
        reason = "rare"

    counts.expect_reasons()
    for reason in ("rare", "budget", "failed", "gone", RefusedError.reason, BusyError.reason):
        sample = counts.REGISTRY.get_sample_value
        assert sample("dynaserve_rejected_requests_total", {"reason": reason}) is not None
    assert sample("dynaserve_rejected_rows_total", {"reason": LateError.reason}) is not None


def test_requests_in_flight_go_up_and_down(grown: Grown) -> None:
    counts.count_begin()
    counts.count_begin()
    assert grown("dynaserve_requests_in_flight") == 2
    for _ in range(2):
        counts.count_end(Visit(id=""), 0.1)
    assert grown("dynaserve_requests_in_flight") == 0


def test_a_call_counts_its_rows_repeats_and_labels_kept(
    grown: Grown, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counts, "LUMP", counts.Lump())
    monkeypatch.setattr(counts, "LUMP_ROWS", 1)
    count_call(1)  # takes up what other code in this process kept before
    before = grown("dynaserve_labels_kept_total")
    logits = np.random.default_rng(0).standard_normal((64, 10)).astype(np.float32)
    DEFENSE(logits, queries=logits)
    keys = QueryKeys(NoiseKey.resolve(KEY), DEFENSE.config).row_keys(logits, (64,))
    plain = _core.dynanoise(logits, keys, 9.0, 2.0, 1.0)
    count_call(64, repeated=3)
    kept = grown("dynaserve_labels_kept_total") - before
    assert kept == (plain.argmax(axis=1) != logits.argmax(axis=1)).sum() > 0
    assert grown("dynaserve_repeated_rows_total") == 3
    assert grown("dynaserve_batch_rows_sum") == 65
    assert grown("dynaserve_batch_rows_bucket", le="32.0") == 1
    assert grown("dynaserve_batch_rows_bucket", le="64.0") == 2
    count_call(1)
    assert grown("dynaserve_labels_kept_total") - before == kept


def test_what_tells_of_single_rows_is_told_of_a_thousand_at_once(
    grown: Grown, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counts, "LUMP", counts.Lump())
    told = []
    for rows, repeated in ((998, 2), (1, 1), (1, 1), (999, 5), (2, 0)):
        count_call(rows, repeated)
        told.append(grown("dynaserve_repeated_rows_total"))
    assert told == [0, 0, 4, 4, 9]


def test_no_label_kept_is_lost_or_counted_twice_by_threads(
    grown: Grown, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counts, "LUMP_ROWS", 1)
    count_call(1)
    start, before = counts.LUMP.told, grown("dynaserve_labels_kept_total")
    logits = np.random.default_rng(0).standard_normal((64, 10)).astype(np.float32)

    def call(_: int) -> None:
        DEFENSE(logits, queries=logits)
        count_call(64)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(call, range(200)))
    assert counts.LUMP.told > start
    assert grown("dynaserve_labels_kept_total") - before == counts.LUMP.told - start


def test_a_second_import_meets_no_metrics_of_the_first() -> None:
    before = dict(vars(counts))
    try:
        importlib.reload(counts)
        counts.count_call(3)
        assert counts.REGISTRY.get_sample_value("dynaserve_batch_rows_sum") == 3
    finally:
        vars(counts).update(before)


def test_labels_are_never_what_a_client_chose() -> None:
    end(endpoint="/predict", status=200, client="key-4711", rows=4711)
    named = {
        metric.name: {label for sample in metric.samples for label in sample.labels}
        for metric in counts.REGISTRY.collect()
    }
    assert set.union(*named.values()) == {"endpoint", "status", "reason", "phase", "le"}
    exposed = [
        value
        for metric in counts.REGISTRY.collect()
        for sample in metric.samples
        for value in sample.labels.values()
    ]
    assert "key-4711" not in exposed
    assert set(named) == {
        "dynaserve_requests",
        "dynaserve_request_seconds",
        "dynaserve_phase_seconds",
        "dynaserve_batch_rows",
        "dynaserve_rejected_requests",
        "dynaserve_rejected_rows",
        "dynaserve_budget_refusals",
        "dynaserve_repeated_rows",
        "dynaserve_labels_kept",
        "dynaserve_requests_in_flight",
    }


def test_the_page_about_them_names_them_all() -> None:
    page = (Path(__file__).parents[3] / "docs" / "telemetry.md").read_text()
    table = re.findall(r"^\| `(dynaserve_\w+)` \| (\w+) \|", page, re.MULTILINE)
    exposed = [
        (f"{metric.name}_total" if metric.type == "counter" else metric.name, metric.type)
        for metric in counts.REGISTRY.collect()
    ]
    assert sorted(table) == sorted(exposed)
