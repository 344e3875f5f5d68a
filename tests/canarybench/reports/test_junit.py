from __future__ import annotations

from xml.etree.ElementTree import fromstring

import pytest

from dynaserve.canarybench.reports import render


@pytest.fixture
def suite(report):
    root = fromstring(render(report, "junit", "out/release.json"))
    assert root.tag == "testsuites"
    (suite,) = root
    assert {name: root.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")
    }
    return suite


def test_every_cluster_is_a_case_and_passes_are_cases_too(suite):
    outcomes = {
        case.get("name"): [child.tag for child in case if child.tag != "system-out"]
        for case in suite.iter("testcase")
    }
    assert outcomes == {
        "cluster a": ["failure"],
        "cluster b": [],
        "cluster c": [],
        "cluster d": ["skipped"],
        "cluster e": ["skipped"],
        "baseline": ["failure"],
    }


def test_the_counts_are_those_of_the_cases(suite):
    counts = {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "6", "failures": "2", "errors": "0", "skipped": "2"}


def test_a_failure_names_canary_tier_and_place_and_no_accepted_leak(suite):
    failure = suite.find("testcase[@name='cluster a']/failure")
    assert failure.get("type") == "exact"
    assert failure.text == f"exact: canary c1 (email) at /clusters/0/title, hash {'ab' * 16}"


def test_what_does_not_fail_is_still_told(suite):
    told = suite.find("testcase[@name='cluster b']/system-out").text
    assert told.startswith("edit: canary c3 (email) at 7:12")
    assert told.endswith("(tier does not gate)")


def test_the_rates_are_properties(suite):
    properties = {each.get("name"): each.get("value") for each in suite.iter("property")}
    assert properties["canary_rate"].startswith("2 of 9 = 22.2%")
    assert properties["indicator_zip"] == "27"
