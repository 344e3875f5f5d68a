"""For code scanning: SARIF 2.1.0 (OASIS), one rule per tier.

Fingerprints stay the same from run to run as long as a cluster leaks a canary, so that a
finding that was looked at stays looked at.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

from dynaserve._version import __version__
from dynaserve.canarybench.report import Leak, Report

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_RULES = {
    "exact": "A canary stands in the release letter by letter",
    "normalized": "A canary stands in the release, disguised",
    "digits": "The digits of a canary stand in the release",
    "substring": "A long part of a canary stands in the release",
    "edit": "Something that is nearly a canary stands in the release",
    "stale-baseline": "An entry of the baseline accepts nothing any more",
}
_RULE_INDEX = {rule: index for index, rule in enumerate(_RULES)}


def to_sarif(report: Report, source: str) -> str:
    """Return the report as a SARIF log."""
    run = {
        "tool": {
            "driver": {
                "name": "dynaserve canary audit",
                "semanticVersion": __version__,
                "rules": [_rule(rule, text) for rule, text in _RULES.items()],
            }
        },
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": True}],
        "results": [
            *(_leak(leak, source) for leak in report.leaks),
            *(_stale(entry, source) for entry in report.stale_baseline),
        ],
        "properties": {
            "passed": report.passed,
            "canaryRate": report.canary_rate.to_dict(),
            "clusterRate": report.cluster_rate.to_dict(),
        },
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _rule(rule: str, text: str) -> dict[str, Any]:
    return {
        "id": rule,
        "name": "Canary" + rule.title().replace("-", ""),
        "shortDescription": {"text": text},
        "fullDescription": {
            "text": f"{text}. Canaries are made-up values planted in the conversations that the "
            "release was made from; what repeats them can repeat what a user wrote."
        },
        "defaultConfiguration": {"level": "error"},
        "properties": {"tags": ["privacy", "security"], "security-severity": "8.0"},
    }


def _leak(leak: Leak, source: str) -> dict[str, Any]:
    accepted = {"kind": "external", "status": "accepted", "justification": "in the baseline"}
    return {
        "ruleId": leak.tier,
        "ruleIndex": _RULE_INDEX[leak.tier],
        "level": "error" if leak.gates else "note",
        "message": {
            "text": f"Canary {leak.canary_id} ({leak.kind}, hash {leak.keyed_hash}) is published "
            f"by cluster {leak.cluster} at {leak.place}."
        },
        "locations": [_location(source, leak)],
        "partialFingerprints": {"canaryInCluster/v1": leak.fingerprint},
        "suppressions": [accepted] if leak.accepted else [],
    }


def _stale(entry: str, source: str) -> dict[str, Any]:
    return {
        "ruleId": "stale-baseline",
        "ruleIndex": _RULE_INDEX["stale-baseline"],
        "level": "error",
        "message": {"text": f"The baseline accepts {entry}, and no finding is like that."},
        "locations": [_location(source)],
        "partialFingerprints": {"baselineEntry/v1": entry},
        "suppressions": [],
    }


def _location(source: str, leak: Leak | None = None) -> dict[str, Any]:
    """Return where a leak is: in a text by line and column, in a document by its pointer."""
    region = {"startLine": 1}
    if leak is not None and leak.line is not None and leak.column is not None:
        region = {"startLine": leak.line, "startColumn": leak.column}
    location: dict[str, Any] = {
        "physicalLocation": {"artifactLocation": {"uri": uri(source)}, "region": region}
    }
    if leak is not None and leak.line is None:
        location["logicalLocations"] = [{"fullyQualifiedName": leak.place, "kind": "member"}]
    return location


def uri(source: str) -> str:
    """Return the URI reference of a path, relative if the path is."""
    if source == "-":
        return "stdin"
    path = Path(source)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())
