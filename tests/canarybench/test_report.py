from __future__ import annotations

import json
from dataclasses import replace

import pytest


def test_one_failing_leak_fails(report):
    assert not replace(report, stale_baseline=()).passed


def test_accepted_leaks_and_those_of_wrong_tiers_do_not(report):
    assert replace(report, stale_baseline=(), leaks=report.leaks[1:]).passed


def test_a_stale_baseline_entry_fails_alone(report):
    assert not replace(report, leaks=()).passed


def test_only_what_found_a_whole_value_is_verbatim(report):
    assert [leak.verbatim for leak in report.leaks] == [True, False, False]


def test_a_cluster_passes_by_its_own_leaks(report):
    assert [cluster.passed for cluster in report.clusters] == [False, True, True]


def test_the_json_has_it_all(report):
    facts = json.loads(report.to_json())
    assert facts["passed"] is False
    assert facts["canary_rate"]["total"] == 9
    assert facts["cluster_rate"]["high"] == pytest.approx(0.9057, abs=1e-4)
    assert facts["suppressed"] == {"clusters": ["d", "e"], "canaries": 4}
    assert [leak["tier"] for leak in facts["leaks"]] == ["exact", "substring", "edit"]
    assert [cluster["passed"] for cluster in facts["clusters"]] == [False, True, True]
    assert facts["clusters"][2]["canaries"] is None
    assert facts["tiers"][-1]["gates"] is False
    assert facts["exposure"][0]["highest"] == 3.0
    assert facts["stale_baseline"] == ["c9@dd"]
