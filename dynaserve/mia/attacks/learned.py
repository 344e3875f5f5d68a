"""Attackers that learn from the shadows what members look like, feature by feature.

No row's score comes from a classifier that saw the row in any model: the rows are split in two
halves, each scored by the classifier of the other, for shadows as for the target.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dynaserve.extras import needing
from dynaserve.mia import signals
from dynaserve.mia.attacks.evidence import Attack, Evidence, Mask, deviation, mean, random_of
from dynaserve.mia.attacks.lira import LabelLira, LiraOffline, LiraOnline
from dynaserve.mia.attacks.rmia import RmiaOffline, RmiaOnline
from dynaserve.mia.signals import Floats

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MOST_CLASSES = 32
_SORTED = 8
_RANKS = 4
_MOST_TRAINING_ROWS = 20_000


@dataclass(frozen=True)
class ShadowClassifier(Attack):
    """A classifier of members by (probabilities, label), trained on the shadows' answers.

    Shokri et al., "Membership Inference Attacks Against Machine Learning Models", 2017,
    section V. Gradient-boosted trees with the label as a category in place of one network for
    each class.
    """

    costly: ClassVar[bool] = True

    def scores(self, evidence: Evidence) -> Floats:
        """Return the log-odds of membership."""
        return cross_fitted(_answer_features(evidence), evidence, iterations=60)


@dataclass(frozen=True)
class Boosted(Attack):
    """Gradient-boosted trees over all that the other attacks look at, and more.

    Each shadow in turn is the target and is compared with the others, as the target is with all
    of them. A defense that breaks one statistic should not look strong for it.
    """

    costly: ClassVar[bool] = True

    def scores(self, evidence: Evidence) -> Floats:
        """Return the log-odds of membership."""
        features = [_answer_features(evidence), _scores_as_features(evidence)]
        order = _leading(evidence.log_p)
        compared = [_comparison(evidence, order, *masks) for masks in evidence.compared]
        features.append(np.stack(compared))
        return cross_fitted(np.concatenate(features, axis=-1), evidence, iterations=100)


def cross_fitted(features: Floats, evidence: Evidence, *, iterations: int) -> Floats:
    """Return log-odds (1 + S, n) of membership from features (1 + S, n, F); the first is the label.

    Raises
    ------
    ImportError
        Without scikit-learn.
    """
    with needing("the learned attacks need scikit-learn", extra="audit"):
        from sklearn.ensemble import (  # noqa: PLC0415 - optional
            HistGradientBoostingClassifier,
        )

    rng = random_of(evidence.seed)
    models, rows, width = features.shape
    few_labels = features[..., 0].max() < 255
    scores = np.empty((models, rows))
    halves = np.array_split(rng.permutation(rows), 2)
    for scored, learned in (halves, halves[::-1]):
        x = features[1:, learned].reshape(-1, width)
        y = evidence.shadow_member[:, learned].reshape(-1)
        sample = rng.permutation(len(y))[:_MOST_TRAINING_ROWS]
        classifier = HistGradientBoostingClassifier(
            max_iter=iterations,
            learning_rate=0.08,
            max_leaf_nodes=15,
            min_samples_leaf=min(40, max(1, len(sample) // 20)),
            l2_regularization=1.0,
            early_stopping=False,
            categorical_features=[0] if few_labels else None,
            random_state=int(rng.integers(2**31)),
        ).fit(x[sample], y[sample])
        odds = classifier.decision_function(features[:, scored].reshape(-1, width))
        scores[:, scored] = odds.reshape(models, -1)
    return scores


def _answer_features(evidence: Evidence) -> Floats:
    """Return the label and what one answer says by itself, (1 + S, n, F)."""
    log_p, labels = evidence.log_p, evidence.labels
    classes = log_p.shape[-1]
    falling = -np.partition(-log_p, np.arange(min(_SORTED, classes - 1)), axis=-1)[..., :_SORTED]
    columns = [
        np.broadcast_to(labels.astype(np.float64), evidence.hits.shape)[..., None],
        evidence.logit[..., None],
        evidence.log_entropy[..., None],
        evidence.log_modified_entropy[..., None],
        signals.rank_of_label(log_p, labels)[..., None],
        evidence.hits[..., None],
        falling,
    ]
    if classes <= _MOST_CLASSES:
        columns.append(log_p)
    return np.concatenate(columns, axis=-1)


def _scores_as_features(evidence: Evidence) -> Floats:
    """Return the scores of the other attacks with shadows, (1 + S, n, F)."""
    others: tuple[Attack, ...] = (
        LiraOnline(),
        LiraOnline(per_example=True),
        LiraOffline(),
        RmiaOnline(),
        RmiaOffline(),
        LabelLira(),
    )
    return np.stack([attack.scores(evidence) for attack in others], axis=-1)


def _comparison(
    evidence: Evidence, order: NDArray[np.intp], model: int, inside: Mask, outside: Mask
) -> Floats:
    """Return how a model's answers relate to those of its IN and OUT shadows, (n, F)."""
    log_p, logit = evidence.log_p[model], evidence.logit[1:]
    columns = []
    for mask in (inside, outside):
        weight = mask / mask.sum(axis=0)
        average = np.einsum("sn,snk->nk", weight, evidence.log_p[1:])
        columns += [mean(logit, mask), deviation(logit, mask), mean(evidence.hits[1:], mask)]
        columns.append(((log_p - average) ** 2).mean(axis=-1))
        agreed = np.einsum("sn,snr->nr", weight, order[1:] == order[model])
        columns += list(agreed.T)
    return np.stack(columns, axis=-1)


def _leading(log_p: Floats) -> NDArray[np.intp]:
    """Return the leading classes of each answer in order, (1 + S, n, R)."""
    count = min(_RANKS, log_p.shape[-1])
    return np.argsort(-log_p, axis=-1, kind="stable")[..., :count]
