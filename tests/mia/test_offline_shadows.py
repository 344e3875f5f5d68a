"""Attackers whose shadows were never trained on some or all of the audited rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dynaserve import DynaNoise
from dynaserve.mia import audit
from dynaserve.mia.attacks import ATTACKS, LABEL_BEST, learned
from dynaserve.mia.data import AuditData
from dynaserve.mia.gates import Gate
from dynaserve.mia.plan import Plan

N, K, S = 400, 4, 6
OFFLINE = {"lira_offline", "lira_offline_per_example", "rmia_offline"}
ALWAYS = {"gap", "confidence", "loss", "entropy", "modified_entropy", LABEL_BEST}


def world(trained: np.ndarray) -> dict[str, Any]:
    """Return models that are surer of what they were trained on, rows differing in difficulty."""
    rng = np.random.default_rng(0)
    labels, ease = rng.integers(0, K, N), rng.normal(2, 3, N)
    member = np.arange(N) < N // 2

    def logits(flags: np.ndarray) -> np.ndarray:
        return rng.normal(size=(N, K)) + (ease + 3 * flags)[:, None] * np.eye(K)[labels]

    return {
        "logits": logits(member),
        "labels": labels,
        "member": member,
        "shadow_logits": np.stack([logits(flags) for flags in trained]),
        "shadow_member": trained,
    }


@pytest.fixture(autouse=True)
def few_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    full = learned.cross_fitted
    monkeypatch.setattr(
        learned, "cross_fitted", lambda f, e, *, iterations: full(f, e, iterations=iterations // 20)
    )


def test_shadows_on_other_rows_leave_the_offline_attacks_which_find_more_than_none() -> None:
    found = audit(**world(np.zeros((S, N), bool)), repeats=(1,), bootstrap=0)
    assert set(found.attacks) == OFFLINE | ALWAYS
    assert found.attacks["lira_offline"].auc > found.attacks["loss"].auc + 0.1
    assert {one.threshold_from for one in found.attacks.values()} == {"target"}
    (remark,) = [line for line in found.not_tested if "lira_online" in line]
    assert "boosted" in remark
    assert "lira_offline" not in remark
    assert "400 of 400 rows" in remark


def test_a_single_row_outside_all_shadows_leaves_out_what_compares_both() -> None:
    trained = np.random.default_rng(1).random((S, N)).argsort(axis=0) < S // 2
    trained[:, 7] = False
    found = audit(**world(trained), defense=DynaNoise.paper(), repeats=(1, 2), bootstrap=0)
    assert {one.attack for one in found.attacks.values()} == OFFLINE | ALWAYS
    assert any("1 of 400 rows" in line for line in found.not_tested)


def test_the_plan_knows_it() -> None:
    data = AuditData.checked(**world(np.zeros((S, N), bool)))
    plan = Plan.of(data, repeats=(1,), protocol="adaptive")
    assert set(plan.attacks) == OFFLINE | ALWAYS
    with pytest.raises(ValueError, match=r"'lira_online\.auc' is not tested"):
        Gate.parse("lira_online.auc>0.6").require_planned(plan)


def test_rows_in_differing_numbers_of_shadows_lose_none_offline() -> None:
    trained = np.random.default_rng(1).random((S, N)).argsort(axis=0) < S // 2
    trained[np.argmax(trained[:, 0]), 0] = False
    found = audit(**world(trained), repeats=(1,), bootstrap=0)
    assert {one.attack for one in found.attacks.values()} == {*ATTACKS, LABEL_BEST}
    (remark,) = [line for line in found.not_tested if "2 to 3 of each kind" in line]
    assert "offline attacks used all" in remark


def test_few_rows_are_said() -> None:
    rng = np.random.default_rng(2)
    member = np.arange(40) < 10
    found = audit(rng.normal(size=(40, 3)), rng.integers(0, 3, 40), member, bootstrap=0)
    assert any("10 members and 30 non-members" in line for line in found.not_tested)
