"""Defenses: what turns logits into probabilities that may be released.

Only the compiled core lies below this package. It knows nothing of models, attacks or servers.
"""

from __future__ import annotations

from dynaserve.defenses.dynanoise import DynaNoise, DynaNoiseConfig
from dynaserve.defenses.files import load_defense
from dynaserve.defenses.keys import NoiseKey
from dynaserve.defenses.protocol import Defense
from dynaserve.defenses.rank_template import PublicReference, RankTemplate
from dynaserve.defenses.undefended import Undefended

__all__ = [
    "Defense",
    "DynaNoise",
    "DynaNoiseConfig",
    "NoiseKey",
    "PublicReference",
    "RankTemplate",
    "Undefended",
    "load_defense",
]
