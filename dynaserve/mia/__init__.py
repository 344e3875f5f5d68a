"""The audit: what an attacker who knows the defense can still learn of who was trained on.

Shadow models, attacks and peer defenses live below. Nothing of it is needed to serve; importing
it loads neither scikit-learn nor torch.
"""

from __future__ import annotations

# At once, not on first use: `audit` and `tune` are functions in modules of their names, and only
# an import that has already happened cannot put the module back in the function's place.
from dynaserve.mia.audit import audit
from dynaserve.mia.results import Audit
from dynaserve.mia.tune import Tuning, tune

__all__ = ["Audit", "Tuning", "audit", "tune"]
