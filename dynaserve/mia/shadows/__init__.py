"""Shadow models: who is a member of which, how they are trained, what they answered.

Torch is needed for `dynaserve.mia.shadows.networks` alone, which is not imported here.
"""

from __future__ import annotations

from dynaserve.mia.shadows.membership import balanced_membership, target_membership
from dynaserve.mia.shadows.queries import Jitter
from dynaserve.mia.shadows.result import ShadowRun
from dynaserve.mia.shadows.run import GivenTarget, train_shadows
from dynaserve.mia.shadows.trainer import EstimatorTrainer, Model, Trainer

__all__ = [
    "EstimatorTrainer",
    "GivenTarget",
    "Jitter",
    "Model",
    "ShadowRun",
    "Trainer",
    "balanced_membership",
    "target_membership",
    "train_shadows",
]
