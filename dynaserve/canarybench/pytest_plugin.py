"""A pytest fixture that audits a release: ``canary_audit``.

Loaded into every pytest run of an environment that has dynaserve, so it imports nothing until
the fixture is used, and changes nothing for tests that do not use it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from dynaserve.canarybench.manifest import CanaryManifest
    from dynaserve.canarybench.report import Report

_MARKER = (
    "canary_audit(manifest, baseline=None): the manifest, and a baseline, that the fixture "
    "canary_audit uses unless it is given others; paths relative to the test's root directory"
)


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known, so that ``--strict-markers`` accepts it."""
    config.addinivalue_line("markers", _MARKER)


@pytest.fixture
def canary_audit(request: pytest.FixtureRequest) -> Callable[..., Report]:
    """Audit a release, and fail the test if it leaks.

    ``canary_audit(manifest, release, *, baseline=None, clusters=None, form="auto")`` is
    `dynaserve.canarybench.audit_release`, except that the manifest and the baseline may be
    paths, and may come from the marker: ``canary_audit(release=...)``. It returns the report. A
    leak fails the test with the report as text; an audit that cannot be done raises, whatever
    the release holds. The rates go into the JUnit XML of the run as properties of the test.
    """

    def audit(
        manifest: CanaryManifest | str | Path | None = None,
        release: Any = None,
        *,
        baseline: str | Path | None = None,
        **options: Any,
    ) -> Report:
        __tracebackhide__ = True
        from dynaserve.canarybench.audit import audit_release  # noqa: PLC0415 - light imports
        from dynaserve.canarybench.baseline import load_baseline  # noqa: PLC0415
        from dynaserve.canarybench.reports import render  # noqa: PLC0415

        marked = _marked(request)
        manifest = _manifest(marked.get("manifest") if manifest is None else manifest)
        baseline = marked.get("baseline") if baseline is None else baseline
        accepted = () if baseline is None else load_baseline(baseline)
        try:
            report = audit_release(manifest, release, baseline=accepted, **options)
        except Exception as error:
            # pytest shows the arguments of each call on the way to an error: the release itself.
            del release
            raise error.with_traceback(None) from None
        request.node.user_properties += [
            ("canary_rate", str(report.canary_rate)),
            ("cluster_rate", str(report.cluster_rate)),
        ]
        if not report.passed:
            pytest.fail(render(report, "text", "release"), pytrace=False)
        return report

    return audit


def _marked(request: pytest.FixtureRequest) -> dict[str, Path]:
    """Return the paths in the closest marker."""
    marker = request.node.get_closest_marker("canary_audit")
    if marker is None:
        return {}
    named = dict(zip(("manifest", "baseline"), marker.args, strict=False)) | marker.kwargs
    if unknown := named.keys() - {"manifest", "baseline"}:
        raise pytest.UsageError(f"marker canary_audit: knows no {', '.join(sorted(unknown))}")
    root = request.config.rootpath
    return {name: root / path for name, path in named.items() if path is not None}


def _manifest(manifest: CanaryManifest | str | Path | None) -> CanaryManifest:
    from dynaserve.canarybench.manifest import CanaryManifest  # noqa: PLC0415 - light imports

    if manifest is None:
        raise pytest.UsageError(
            "canary_audit: needs a manifest, as an argument or by the marker canary_audit"
        )
    return CanaryManifest.load(manifest) if isinstance(manifest, (str, Path)) else manifest
