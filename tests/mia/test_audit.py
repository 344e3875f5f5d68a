"""The whole audit on invented models whose leaks are known."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dynaserve.mia.audit as audit_module
from dynaserve import DynaNoise, RankTemplate
from dynaserve.defenses import Undefended
from dynaserve.mia import audit, metrics
from dynaserve.mia.attacks import ATTACKS, LABEL_BEST, PAPER_ATTACKS
from dynaserve.mia.peers.simple import TopOne

N, K, S = 640, 5, 6


def world(seed: int = 0, leak: float = 3.0) -> dict[str, Any]:
    """Return models that are more confident of members, on rows of differing difficulty."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, K, N)
    member = np.arange(N) < N // 2
    shadow_member = rng.random((S, N)).argsort(axis=0) < S // 2
    ease = rng.normal(1.5, 1.5, N)

    def logits(trained: np.ndarray) -> np.ndarray:
        signal = (ease + leak * trained)[:, None] * np.eye(K)[labels]
        return (rng.normal(size=(N, K)) + signal).astype(np.float32)

    return {
        "logits": logits(member),
        "labels": labels,
        "member": member,
        "shadow_logits": np.stack([logits(one) for one in shadow_member]),
        "shadow_member": shadow_member,
    }


def near(arrays: dict[str, Any], count: int = 6, spread: float = 0.1) -> dict[str, Any]:
    rng = np.random.default_rng(9)

    def jittered(z: np.ndarray) -> np.ndarray:
        return z[..., None, :] + spread * rng.normal(size=(*z.shape[:-1], count, K))

    return {
        "neighbor_logits": jittered(arrays["logits"]),
        "shadow_neighbor_logits": jittered(arrays["shadow_logits"]),
    }


@pytest.fixture(autouse=True)
def few_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the learned attacks quick; their own tests run them in full."""
    from dynaserve.mia.attacks import learned

    full = learned.cross_fitted
    monkeypatch.setattr(
        learned, "cross_fitted", lambda f, e, *, iterations: full(f, e, iterations=iterations // 10)
    )


@pytest.fixture(scope="module")
def arrays() -> dict[str, Any]:
    return world()


def test_without_a_defense_after_is_before(arrays: dict[str, Any]) -> None:
    found = audit(**arrays, repeats=(1, 10), bootstrap=20)
    assert found.attacks == found.attacks_before
    assert (found.accuracy_after, found.midput) == (found.accuracy_before, 0)
    names = [*ATTACKS, LABEL_BEST]
    assert set(found.attacks) == {*names, *(f"{name}@10" for name in names)}
    assert found.attacks["lira_online"].auc > found.attacks["loss"].auc + 0.02
    assert found.defense == Undefended().describe()


def test_accuracy_and_gap_are_those_of_the_labels(arrays: dict[str, Any]) -> None:
    found = audit(**arrays, bootstrap=0)
    hits = arrays["logits"].argmax(axis=1) == arrays["labels"]
    inside, outside = hits[arrays["member"]].mean(), hits[~arrays["member"]].mean()
    assert found.accuracy_before == pytest.approx(outside)
    assert found.member_accuracy_before == pytest.approx(inside)
    gap = found.attacks["gap"]
    assert gap.auc == pytest.approx(0.5 + (inside - outside) / 2)
    assert gap.balanced_accuracy == pytest.approx(0.5 + (inside - outside) / 2)
    assert (found.members, found.non_members, found.classes, found.shadows) == (
        N // 2,
        N // 2,
        K,
        S,
    )


def test_members_given_as_non_members_leak_as_much(arrays: dict[str, Any]) -> None:
    swapped = arrays | {"member": ~arrays["member"], "shadow_member": ~arrays["shadow_member"]}
    straight, turned = (audit(**one, bootstrap=0) for one in (arrays, swapped))
    for name in ("confidence", "loss", "entropy", "modified_entropy", "gap"):
        assert turned.attacks[name].reversed
        assert turned.attacks[name].auc == pytest.approx(straight.attacks[name].auc)
    lira = (one.attacks["lira_online"] for one in (straight, turned))
    first, second = (one.auc for one in lira)
    assert second == pytest.approx(first, abs=0.01)


def test_a_model_that_does_not_know_its_members_leaks_nothing() -> None:
    found = audit(**world(seed=4, leak=0.0), bootstrap=100)
    for one in found.attacks.values():
        assert one.auc == pytest.approx(0.5, abs=0.07), one.name
    assert found.worst.auc < 0.57


def test_which_wrong_label_comes_is_part_of_what_the_label_gives_away() -> None:
    rng = np.random.default_rng(1)
    member, sets = np.arange(N) < N // 2, rng.random((S, N)).argsort(axis=0) < S // 2
    logits = [np.eye(K)[np.where(one, 1, 2)] for one in (member, *sets)]
    found = audit(
        logits[0],
        np.zeros(N, int),  # always wrong: whether a label is right says nothing
        member,
        shadow_logits=np.stack(logits[1:]),
        shadow_member=sets,
        bootstrap=0,
        repeats=(1,),
    )
    assert found.attacks["label_lira"].auc == 0.5
    assert found.attacks["label_best"].auc == found.leak["1"].floor == 1.0
    assert found.attacks["label_best"].view == "shadow on the label"
    assert found.leak["1"].scores_add == 0


def test_labels_alone_add_nothing_to_labels(arrays: dict[str, Any]) -> None:
    found = audit(**arrays, **near(arrays, spread=2.0), defense=TopOne(), bootstrap=0)
    assert found.leak["1"].scores_add == 0
    assert found.leak["near6"].scores_add == pytest.approx(0, abs=0.003)
    assert found.leak["near6"].floor > found.attacks["label_lira@near6"].auc - 1e-9
    # The floor is that of the model, whatever is released on top of its labels.
    assert found.attacks_before["label_best"] == found.attacks["label_best"]
    assert found.attacks_before["label_best@near6"] == found.attacks["label_best@near6"]


def test_rank_template_leaves_little_above_the_floor(arrays: dict[str, Any]) -> None:
    out = ~arrays["member"]
    template = RankTemplate.calibrate(arrays["logits"][out], arrays["labels"][out], ranks=2)
    found = audit(**arrays, defense=template, bootstrap=50)
    leak, before = found.leak["1"], found.leak_before["1"]
    assert found.accuracy_after == found.accuracy_before
    assert leak.total < leak.floor + 0.04
    assert before.scores_add > leak.scores_add + 0.05
    assert leak.dominant == "label"
    assert found.calibration_error_after < 0.05
    assert found.attacks["lira_online@100"].auc == found.attacks["lira_online"].auc
    assert found.attacks["lira_online@100"].form == "100"


def test_repeats_average_fresh_noise_away(arrays: dict[str, Any]) -> None:
    noise = DynaNoise.paper(base_variance=3.0, sensitivity_scale=0.0, temperature=10.0)
    found = audit(**arrays, defense=noise, bootstrap=0)
    bare = found.attacks_before["lira_online"].auc
    one, hundred = (found.attacks[f"lira_online{form}"].auc for form in ("", "@100"))
    assert one < bare - 0.05
    assert hundred > bare - 0.03
    assert found.attacks["lira_online@100"].view.startswith("mean of")


def test_the_paper_sees_a_defense_that_the_adaptive_attacker_does_not(
    arrays: dict[str, Any],
) -> None:
    # At T = 10 no confidence reaches .9: fixed thresholds report success by construction.
    hot = DynaNoise.paper(base_variance=0.0, temperature=10.0)
    paper = audit(**arrays, defense=hot, protocol="paper", bootstrap=0)
    adaptive = audit(**arrays, defense=hot, bootstrap=0)
    assert paper.attacks["confidence"].balanced_accuracy == 0.5
    assert paper.attacks_before["confidence"].balanced_accuracy > 0.6
    assert paper.attacks["confidence"].threshold_from == "paper"
    assert paper.midput > 0.05
    for name in ("confidence", "entropy", "lira_online", "shadow"):
        after, before = adaptive.attacks[name], adaptive.attacks_before[name]
        assert after.auc == pytest.approx(before.auc, abs=0.02)
    assert abs(adaptive.midput) < 0.02
    assert set(paper.attacks) == {*ATTACKS, LABEL_BEST}
    assert any("the paper's protocol" in line for line in paper.not_tested)


def test_midput_is_the_mean_over_the_papers_attacks(arrays: dict[str, Any]) -> None:
    noise = DynaNoise.paper(base_variance=1.0)
    found = audit(**arrays, defense=noise, protocol="paper", bootstrap=0)
    assert set(found.midput_by_attack) == set(PAPER_ATTACKS)
    falls = [
        found.attacks_before[name].balanced_accuracy - found.attacks[name].balanced_accuracy
        for name in PAPER_ATTACKS
    ]
    lost = found.accuracy_before - found.accuracy_after
    assert found.midput == pytest.approx(np.mean(falls) - lost)


def test_adaptive_midput_counts_the_strongest_form(arrays: dict[str, Any]) -> None:
    noise = DynaNoise.paper(base_variance=3.0, temperature=1.0)
    found = audit(**arrays, defense=noise, repeats=(1, 20), bootstrap=0)
    after = max(found.attacks[n].balanced_accuracy for n in ("loss", "loss@20"))
    before = found.attacks_before["loss"].balanced_accuracy
    lost = found.accuracy_before - found.accuracy_after
    assert found.midput_by_attack["loss"] == pytest.approx(before - after - lost)


def test_near_duplicates_break_keyed_noise_where_repeats_do_not(arrays: dict[str, Any]) -> None:
    noise = DynaNoise.keyed(key=bytes(range(32)), base_variance=4.0)
    found = audit(**arrays, **near(arrays, 30), defense=noise, bootstrap=0)
    one, repeated, neighbors = (
        found.attacks[f"lira_online{form}"].auc for form in ("", "@100", "@near30")
    )
    assert repeated == one
    assert neighbors > one + 0.05
    assert "lira_online@near30" in found.attacks_before
    assert set(found.leak) == {"1", "10", "100", "near30"}
    assert set(found.attacks) == set(found.attacks_before)


def test_the_strongest_jitter_is_reported(arrays: dict[str, Any]) -> None:
    weak, strong = near(arrays, 5, spread=20.0), near(arrays, 5, spread=0.1)
    both = {
        key: {"far": weak[key], "close": strong[key]}
        for key in ("neighbor_logits", "shadow_neighbor_logits")
    }
    found = audit(**arrays, **both, repeats=(1,), bootstrap=0)
    assert found.attacks["lira_online@near5"].view.startswith("jitter close")
    alone = audit(**arrays, **weak, bootstrap=0)
    assert found.attacks["lira_online@near5"].auc > alone.attacks["lira_online@near5"].auc


def test_without_shadows_what_is_missing_is_said(arrays: dict[str, Any]) -> None:
    bare = {name: arrays[name] for name in ("logits", "labels", "member")}
    found = audit(**bare, bootstrap=0)
    assert set(found.attacks) == {
        f"{name}{form}"
        for name in ("gap", "confidence", "loss", "entropy", "modified_entropy", LABEL_BEST)
        for form in ("", "@10", "@100")
    }
    assert {one.threshold_from for one in found.attacks.values()} == {"target"}
    text = " ".join(found.not_tested)
    assert "lira_online" in text
    assert "no shadow models were given" in text
    assert "no neighbor_logits were given" in text
    assert "TPR at 0.1% FPR: it means nothing with 320 non-members" in text
    assert not found.attacks["loss"].tpr_at_01pct_fpr_meaningful


def test_rows_in_differing_numbers_of_shadows_are_said(arrays: dict[str, Any]) -> None:
    uneven = arrays["shadow_member"].copy()
    uneven[np.argmax(uneven[:, 0]), 0] = False
    found = audit(**(arrays | {"shadow_member": uneven}), bootstrap=0)
    assert any("2 to 3 of each kind were used" in line for line in found.not_tested)


def test_equal_labels_in_uneven_shadows_leak_nothing() -> None:
    # The label of a row is the same in every model, but rows differ in their shadow counts.
    rng = np.random.default_rng(11)
    labels = rng.integers(0, K, N)
    logits = np.eye(K)[np.where(rng.random(N) < 0.7, labels, (labels + 1) % K)] * 2.0
    shadow_member = rng.random((9, N)) < 0.5
    shadow_member[:2], shadow_member[2:4] = True, False
    found = audit(
        logits,
        labels,
        rng.random(N) < 0.5,
        shadow_logits=np.repeat(logits[None], 9, axis=0),
        shadow_member=shadow_member,
        bootstrap=0,
        repeats=(1,),
    )
    for one in found.attacks.values():
        assert one.auc == pytest.approx(0.5, abs=0.06), one.name


def test_the_same_seed_gives_the_same_audit(arrays: dict[str, Any]) -> None:
    noise = DynaNoise.paper()
    options: dict[str, Any] = {"defense": noise, "repeats": (1, 3), "bootstrap": 10}
    first, second = (audit(**arrays, **options, seed=5) for _ in range(2))
    assert first == second
    assert audit(**arrays, **options, seed=6) != first


def test_inputs_are_left_as_they_were() -> None:
    arrays = world(seed=2) | near(world(seed=2))
    copies = {name: array.copy() for name, array in arrays.items()}
    for array in arrays.values():
        array.flags.writeable = False
    audit(**arrays, defense=DynaNoise.paper(), repeats=(1, 2), bootstrap=5)
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, copies[name])


def test_it_becomes_json(arrays: dict[str, Any]) -> None:
    found = audit(**arrays, defense=DynaNoise.paper(), repeats=(1,), bootstrap=5)
    read = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert read["attacks"]["lira_online"]["auc"] == found.attacks["lira_online"].auc
    assert read["leak"]["1"]["scores_add"] == pytest.approx(found.leak["1"].scores_add)
    assert read["protocol"] == "adaptive"


def test_progress_counts_up_to_its_total(arrays: dict[str, Any]) -> None:
    told: list[tuple[int, int, str]] = []
    audit(
        **arrays,
        **near(arrays),
        defense=DynaNoise.paper(),
        repeats=(1, 2),
        bootstrap=0,
        progress=lambda *step: told.append(step),
    )
    assert [step[:2] for step in told] == [(done, 5) for done in range(1, 6)]
    assert [step[2] for step in told] == [
        "undefended, 1 query",
        "undefended, 6 near-duplicates",
        "defended, 1 query",
        "defended, 2 repeats",
        "defended, 6 near-duplicates",
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"protocol": "strict"}, "protocol: must be 'adaptive' or 'paper'"),
        ({"repeats": (0,)}, "at least 1"),
        ({"repeats": (1.5,)}, "whole numbers"),
        ({"shadow_defenses": [Undefended()], "defense": DynaNoise.paper()}, "1 for 6 shadows"),
    ],
)
def test_wrong_options_are_named(
    arrays: dict[str, Any], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        audit(**arrays, **options)


def test_one_query_is_always_among_the_forms(arrays: dict[str, Any]) -> None:
    bare = {name: arrays[name] for name in ("logits", "labels", "member")}
    found = audit(**bare, repeats=(5, 5), bootstrap=0)
    assert [one.form for one in found.attacks.values() if one.attack == "loss"] == ["1", "5"]


def test_masked_classes_and_float16_are_audited(arrays: dict[str, Any]) -> None:
    masked = {name: arrays[name].copy() for name in ("logits", "shadow_logits")}
    for array in masked.values():
        array[..., K - 1] = -np.inf
    keep = arrays["labels"] < K - 1
    found = audit(
        masked["logits"][keep].astype(np.float16),
        arrays["labels"][keep],
        arrays["member"][keep],
        shadow_logits=masked["shadow_logits"][:, keep].astype(np.float16),
        shadow_member=arrays["shadow_member"][:, keep],
        defense=DynaNoise.paper(),
        repeats=(1, 3),
        bootstrap=5,
    )
    assert all(np.isfinite(one.auc) for one in found.attacks.values())


def test_the_function_survives_an_import_of_its_module() -> None:
    code = (
        "import sys, dynaserve.mia.audit; from dynaserve.mia import audit, Audit;"
        "assert callable(audit);"
        "assert not {'sklearn', 'torch', 'scipy', 'matplotlib'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert audit is sys.modules["dynaserve.mia.audit"].audit
    assert audit_module is audit


def test_location30_reaches_the_known_figures() -> None:
    path = Path(__file__).parents[2] / ".." / "shared" / "data" / "location30" / "location30.npz"
    if not path.exists():
        pytest.skip("no Location30 here")
    from sklearn.neural_network import MLPClassifier

    with np.load(path) as file:
        order = np.random.default_rng(0).permutation(len(file["y"]))
        x, y = file["x"][order].astype(np.float32), file["y"][order].astype(np.int64)
    held_x, held_y, x, y = x[2000:], y[2000:], x[:2000], y[:2000]
    rng = np.random.default_rng(1)
    sets = rng.random((4, 2000)).argsort(axis=0) < 2
    member = np.arange(2000) < 1000

    def train(mask: np.ndarray) -> MLPClassifier:
        model = MLPClassifier((96,), max_iter=25, batch_size=64, alpha=0, random_state=0)
        with np.errstate(all="ignore"):
            return model.fit(x[mask], y[mask])

    def logits(model: MLPClassifier, rows: np.ndarray) -> np.ndarray:
        hidden = np.maximum(rows @ model.coefs_[0] + model.intercepts_[0], 0)
        return np.asarray(hidden @ model.coefs_[1] + model.intercepts_[1])

    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        target, *shadows = [train(mask) for mask in (member, *sets)]
    found = audit(
        logits(target, x),
        y,
        member,
        shadow_logits=np.stack([logits(one, x) for one in shadows]),
        shadow_member=sets,
        defense=RankTemplate.calibrate(logits(target, held_x), held_y, ranks=3),
        repeats=(1,),
    )
    assert found.attacks_before["lira_online"].auc > 0.9
    assert found.attacks_before["modified_entropy"].auc > 0.85
    assert found.accuracy_after == found.accuracy_before
    assert found.leak["1"].total < found.leak["1"].floor + 0.03
    assert metrics.enough_for(0.001, ~member)


def test_shadows_that_teach_nothing_turn_no_attack_around(arrays: dict[str, Any]) -> None:
    for seed in range(6):
        mixed = np.random.default_rng(seed).random((S, N)).argsort(axis=0) < S // 2
        found = audit(**arrays | {"shadow_member": mixed}, repeats=(1,), bootstrap=0)
        bare = audit(**{k: arrays[k] for k in ("logits", "labels", "member")}, bootstrap=0)
        assert found.attacks["loss"].auc == bare.attacks["loss"].auc > 0.8
        assert not any(found.attacks[name].reversed for name in ("gap", "confidence", "entropy"))
        assert found.leak["1"].dominant != "none"
        assert any("shadow_member" in line for line in found.not_tested)


def test_shadows_that_teach_something_are_not_suspected(arrays: dict[str, Any]) -> None:
    found = audit(**arrays, repeats=(1,), bootstrap=0)
    assert not any("belong to" in line for line in found.not_tested)


def test_more_ways_to_choose_on_the_target_take_more_to_be_a_leak() -> None:
    rng = np.random.default_rng(0)
    alarms = 0
    for _ in range(30):
        member = np.arange(120) < 60
        found = audit(
            rng.normal(size=(120, 3)),
            rng.integers(0, 3, 120),
            member,
            neighbor_logits={str(n): rng.normal(size=(120, 2, 3)) for n in range(12)},
            repeats=(1,),
            bootstrap=0,
        )
        alarms += any(leak.dominant != "none" for leak in found.leak.values())
    assert alarms <= 3
