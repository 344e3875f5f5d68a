"""SARIF 2.1.0, by the rules of the standard that a consumer trips over."""

from __future__ import annotations

import json

import pytest

from dynaserve.canarybench.matching import Tier
from dynaserve.canarybench.reports import render
from dynaserve.canarybench.reports.sarif import uri


@pytest.fixture
def log(report):
    return json.loads(render(report, "sarif", "out/my release.json"))


@pytest.fixture
def run(log):
    (run,) = log["runs"]
    return run


def test_version_and_schema(log):
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-schema-2.1.0.json")
    assert log.keys() == {"$schema", "version", "runs"}


def test_every_result_points_at_its_rule(run):
    rules = run["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    assert {str(tier) for tier in Tier} < {rule["id"] for rule in rules}
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["message"]["text"]
        assert result["level"] in {"none", "note", "warning", "error"}


def test_rules_have_what_code_scanning_shows(run):
    for rule in run["tool"]["driver"]["rules"]:
        assert rule["shortDescription"]["text"]
        assert rule["fullDescription"]["text"].endswith(".")
        assert 0 < float(rule["properties"]["security-severity"]) <= 10
        assert rule["defaultConfiguration"]["level"] == "error"


def test_levels_follow_the_gate_and_acceptance_is_a_suppression(run):
    assert [result["level"] for result in run["results"]] == ["error", "error", "note", "error"]
    # The standard: if one result says whether it is suppressed, all have to.
    assert [len(result["suppressions"]) for result in run["results"]] == [0, 1, 0, 0]
    suppression = run["results"][1]["suppressions"][0]
    assert (suppression["kind"], suppression["status"]) == ("external", "accepted")


def test_fingerprints_are_those_of_the_findings(run):
    prints = [result["partialFingerprints"] for result in run["results"]]
    assert [each.get("canaryInCluster/v1") for each in prints] == ["f1", "f2", "f3", None]
    assert prints[3] == {"baselineEntry/v1": "c9@dd"}


def test_places_are_lines_of_a_text_or_members_of_a_document(run):
    document, _, text, stale = (result["locations"][0] for result in run["results"])
    physical = document["physicalLocation"]
    assert physical["artifactLocation"]["uri"] == "out/my%20release.json"
    assert physical["region"] == {"startLine": 1}
    assert document["logicalLocations"][0]["fullyQualifiedName"] == "/clusters/0/title"
    assert text["physicalLocation"]["region"] == {"startLine": 7, "startColumn": 12}
    assert "logicalLocations" not in text
    assert "logicalLocations" not in stale
    assert run["columnKind"] == "unicodeCodePoints"


def test_uris_are_uris():
    assert uri("-") == "stdin"
    assert uri("/tmp/é.json") == "file:///tmp/%C3%A9.json"
    assert uri("a%b.txt") == "a%25b.txt"
