"""Models invented for tests: their answers, and what an attacker puts before them."""

from __future__ import annotations

from typing import Any

import numpy as np

from dynaserve.mia.data import AuditData
from dynaserve.mia.defended import Defended

N, K, S = 700, 4, 4
KEY = bytes(range(32))


def data(**more: Any) -> AuditData:
    """Return N answers of a target and of S shadows, all drawn alike."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, K, N)
    return AuditData.checked(
        rng.normal(size=(N, K)) + np.eye(K)[labels],
        labels,
        np.arange(N) % 2 == 0,
        shadow_logits=rng.normal(size=(S, N, K)) + np.eye(K)[labels],
        shadow_member=rng.random((S, N)).argsort(axis=0) < S // 2,
        **more,
    )


def known(defense: Any, given: AuditData, seed: int = 0) -> Defended:
    """Return a defense as an attacker knows it who has brought none for the shadows."""
    return Defended.known(defense, given, shadow_defenses=None, seed=seed)
