"""Privacy middleware for model serving: answers that say less about the training data.

The names below are all that most programs need. They load when they are first used, so that
importing the package costs nothing and a compiled core that cannot load is an error of its
first use, which the command line can report.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dynaserve._version import __version__

if TYPE_CHECKING:
    from dynaserve.defenses import DynaNoise, DynaNoiseConfig, RankTemplate, load_defense

__all__ = ["DynaNoise", "DynaNoiseConfig", "RankTemplate", "__version__", "load_defense"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from dynaserve import defenses  # noqa: PLC0415 - loads numpy, pydantic and the core

    return getattr(defenses, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
