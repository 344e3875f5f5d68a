"""DynaNoise: gaussian noise on logits, more of it where the model is more certain."""

from __future__ import annotations

from dynaserve.defenses.dynanoise.config import DynaNoiseConfig
from dynaserve.defenses.dynanoise.defense import DynaNoise

__all__ = ["DynaNoise", "DynaNoiseConfig"]
