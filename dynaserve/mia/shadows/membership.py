"""Who is a member of which model: the design of the experiment, drawn before any training.

With unequal numbers of models in and out, the rounding of tied scores alone tells members from
non-members; hence the balance, exact for every row.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def target_membership(points: int, seed: int) -> NDArray[np.bool_]:
    """Return (points,) bool with exactly ``points // 2`` members."""
    member = np.zeros(points, bool)
    member[np.random.default_rng([seed, 0]).permutation(points)[: points // 2]] = True
    return member


def balanced_membership(models: int, points: int, seed: int) -> NDArray[np.bool_]:
    """Return (models, points) bool in which each row of data is in exactly half of the models.

    Source: Carlini et al., "Membership Inference Attacks From First Principles", 2022, in the
    form of its published code: the argsort of uniform numbers (models x points) < models / 2.

    Raises
    ------
    ValueError
        If ``models`` is odd or below 2.
    """
    if models < 2 or models % 2:
        raise ValueError(f"shadows: needs an even number, at least 2, got {models}")
    uniform = np.random.default_rng([seed, 1]).random((models, points))
    # The argsort of an argsort is a rank; one argsort of independent uniforms is as uniform.
    return np.asarray(uniform.argsort(axis=0) < models // 2)
