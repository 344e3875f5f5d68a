"""Privacy middleware for model serving: answers that say less about the training data.

The names below are all that most programs need. Importing them stays light: numpy, pydantic
and the compiled core, never a model framework.
"""

from __future__ import annotations

from dynaserve._version import __version__
from dynaserve.defenses.dynanoise import DynaNoise, DynaNoiseConfig
from dynaserve.defenses.files import load_defense
from dynaserve.defenses.rank_template import RankTemplate

__all__ = ["DynaNoise", "DynaNoiseConfig", "RankTemplate", "__version__", "load_defense"]
