"""Model loaders: one ``load_model`` for every format that ``dynaserve serve`` takes.

Importing this package imports no framework; each loader brings its own when it is used.
"""

from __future__ import annotations

from dynaserve.serving.models.protocol import Model, ModelError, ModelWarning, UnscoredError
from dynaserve.serving.models.registry import load_model

__all__ = ["Model", "ModelError", "ModelWarning", "UnscoredError", "load_model"]
