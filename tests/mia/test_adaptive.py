"""Forms of asking, and the ways of reading what comes back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import log_softmax

from dynaserve import DynaNoise
from dynaserve.mia.adaptive import looks, undefended_looks
from dynaserve.mia.data import AuditData
from tests.mia.worlds import KEY, K, N, data, known


def test_many_repeats_and_the_temperature_undone_give_back_the_undefended_answer() -> None:
    given = data()
    defense = DynaNoise.paper(base_variance=0.3, sensitivity_scale=0.0, temperature=10.0)
    last = list(looks(given, known(defense, given), (1, 100)))[-1]
    views = {view.words: view for view in last.views}
    undone = views["mean of log-probabilities, temperature undone"].log_p
    target = log_softmax(given.logits, axis=-1)
    # The mean over 100 has a tenth of the noise.
    assert np.std((undone[0] - undone[0][:, :1]) - (target - target[:, :1])) < 0.11
    as_released = views["mean of log-probabilities"].log_p
    np.testing.assert_allclose(log_softmax(10 * as_released, axis=-1), undone, atol=1e-9)


def test_every_form_offers_both_means_and_both_temperatures() -> None:
    given = data()
    single, ten = looks(given, known(DynaNoise.paper(), given), (1, 10))
    assert (single.form, ten.form) == ("1", "10")
    assert [view.words for view in single.views] == ["as released", "temperature undone"]
    assert [view.words for view in ten.views] == [
        "mean of log-probabilities",
        "mean of log-probabilities, temperature undone",
        "mean of probabilities",
        "mean of probabilities, temperature undone",
    ]
    assert set(np.unique(single.views[0].hits)) <= {0.0, 1.0}
    assert np.unique(ten.views[0].hits).size > 2


def test_repeats_are_nested() -> None:
    given = data()
    defended = known(DynaNoise.paper(), given, seed=3)
    alone = next(looks(given, known(DynaNoise.paper(), given, seed=3), (1,)))
    first = next(looks(given, defended, (1, 5)))
    np.testing.assert_array_equal(alone.views[0].log_p, first.views[0].log_p)


def near(given: AuditData, count: int, spread: float) -> dict[str, Any]:
    rng = np.random.default_rng(5)
    shape = (N, count, K)
    shadows = np.stack([z[:, None] + spread * rng.normal(size=shape) for z in given.models[1:]])
    return {
        "neighbor_logits": given.logits[:, None] + spread * rng.normal(size=shape),
        "shadow_neighbor_logits": shadows,
    }


def test_near_duplicates_average_keyed_noise_away() -> None:
    plain = data()
    given = data(**near(plain, 50, 0.01))
    defended = known(DynaNoise.keyed(key=KEY, base_variance=1.0), given)
    single, many = looks(given, defended, (1,))
    assert many.form == "near50"
    truth = log_softmax(given.logits, axis=-1)
    errors = [np.abs(look.views[0].log_p[0] - truth).mean() for look in (single, many)]
    assert errors[1] < errors[0] / 2


def test_sizes_of_jitter_are_views_of_one_form() -> None:
    plain = data()
    sizes = {name: near(plain, 3, spread) for name, spread in (("small", 0.1), ("large", 2.0))}
    given = data(
        neighbor_logits={name: one["neighbor_logits"] for name, one in sizes.items()},
        shadow_neighbor_logits={name: one["shadow_neighbor_logits"] for name, one in sizes.items()},
    )
    _, look = undefended_looks(given)
    assert look.form == "near3"
    assert look.shadows_alike
    assert [view.words for view in look.views] == [
        f"jitter {size}, mean of {what}"
        for size in sizes
        for what in ("log-probabilities", "probabilities")
    ]


def test_shadows_without_near_duplicates_answer_once() -> None:
    plain = data()
    given = data(neighbor_logits=near(plain, 3, 0.1)["neighbor_logits"])
    single, look = undefended_looks(given)
    assert not look.shadows_alike
    np.testing.assert_allclose(look.views[0].log_p[1:], single.views[0].log_p[1:], atol=1e-6)


def test_an_average_over_near_duplicates_is_that_of_all_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain = data()
    given = data(**near(plain, 3, 0.5))
    whole = list(undefended_looks(given))[1]
    monkeypatch.setattr("dynaserve.mia.adaptive._ROWS_AT_ONCE", 100)
    parts = list(undefended_looks(given))[1]
    np.testing.assert_array_equal(whole.views[0].log_p, parts.views[0].log_p)
    literal = log_softmax(given.neighbors[""].logits, axis=-1).mean(axis=1)
    np.testing.assert_allclose(whole.views[0].log_p[0], log_softmax(literal, axis=-1), atol=1e-9)
