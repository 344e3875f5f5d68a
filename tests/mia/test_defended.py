"""What stands before each shadow when the attacker knows the defense, all but its key."""

from __future__ import annotations

import numpy as np
import pytest

from dynaserve import DynaNoise, RankTemplate
from dynaserve.defenses import Undefended
from dynaserve.mia.data import AuditData
from dynaserve.mia.defended import Defended, SeededNoise
from tests.mia.worlds import KEY, N, S, data, known


def test_keyed_noise_has_another_key_on_each_shadow_and_its_own_on_the_target() -> None:
    given = data()
    defense = DynaNoise.keyed(key=KEY)
    defended = known(defense, given)
    queries = np.arange(N)[:, None]
    released = [one(given.logits, queries=queries) for one in defended.release]
    np.testing.assert_array_equal(released[0], defense(given.logits, queries=queries))
    assert len({one.tobytes() for one in released}) == S + 1
    assert defended.repeats_itself(given)


def test_a_template_is_calibrated_anew_on_what_a_shadow_was_not_trained_on() -> None:
    given = data()
    assert given.shadow_logits is not None
    out = ~given.trained_on(2)
    target = RankTemplate.calibrate(given.logits, given.labels, ranks=2, buckets=2)
    expected = RankTemplate.calibrate(given.shadow_logits[2][out], given.labels[out], 2, 2)
    release = known(target, given).release
    assert release[0] is target
    np.testing.assert_array_equal(
        release[3](given.shadow_logits[2]), expected(given.shadow_logits[2])
    )


def test_with_too_few_rows_the_targets_template_stands_in_and_it_is_said() -> None:
    given = data()
    template = RankTemplate.calibrate(given.logits, given.labels)
    rows = slice(0, 400)
    assert given.shadow_logits is not None
    assert given.shadow_member is not None
    small = AuditData.checked(
        given.logits[rows],
        given.labels[rows],
        given.member[rows],
        shadow_logits=given.shadow_logits[:, rows],
        shadow_member=given.shadow_member[:, rows],
    )
    defended = known(template, small)
    assert all(one is template for one in defended.release)
    (remark,) = defended.remarks
    assert "4 of 4 shadows" in remark
    assert "at least 300 rows" in remark


def test_defenses_brought_for_the_shadows_are_used_and_counted() -> None:
    given = data()
    shadows = [Undefended() for _ in range(S)]
    defended = Defended.known(DynaNoise.paper(), given, shadow_defenses=shadows, seed=0)
    assert list(defended.release[1:]) == shadows
    with pytest.raises(ValueError, match="3 for 4 shadows"):
        Defended.known(DynaNoise.paper(), given, shadow_defenses=shadows[:3], seed=0)


def test_seeded_noise_repeats_with_its_seed_and_has_the_spread_of_the_real_one() -> None:
    defense = DynaNoise.paper(base_variance=0.5, temperature=3.0)
    logits = np.tile(np.array([[1.0, 0.0, -1.0]]), (20_000, 1))
    first, second = (SeededNoise(defense, np.random.default_rng(7))(logits) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    real = defense(logits)
    np.testing.assert_allclose(first.mean(axis=0), real.mean(axis=0), atol=0.005)
    np.testing.assert_allclose(first.std(axis=0), real.std(axis=0), rtol=0.04)


def test_fresh_noise_does_not_repeat_itself() -> None:
    given = data()
    assert not known(DynaNoise.paper(), given).repeats_itself(given)
    assert known(DynaNoise.paper(base_variance=0.0), given).repeats_itself(given)
    assert known(RankTemplate.calibrate(given.logits, given.labels), given).repeats_itself(given)


class NoisyFrom:
    """Noise on the rows from one on, none before."""

    def __init__(self, row: int) -> None:
        self._row, self._rng = row, np.random.default_rng(0)

    def __call__(self, logits: np.ndarray, *, queries: np.ndarray) -> np.ndarray:
        p = np.full(logits.shape, 1 / logits.shape[-1])
        p[queries[:, 0] >= self._row] += self._rng.normal(size=logits.shape[-1])
        return p


@pytest.mark.parametrize("row", [0, 65, N - 1])
def test_noise_on_the_last_row_alone_is_noise(row: int) -> None:
    given = data()
    assert not Defended((NoisyFrom(row),), temperature=1.0).repeats_itself(given)
    assert Defended((NoisyFrom(N),), temperature=1.0).repeats_itself(given)
