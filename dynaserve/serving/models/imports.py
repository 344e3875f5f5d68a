"""Heavy libraries, imported only when a model needs them, with an error that names the extra.

It may not import any of them itself: ``import dynaserve`` has to stay light.
"""

from __future__ import annotations

import importlib
from types import ModuleType

from dynaserve.serving.models.protocol import ModelError


def require(module: str, *, extra: str) -> ModuleType:
    """Import ``module``, or say which extra brings it.

    Raises
    ------
    ModelError
        If the package is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if (error.name or "").partition(".")[0] != package:
            raise
        message = f"{package} is not installed: pip install 'dynaserve[{extra}]'"
        raise ModelError(message) from None
