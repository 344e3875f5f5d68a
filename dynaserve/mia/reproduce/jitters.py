"""Which size of near-duplicate tells the most, found on the shadows of the undefended models.

All defenses are then compared at that one: asking every size of every model that some defense
trains anew would take most of an experiment's time. The target's membership is never looked at.
"""

from __future__ import annotations

import numpy as np

from dynaserve.mia import metrics
from dynaserve.mia.attacks import ATTACKS, Evidence, References
from dynaserve.mia.shadows.result import ShadowRun
from dynaserve.mia.signals import log_softmax

_SCORES, _LABEL = ("lira_online", "rmia_online"), ("gap", "label_lira")


def telling_size(run: ShadowRun, seed: int) -> str:
    """Return the size with the highest sum of the best AUC on scores and that on labels."""
    references = References(run.shadow_member, seed)
    return max(run.neighbor_logits, key=lambda size: _told(run, size, references, seed))


def _told(run: ShadowRun, size: str, references: References, seed: int) -> float:
    models = (run.neighbor_logits[size], *run.shadow_neighbor_logits[size])
    evidence = Evidence(
        np.stack([log_softmax(log_softmax(model).mean(axis=1)) for model in models]),
        np.stack([(model.argmax(axis=-1) == run.labels[:, None]).mean(axis=1) for model in models]),
        run.labels,
        references,
        seed,
    )
    return sum(max(_auc(name, evidence) for name in names) for names in (_SCORES, _LABEL))


def _auc(name: str, evidence: Evidence) -> float:
    """Return the mean AUC on the shadows of an attack's best variant."""
    member = evidence.shadow_member
    return max(
        float(np.mean([metrics.roc_auc(*pair) for pair in zip(scores[1:], member, strict=True)]))
        for scores in (attack.scores(evidence) for attack in ATTACKS[name])
    )
