"""The plugin in a pytest of its own, as a user's project runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from xml.etree.ElementTree import parse

import pytest

from dynaserve.canarybench import Canary, CanaryManifest
from dynaserve.canarybench.baseline import save_baseline

VALUE = "bobbin-sandal-hammock-2087"
MANIFEST = CanaryManifest(
    (Canary("c0", "phrase", VALUE, "v0"),), (Canary("d0", "phrase", "lantern-walrus-tinsel-9041"),)
)


@pytest.fixture
def project(tmp_path):
    """Run pytest on the source of one test file; the result has returncode and stdout."""
    MANIFEST.save(tmp_path / "m.json")
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\n")

    def run(source, *options):
        (tmp_path / "test_it.py").write_text(source)
        plugin = ["-p", "dynaserve.canarybench.pytest_plugin"]
        return subprocess.run(
            [sys.executable, "-m", "pytest", *plugin, "-q", "-p", "no:cacheprovider", *options],
            cwd=tmp_path,
            env={**os.environ, "PYTEST_ADDOPTS": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def leaking(release, marker=True):
    mark = '@pytest.mark.canary_audit(manifest="m.json")\n' if marker else ""
    return (
        f"import pytest\n{mark}def test_it(canary_audit):\n    canary_audit(release={release!r})\n"
    )


def test_a_safe_release_passes_and_the_report_comes_back(project):
    result = project(
        "from dynaserve.canarybench import CanaryManifest\n"
        "def test_it(canary_audit):\n"
        "    report = canary_audit(CanaryManifest.load('m.json'), 'all is well')\n"
        "    assert report.canary_rate.total == 1\n"
    )
    assert result.returncode == 0, result.stdout


def test_a_leak_fails_with_the_report_and_without_the_value(project):
    result = project(leaking(f"they said {VALUE}"))
    assert result.returncode == 1
    assert "FAILED: 1 canary leaked, in 1 place" in result.stdout
    assert "exact  c0" in result.stdout
    assert "pytest_plugin.py" not in result.stdout


def test_an_audit_that_cannot_be_done_does_not_pass(project):
    result = project(leaking(""))
    assert result.returncode == 1
    assert "NothingToCheck: the release is empty" in result.stdout
    result = project(leaking("x", marker=False))
    assert "canary_audit: needs a manifest" in result.stdout
    result = project(leaking("x").replace("manifest=", "manifst="))
    assert "marker canary_audit: knows no manifst" in result.stdout


def test_a_baseline_may_come_from_the_marker(project, tmp_path):
    release = f"they said {VALUE[:-2]}"
    source = leaking(release)
    assert project(source).returncode == 1
    from dynaserve.canarybench import audit_release

    save_baseline(tmp_path / "baseline.json", audit_release(MANIFEST, release))
    marked = source.replace('"m.json"', '"m.json", baseline="baseline.json"')
    assert project(marked).returncode == 0


def test_rates_go_into_the_junit_file(project, tmp_path):
    project(leaking("all is well"), "--junitxml", "out.xml")
    properties = {
        p.get("name"): p.get("value") for p in parse(tmp_path / "out.xml").iter("property")
    }
    assert properties["canary_rate"].startswith("0 of 1")


def test_those_who_do_not_use_it_do_not_pay(project):
    result = project(
        "import sys\n"
        "def test_it():\n"
        "    heavy = {'numpy', 'pydantic', 'rich', 'sklearn', 'ahocorasick'}\n"
        "    assert not heavy & {*sys.modules}\n"
        "    assert 'dynaserve.canarybench.audit' not in sys.modules\n"
    )
    assert result.returncode == 0, result.stdout


def test_the_fixture_is_documented(project):
    result = project("def test_it(): pass\n", "--fixtures")
    assert "canary_audit" in result.stdout
    assert "Audit a release, and fail the test if it leaks." in result.stdout
    assert "canary_audit(manifest, baseline=None)" in project("", "--markers").stdout


@pytest.mark.parametrize("options", [(), ("--full-trace",), ("-vv", "--full-trace")])
def test_an_audit_that_cannot_be_done_raises_and_shows_nothing_of_the_release(
    project, tmp_path, options
):
    (tmp_path / "release.json").write_text('{"summary": "' + VALUE)
    result = project(
        "from pathlib import Path\n"
        "def test_it(canary_audit):\n"
        "    canary_audit('m.json', Path('release.json').read_bytes())\n",
        *options,
    )
    assert result.returncode == 1
    assert "ReleaseError" in result.stdout
    assert VALUE not in result.stdout
