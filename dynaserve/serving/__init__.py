"""BentoML glue: the ``defended`` decorator, model loaders and ready-made services.

Importing this package loads no server: what needs BentoML loads it on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dynaserve.serving.decorator import defended

__all__ = ["defended"]


def __getattr__(name: str) -> Any:
    if name != "defended":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from dynaserve.serving.decorator import defended  # noqa: PLC0415 - loads BentoML

    return defended
