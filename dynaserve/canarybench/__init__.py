"""CanaryBench: finds out whether what a system publishes repeats what its users wrote.

`plant` hides made-up values (canaries) in conversations, any system makes its summaries of
them, and `audit_release` looks for the values in what it would publish. After the CanaryBench
paper (arXiv 2601.18834). The names below load when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dynaserve.canarybench.audit import Auditor, audit_release
    from dynaserve.canarybench.control import ControlError
    from dynaserve.canarybench.conversations import Conversation
    from dynaserve.canarybench.manifest import Canary, CanaryManifest
    from dynaserve.canarybench.pipeline import publish
    from dynaserve.canarybench.planting import plant
    from dynaserve.canarybench.report import Leak, Report
    from dynaserve.canarybench.serialized import NothingToCheck, ReleaseError

_HOME = {
    "Auditor": "audit",
    "Canary": "manifest",
    "CanaryManifest": "manifest",
    "ControlError": "control",
    "Conversation": "conversations",
    "Leak": "report",
    "NothingToCheck": "serialized",
    "ReleaseError": "serialized",
    "Report": "report",
    "audit_release": "audit",
    "plant": "planting",
    "publish": "pipeline",
}

__all__ = [
    "Auditor",
    "Canary",
    "CanaryManifest",
    "ControlError",
    "Conversation",
    "Leak",
    "NothingToCheck",
    "ReleaseError",
    "Report",
    "audit_release",
    "plant",
    "publish",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
