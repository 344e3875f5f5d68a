"""The page in a real browser, if there is one: it is laid out, and asks nobody for anything."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from dynaserve.mia.report import Report, to_html
from tests.chromium import CHROMIUM, QUIET
from tests.mia.report.audits import defended_audit

pytest.importorskip("jinja2")

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")


def browse(page: Path, *options: str) -> str:
    """Return what chromium prints when it opens a page."""
    command = [CHROMIUM, *QUIET, f"--user-data-dir={page.parent / 'profile'}", *options]
    done = subprocess.run(
        [*command, page.as_uri()], capture_output=True, text=True, timeout=120, check=True
    )
    return done.stdout


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("browser") / "report.html"
    path.write_text(to_html(Report(defended_audit(), "answers.npz")), encoding="utf-8")
    return path


def test_the_browser_keeps_all_of_the_page_and_loads_nothing_but_it(page):
    log = page.parent / "net.json"
    dom = browse(page, "--dump-dom", f"--log-net-log={log}")
    assert dom.count("<figure>") == 2
    assert dom.count('class="curve s1"') == 4
    assert "What was not tested" in dom
    assert "<script" not in dom
    assert requested_by_pages(log) == set()


def test_the_log_of_requests_would_show_one(page):
    """The test above is worth something: an image from elsewhere does appear."""
    asking = page.parent / "asking.html"
    asking.write_text('<img src="http://elsewhere.invalid/pixel.png">')
    log = page.parent / "asking.json"
    browse(asking, "--dump-dom", f"--log-net-log={log}")
    assert any("elsewhere.invalid" in url for url in requested_by_pages(log))


def requested_by_pages(log: Path) -> set[str]:
    """Return the addresses that files asked for; a browser has errands of its own besides."""
    asked = [event.get("params", {}) for event in json.loads(log.read_text())["events"]]
    return {
        params["url"]
        for params in asked
        if "url" in params and "file://" in params.get("network_isolation_key", "")
    }
