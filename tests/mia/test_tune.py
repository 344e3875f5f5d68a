"""The search for a defense, on invented models whose leaks are known."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from dynaserve import RankTemplate, load_defense
from dynaserve.defenses import DynaNoise, Undefended
from dynaserve.mia.attacks import learned
from dynaserve.mia.audit import audit
from dynaserve.mia.data import AuditData
from dynaserve.mia.results import Leak
from dynaserve.mia.tune import ReferenceScores, Trial, Tuning, candidates, tune
from dynaserve.mia.tune.candidates import Candidate, Remarks
from dynaserve.mia.tune.figure import frontier_png
from dynaserve.mia.tune.results import Budget, preferred
from dynaserve.mia.tune.trying import QuickAudit

N, K, S = 320, 4, 4


def world(seed: int = 1, leak: float = 3.0) -> dict[str, Any]:
    """Return models that are more confident of members, and rows to calibrate on."""
    rng = np.random.default_rng(seed)
    labels, others = rng.integers(0, K, N), rng.integers(0, K, N)
    member = np.arange(N) < N // 2
    shadow_member = rng.random((S, N)).argsort(axis=0) < S // 2
    ease, other_ease = rng.normal(1.5, 1.5, (2, N))

    def logits(signal: np.ndarray, true: np.ndarray) -> np.ndarray:
        return (rng.normal(size=(N, K)) + signal[:, None] * np.eye(K)[true]).astype(np.float32)

    return {
        "logits": logits(ease + leak * member, labels),
        "labels": labels,
        "member": member,
        "shadow_logits": np.stack([logits(ease + leak * m, labels) for m in shadow_member]),
        "shadow_member": shadow_member,
        "held_out_logits": logits(other_ease, others),
        "held_out_labels": others,
    }


def audited(arrays: dict[str, Any]) -> AuditData:
    kept = {name: a for name, a in arrays.items() if not name.startswith("held_out")}
    return AuditData.checked(**kept)


def make_quick(patch: pytest.MonkeyPatch) -> None:
    full = learned.cross_fitted
    patch.setattr(
        learned, "cross_fitted", lambda f, e, *, iterations: full(f, e, iterations=iterations // 20)
    )
    patch.setattr(candidates, "_VARIANCES", (1.0,))
    patch.setattr(candidates, "_SCALES", (2.0,))
    patch.setattr(candidates, "_RANKS", (1, 2))


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    make_quick(monkeypatch)


@pytest.fixture(scope="module")
def found() -> Tuning:
    with pytest.MonkeyPatch.context() as patch:
        make_quick(patch)
        return tune(**world(), repeats=(1, 3))


def named(found: Tuning, name: str) -> Trial:
    return next(trial for trial in found.trials if trial.name == name)


def test_the_choice_keeps_the_budget_and_leaks_least_of_what_protects(found):
    assert found.best is not None
    assert found.best.protects
    assert found.best.within(found.budget)
    rivals = [t for t in found.trials if t.protects and t.within(found.budget)]
    assert found.best.exposure <= min(t.exposure for t in rivals) + 0.03
    assert found.best.family == "RankTemplate"


def test_finalists_carry_the_audit_that_audit_itself_makes(found):
    trial = found.best
    arrays = {name: a for name, a in world().items() if not name.startswith("held_out")}
    full = audit(**arrays, defense=trial.defense, repeats=(1, 3))
    assert trial.audit.to_dict() == full.to_dict()
    assert trial.leak == full.leak
    assert trial.accuracy_loss == full.accuracy_before - full.accuracy_after
    assert trial.calibration_error == full.calibration_error_after
    assert sum(t.audit is not None for t in found.trials) == 3


def test_a_quick_leak_is_the_best_of_the_audits_own_results(found):
    arrays = {name: a for name, a in world().items() if not name.startswith("held_out")}
    attacks = audit(**arrays, repeats=(1,)).attacks
    five = ("gap", "label_lira", "modified_entropy", "lira_online", "rmia_online")
    leak = named(found, "none").leak
    assert leak["1"].total == max(attacks[name].auc for name in five)
    assert leak["3"].total == leak["1"].total
    assert leak["1"].floor == max(attacks[name].auc for name in ("gap", "label_lira"))


def test_what_keeps_the_label_loses_no_accuracy(found):
    for trial in found.trials:
        if trial.family != "DynaNoise paper":
            assert trial.accuracy_loss == 0, trial.name
    assert named(found, "DynaNoise paper s0²=1 λ=2 T=1").accuracy_loss > 0.01


def test_temperature_alone_changes_calibration_and_nothing_that_leaks(found):
    none = named(found, "none")
    for trial in found.trials:
        if trial.family == "temperature only":
            assert trial.exposure == pytest.approx(none.exposure, abs=2e-3)
            assert trial.calibration_error != none.calibration_error
            assert not trial.protects


def test_the_fitted_temperature_minimizes_the_log_loss_of_held_out_rows(found):
    arrays = world()
    z, y = arrays["held_out_logits"].astype(float), arrays["held_out_labels"]

    def loss(t: float) -> float:
        return float(np.mean(np.log(np.exp(z / t).sum(axis=1)) - z[np.arange(N), y] / t))

    fitted = [t for t in found.trials if t.family == "temperature only"]
    t = min(trial.defense.config.temperature for trial in fitted)
    assert loss(t) < min(loss(t * 1.05), loss(t / 1.05))


def test_top_1_only_leaks_what_the_label_leaks(found):
    leak, bare = named(found, "top-1 only").leak["1"], named(found, "none").leak["1"]
    assert leak.floor == bare.floor
    # Which wrong label it was adds a little to whether it was wrong.
    assert leak.scores_add < bare.scores_add / 3


def test_repeats_undo_fresh_noise_and_not_keyed_noise(found):
    fresh = named(found, "DynaNoise paper s0²=1 λ=2 T=1").leak
    keyed = named(found, "DynaNoise keyed s0²=1 λ=2 T=1").leak
    assert fresh["3"].total > fresh["1"].total
    assert keyed["3"].total == keyed["1"].total


def test_a_temperature_twin_has_the_leak_it_would_have_been_measured_to_have():
    quick_audit = QuickAudit(audited(world()), repeats=3, seed=0)
    first = Candidate("a", "f", DynaNoise.paper(1.0, 2.0, 1.0))
    twin = Candidate("b", "f", DynaNoise.paper(1.0, 2.0, 10.0), leaks_like="a")
    quick_audit.trial(first)
    shared, measured = quick_audit.trial(twin), quick_audit.trial(replace(twin, leaks_like=None))
    assert shared.exposure == pytest.approx(measured.exposure, abs=2e-3)
    assert shared.calibration_error == measured.calibration_error


def test_without_held_out_rows_keyed_noise_is_chosen_and_the_gap_is_named():
    arrays = {name: a for name, a in world().items() if not name.startswith("held_out")}
    found = tune(**arrays, repeats=(1, 3), finalists=1)
    assert found.best.family == "DynaNoise keyed"
    assert any("RankTemplate" in note for note in found.notes)


def test_the_choice_can_be_saved_and_holds_no_key(tmp_path):
    arrays = {name: a for name, a in world().items() if not name.startswith("held_out")}
    best = tune(**arrays, repeats=(1,), finalists=1).best
    best.defense.save(tmp_path / "defense.toml")
    loaded = load_defense(tmp_path / "defense.toml", key=bytes(range(32)))
    assert loaded.config == best.defense.config
    assert "key =" not in (tmp_path / "defense.toml").read_text()


def test_nothing_within_the_budget_is_no_choice():
    found = tune(**world(), max_calibration_error=0.0, repeats=(1,))
    assert found.best is None
    assert found.nearest.protects
    least = min(t.calibration_error for t in found.trials if t.protects and t.accuracy_loss <= 0)
    assert found.nearest.calibration_error <= least + 0.02


def test_two_searches_agree():
    first, second = (tune(**world(), repeats=(1, 2), finalists=1).to_dict() for _ in range(2))
    assert first == second


def test_progress_ends_at_its_total():
    told: list[tuple[int, int]] = []
    tune(
        **world(),
        repeats=(1,),
        finalists=2,
        progress=lambda done, total, _: told.append((done, total)),
    )
    assert [done for done, _ in told] == list(range(1, len(told) + 1))
    assert told[-1][0] == told[-1][1]


def test_a_reference_adds_the_private_label_alone():
    arrays = world()
    rng = np.random.default_rng(4)
    public = rng.dirichlet(np.ones(K), N)
    found = tune(
        **arrays,
        reference_probabilities=public,
        held_out_reference_probabilities=rng.dirichlet(np.ones(K), N),
        repeats=(1,),
        finalists=1,
    )
    trial = named(found, "public reference")
    assert not trial.protects
    assert trial.exposure < named(found, "none").exposure - 0.05
    direct = RankTemplate.calibrate(
        arrays["held_out_logits"],
        arrays["held_out_labels"],
        reference=trial.defense._reference,
        queries=N + np.arange(N)[:, None],
    )
    assert direct.describe() == trial.defense.describe()


def test_a_near_duplicate_has_the_reference_of_its_row():
    scores = ReferenceScores(np.arange(6.0).reshape(3, 2), np.arange(4.0).reshape(2, 2) + 10)
    assert scores(np.array([[2], [3]])).tolist() == [[4, 5], [10, 11]]
    arrays = world()
    arrays["neighbor_logits"] = arrays["logits"][:, None].repeat(3, axis=1)
    quick_audit = QuickAudit(audited(arrays), repeats=1, seed=0)
    data = quick_audit.data_for(Candidate("r", "r", Undefended(), by_number=True))
    assert data.queries.tolist() == np.arange(N)[:, None].tolist()
    assert (data.neighbors[""].queries == np.arange(N)[:, None, None]).all()


def test_reference_and_held_out_rows_must_fit():
    arrays = world()
    with pytest.raises(ValueError, match="held_out_logits: 4 classes, logits have 3"):
        tune(
            arrays["logits"][:, :3],
            arrays["labels"] % 3,
            arrays["member"],
            held_out_logits=arrays["held_out_logits"],
            held_out_labels=arrays["held_out_labels"],
        )
    with pytest.raises(ValueError, match="reference_probabilities: needs shape"):
        tune(
            **arrays,
            reference_probabilities=np.ones((3, K)),
            held_out_reference_probabilities=np.ones((N, K)),
        )


def test_audited_rows_are_no_held_out_rows():
    arrays = world()
    arrays |= {"held_out_logits": arrays["logits"], "held_out_labels": arrays["labels"]}
    with pytest.raises(ValueError, match="held_out_logits: 320 of 320 rows are audited too"):
        tune(**arrays, repeats=(1,))


def test_held_out_probabilities_are_no_logits():
    arrays = world()
    z = np.exp(arrays["held_out_logits"])
    arrays["held_out_logits"] = z / z.sum(axis=1, keepdims=True)
    with pytest.raises(ValueError, match="held_out_logits: every row lies in"):
        tune(**arrays, repeats=(1,))


def test_shadows_that_never_had_the_rows_try_the_offline_attacks():
    arrays = world()
    arrays["shadow_member"] = np.zeros_like(arrays["shadow_member"])
    offline = QuickAudit(audited(arrays), repeats=1, seed=0)
    leak = offline.trial(Candidate("none", "none", Undefended())).leak["1"]
    bare = {name: arrays[name] for name in ("logits", "labels", "member")}
    alone = QuickAudit(AuditData.checked(**bare), repeats=1, seed=0)
    assert offline.attacks == ("gap", "modified_entropy", "lira_offline", "rmia_offline")
    assert alone.attacks == ("gap", "modified_entropy")
    assert leak.total_attack in ("lira_offline", "rmia_offline", "modified_entropy")
    assert leak.total >= alone.trial(Candidate("none", "none", Undefended())).leak["1"].total


def test_too_few_classes_for_more_ranks_are_tried_once():
    rng = np.random.default_rng(0)
    others = rng.integers(0, 2, 400)
    from dynaserve.defenses.rank_template.calibrate import HeldOut

    rows = HeldOut.checked(rng.normal(size=(400, 2)) + 2 * np.eye(2)[others], others)
    names = [c.name for c in candidates.candidates(rows, None, seed=0, remarks=Remarks())]
    assert [n for n in names if n.startswith("Rank")] == [
        "RankTemplate R=1 buckets=1",
        "RankTemplate R=1 buckets=2",
    ]


def invented(name: str, loss: float, ece: float, auc: float, log_loss: float = 1.0) -> Trial:
    leak = {"1": Leak("1", 0.5, "gap", auc, "loss", "scores")}
    return Trial(name, "f", Undefended(), True, loss, ece, log_loss, leak)


def test_the_frontier_is_what_no_other_beats():
    trials = (
        invented("cheap", 0.0, 0.1, 0.9),
        invented("private", 0.1, 0.1, 0.6),
        invented("beaten", 0.1, 0.2, 0.7),
        invented("twin", 0.1, 0.1, 0.6),
    )
    frontier = Tuning(trials, None, Budget()).frontier
    assert {trial.name for trial in frontier} == {"cheap", "private", "twin"}
    assert frontier[-1].name == "cheap"


def test_equal_leaks_are_told_apart_by_what_they_still_tell():
    vague = invented("vague", 0, 0, 0.600, log_loss=2.0)
    clear = invented("clear", 0, 0, 0.604, log_loss=1.0)
    leaky = invented("leaky", 0, 0, 0.650, log_loss=0.5)
    assert [t.name for t in preferred([leaky, vague, clear])] == ["clear", "vague", "leaky"]
    assert preferred([]) == []


@pytest.mark.parametrize("limit", [-0.1, 1.5])
def test_a_limit_outside_0_1_is_refused(limit):
    with pytest.raises(ValueError, match="max_accuracy_loss: must lie"):
        Budget(limit)
    with pytest.raises(ValueError, match="max_calibration_error: must lie"):
        Budget(0.0, limit)


BLUE, OVER, RING = (0x2A, 0x6F, 0xBB), (0xF2, 0xDE, 0xDE), (0, 0, 0)


def drawn(tuning: Tuning) -> list[np.ndarray]:
    """Return the insides of the two panels, (height, width, 3) each."""
    picture = np.asarray(Image.open(io.BytesIO(frontier_png(tuning))).convert("RGB")).astype(int)
    assert picture.shape == (750, 1500, 3)
    return [picture[45:640, left : left + 650] for left in (115, 820)]


def ink(panel: np.ndarray, color: tuple[int, int, int]) -> int:
    """Count the pixels of a color; marks are translucent, the shade is close to white."""
    near = 12 if color == OVER else 90
    return int((np.abs(panel - color).sum(axis=-1) < near).sum())


def placed(name: str, family: str, loss: float, ece: float, auc: float) -> Trial:
    return replace(invented(name, loss, ece, auc), family=family)


def test_what_breaks_either_limit_is_hollow_in_both_panels():
    none = placed("none", "none", 0.0, 0.05, 0.9)
    keeps = placed("r", "RankTemplate", 0.0, 0.05, 0.6)
    breaks = replace(keeps, calibration_error=0.3)
    for budget in (Budget(0.01, 0.1), Budget(0.01, 0.31)):
        panels = drawn(Tuning((none, breaks), None, budget))
        filled = drawn(Tuning((none, keeps), None, budget))
        for panel, other in zip(panels, filled, strict=True):
            if breaks.within(budget):
                assert ink(panel, BLUE) == pytest.approx(ink(other, BLUE), rel=0.2)
            else:
                assert ink(panel, BLUE) < 0.7 * ink(other, BLUE)
                assert (panel[..., 2] - panel[..., 0] > 40).sum() > 10  # its outline


def test_the_choice_has_a_ring_and_a_limit_has_its_shade(found):
    left, right = drawn(found)
    assert ink(left, OVER) > 10_000
    assert ink(right, OVER) == 0  # no limit was set
    without = drawn(replace(found, best=None))
    assert ink(left, RING) > ink(without[0], RING) + 200


def test_a_frontier_is_drawn_where_nothing_keeps_the_budget(found):
    left, right = drawn(replace(found, best=None, budget=Budget(0.0, 0.0)))
    assert ink(right, OVER) > 0.8 * right[..., 0].size
    assert ink(left, BLUE) > 0
