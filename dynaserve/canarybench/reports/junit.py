"""For CI dashboards: JUnit XML with one test case per cluster, those that pass included.

Clusters that were held back are skipped cases: they passed nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from dynaserve.canarybench.report import Leak, Report

_SUITE = "canary audit"


def to_junit(report: Report, source: str) -> str:
    """Return the report as a JUnit XML document."""
    cases = [_cluster(cluster.name, source, cluster.leaks) for cluster in report.clusters]
    cases += [_skipped(name, source) for name in report.suppressed.clusters]
    if report.stale_baseline:
        cases.append(_stale(source, report.stale_baseline))
    counts = {
        "tests": str(len(cases)),
        "failures": str(sum(case.find("failure") is not None for case in cases)),
        "errors": "0",
        "skipped": str(sum(case.find("skipped") is not None for case in cases)),
    }
    root = Element("testsuites", {"name": _SUITE, **counts})
    suite = SubElement(root, "testsuite", {"name": f"{_SUITE} of {source}", **counts})
    properties = SubElement(suite, "properties")
    for name, value in _properties(report):
        SubElement(properties, "property", name=name, value=value)
    suite.extend(cases)
    indent(root)
    return tostring(root, encoding="unicode", xml_declaration=True)


def _cluster(name: str, source: str, leaks: tuple[Leak, ...]) -> Element:
    case = _case(f"cluster {name}", source)
    failing = [leak for leak in leaks if leak.fails]
    if failing:
        _fail(case, failing[0].tier, f"leaks in {len(failing)} places", map(_line, failing))
    if others := [leak for leak in leaks if not leak.fails]:
        SubElement(case, "system-out").text = "\n".join(map(_line, others))
    return case


def _skipped(name: str, source: str) -> Element:
    case = _case(f"cluster {name}", source)
    SubElement(case, "skipped", message="held back: not published, and so not judged")
    return case


def _stale(source: str, entries: Iterable[str]) -> Element:
    case = _case("baseline", source)
    _fail(case, "stale", "entries of the baseline accept nothing any more", entries)
    return case


def _case(name: str, source: str) -> Element:
    return Element("testcase", classname=f"canary.{source}", name=name, time="0")


def _fail(case: Element, kind: str, message: str, lines: Iterable[str]) -> None:
    SubElement(case, "failure", type=kind, message=message).text = "\n".join(lines)


def _line(leak: Leak) -> str:
    note = "" if leak.fails else " (accepted)" if leak.accepted else " (tier does not gate)"
    return (
        f"{leak.tier}: canary {leak.canary_id} ({leak.kind}) at {leak.place}, "
        f"hash {leak.keyed_hash}{note}"
    )


def _properties(report: Report) -> Iterable[tuple[str, str]]:
    yield "canary_rate", str(report.canary_rate)
    yield "cluster_rate", str(report.cluster_rate)
    yield "suppressed_canaries", str(report.suppressed.canaries)
    for kind, count in report.indicators.items():
        yield f"indicator_{kind}", str(count)
