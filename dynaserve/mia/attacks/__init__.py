"""The attacks by name. A new one is a class in a module of its own and a line in `ATTACKS`.

They get log-probabilities and membership of shadows, never a model or a defense.
"""

from __future__ import annotations

from dynaserve.mia.attacks.evidence import Attack, Evidence, References
from dynaserve.mia.attacks.learned import Boosted, ShadowClassifier
from dynaserve.mia.attacks.lira import LabelLira, LabelLiraGaussian, LiraOffline, LiraOnline
from dynaserve.mia.attacks.rmia import RmiaOffline, RmiaOnline
from dynaserve.mia.attacks.thresholds import Confidence, Entropy, Gap, Loss, ModifiedEntropy

__all__ = ["ATTACKS", "LABEL_BEST", "PAPER_ATTACKS", "Attack", "Evidence", "References"]

_TEMPERATURES = (1.0, 3.0, 10.0)

ATTACKS: dict[str, tuple[Attack, ...]] = {
    "gap": (Gap(),),
    "label_lira": (LabelLira(), LabelLiraGaussian()),
    "confidence": (Confidence(),),
    "loss": (Loss(),),
    "entropy": (Entropy(),),
    "modified_entropy": (ModifiedEntropy(),),
    "lira_online": (LiraOnline(),),
    "lira_online_per_example": (LiraOnline(per_example=True),),
    "lira_offline": (LiraOffline(),),
    "lira_offline_per_example": (LiraOffline(per_example=True),),
    "rmia_online": tuple(RmiaOnline(temperature=t) for t in _TEMPERATURES),
    "rmia_offline": tuple(
        RmiaOffline(a=a, temperature=t) for a in (0.3, 0.6, 1.0) for t in _TEMPERATURES
    ),
    "shadow": (ShadowClassifier(),),
    "boosted": (Boosted(),),
}
"""Name -> variants, of which the one that does best on the shadows is used; costly ones last."""

LABEL_BEST = "label_best"
"""Name of the best of all attacks on the bare labels: they then see 1 for each answer's top
class and 0 for the rest, averaged over the answers. What is left is what no scores explain."""

PAPER_ATTACKS = ("confidence", "loss", "shadow", "lira_online", "entropy", "modified_entropy")
"""The six of the DynaNoise paper, over which MIDPUT is a mean."""
