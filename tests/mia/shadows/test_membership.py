"""The membership matrix."""

from __future__ import annotations

import numpy as np
import pytest

from dynaserve.mia.shadows import balanced_membership, target_membership


@pytest.mark.parametrize("models", [2, 16, 64])
def test_every_row_is_in_exactly_half_of_the_models(models: int) -> None:
    member = balanced_membership(models, 500, seed=3)
    assert member.shape == (models, 500)
    assert (member.sum(axis=0) == models // 2).all()


def test_memberships_of_two_models_are_nearly_independent() -> None:
    member = balanced_membership(4, 60_000, seed=0)
    # of the 6 ways to choose 2 of 4 models, 1 holds both of a given pair
    both = (member[0] & member[1]).mean()
    assert both == pytest.approx(1 / 6, abs=0.006)
    assert member.mean(axis=1) == pytest.approx(np.full(4, 0.5), abs=0.01)


def test_an_odd_number_of_shadows_cannot_be_balanced() -> None:
    with pytest.raises(ValueError, match="even number"):
        balanced_membership(15, 10, seed=0)
    with pytest.raises(ValueError, match="at least 2"):
        balanced_membership(0, 10, seed=0)


def test_the_target_has_half_of_the_rows_whatever_the_seed() -> None:
    first, second = target_membership(101, 0), target_membership(101, 1)
    assert first.sum() == second.sum() == 50
    assert not np.array_equal(first, second)
    np.testing.assert_array_equal(first, target_membership(101, 0))
