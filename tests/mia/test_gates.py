from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dynaserve.mia.attacks import learned
from dynaserve.mia.audit import audit_data
from dynaserve.mia.data import AuditData
from dynaserve.mia.gates import Gate
from dynaserve.mia.plan import Plan
from tests.mia.report.audits import defended_audit, made_audit, result

AUDIT = defended_audit()


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        ("lira_online.auc", 0.64),
        ("lira_online@1.auc", 0.64),
        ("lira_online@near50.auc", 0.68),
        ("lira_online.balanced_accuracy", 0.59),
        ("lira_online.best_balanced_accuracy", 0.61),
        ("lira_online.tpr_at_1pct_fpr", 0.24),
        ("lira_online.tpr_at_01pct_fpr", 0.12),
        ("lira_online_auc", 0.68),
        ("lira_auc", 0.70),
        ("lira_best_balanced_accuracy", 0.67),
        ("lira_balanced_accuracy", 0.65),
        ("lira_tpr_at_1pct_fpr", 0.30),
        ("loss_auc", 0.62),
        ("worst_auc", 0.70),
        ("worst_tpr_at_01pct_fpr", 0.15),
        ("floor", 0.66),
        ("floor@1", 0.62),
        ("scores_add", 0.04),
        ("scores_add@1", 0.02),
        ("total", 0.70),
        ("total@1", 0.64),
        ("accuracy_loss", 0.01),
        ("ece", 0.02),
        ("midput", 0.137),
    ],
)
def test_every_metric_is_found_by_its_name(metric, value):
    outcome = Gate.parse(f"{metric}>0.5").check(AUDIT)
    assert outcome.value == pytest.approx(value)
    assert outcome.failed == (outcome.value > 0.5)


def test_the_short_name_of_lira_leaves_out_lira_on_the_label():
    audit = made_audit([result("label_lira", 0.9), result("lira_online", 0.6)])
    assert Gate.parse("lira_auc>0.7").check(audit).value == 0.6


@pytest.mark.parametrize(
    ("expression", "failed"),
    [
        ("midput>0.137", False),
        ("midput>=0.137", True),
        ("midput<0.137", False),
        ("midput<=0.137", True),
        ("midput > .1", True),
        ("  midput<13.8%  ", True),
        ("midput<13.6 %", False),
        ("midput>1", False),
    ],
)
def test_operators_and_limits(expression, failed):
    outcome = Gate.parse(expression).check(AUDIT)
    assert outcome.failed is failed
    assert outcome.expression == expression.strip()
    assert str(outcome).endswith("(measured 0.137)")


def test_a_value_at_the_limit_is_no_more_for_its_rounding() -> None:
    assert AUDIT.accuracy_before - AUDIT.accuracy_after > 0.01  # by 1e-17
    assert not Gate.parse("accuracy_loss>1%").check(AUDIT).failed
    assert Gate.parse("accuracy_loss>=1%").check(AUDIT).failed


@pytest.mark.parametrize(
    "expression",
    ["", "lira_auc", "lira_auc=0.6", "lira_auc==0.6", "0.6<lira_auc", "lira_auc>", "a>b",
     "lira_auc>nan", "lira_auc>0.6 or floor>0.5", "lira auc>1"],
)  # fmt: skip
def test_what_is_no_expression_is_refused(expression):
    with pytest.raises(ValueError, match="such as lira_auc>"):
        Gate.parse(expression)


@pytest.mark.parametrize(
    "metric",
    ["lira", "nonsense_auc", "lira.auc", "lira_online.area", "lira_online@100_auc", "worst",
     "worst.auc", "ece@1", "floor.auc", "label_auc.auc", "_auc", "__class__", "lira_online@100"],
)  # fmt: skip
def test_a_metric_that_no_audit_has_is_refused_before_any_audit(metric):
    with pytest.raises(ValueError, match=r"no metric .*known are worst_auc"):
        Gate.parse(f"{metric}>0.5")


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("rmia_auc", "'rmia_auc' is not tested; tested are gap, label_lira"),
        ("lira_online@100.auc", "'lira_online@100.auc' is not tested"),
        ("lira_online@11.auc", "'lira_online@11.auc' is not tested"),
        ("rmia_online@1.auc", "'rmia_online@1.auc' is not tested"),
        ("floor@100", "form '100' is not tested; tested are 1, near50"),
    ],
)
def test_what_was_not_tested_is_an_error_and_no_pass(metric, message):
    with pytest.raises(ValueError, match=message):
        Gate.parse(f"{metric}>0.5").check(AUDIT)


def test_a_rate_that_means_nothing_with_so_few_rows_is_an_error():
    few = made_audit([result("gap", 0.6, non_members=99), result("loss", 0.7, non_members=99)])
    for metric in ("loss.tpr_at_1pct_fpr", "worst_tpr_at_01pct_fpr"):
        with pytest.raises(ValueError, match="means nothing with so few non-members"):
            Gate.parse(f"{metric}>0.5").check(few)
    assert Gate.parse("loss.auc>0.5").check(few).failed


def test_accuracy_that_is_gained_is_a_negative_loss():
    gained = replace(AUDIT, accuracy_after=0.83)
    assert Gate.parse("accuracy_loss>0").check(gained).failed is False
    assert Gate.parse("accuracy_loss<0").check(gained).failed is True


@pytest.mark.parametrize("expression", ["midput<-0.01", "accuracy_loss>-5%", "loss_auc>6e-1"])
def test_limits_may_be_negative_or_have_an_exponent(expression) -> None:
    assert Gate.parse(expression).expression == expression


@pytest.mark.parametrize(
    "expression",
    ["confidence_auc>60", "lira_auc>-1", "lira_auc>1e3", "ece<-0.1", "midput>2", "floor>101%"],
)
def test_a_limit_that_the_metric_cannot_reach_is_refused(expression) -> None:
    with pytest.raises(ValueError, match=r"would never or always fail; write 0\.6 or 60%"):
        Gate.parse(expression)


def answers(shadows: int, near: int, seed: int = 0) -> AuditData:
    rng = np.random.default_rng(seed)
    rows, member = 120, np.arange(120) < 60
    labels, arrays = rng.integers(0, 3, rows), {}
    if shadows:
        arrays["shadow_logits"] = rng.normal(size=(shadows, rows, 3))
        arrays["shadow_member"] = rng.random((shadows, rows)).argsort(axis=0) < shadows // 2
    if near:
        arrays["neighbor_logits"] = rng.normal(size=(rows, near, 3))
    return AuditData.checked(rng.normal(size=(rows, 3)), labels, member, **arrays)


@pytest.mark.parametrize(
    ("protocol", "shadows", "near"), [("adaptive", 0, 0), ("paper", 0, 2), ("adaptive", 4, 2)]
)
def test_the_plan_is_what_the_audit_then_tests(monkeypatch, protocol, shadows, near):
    full = learned.cross_fitted
    monkeypatch.setattr(
        learned,
        "cross_fitted",
        lambda f, e, *, iterations: full(f, e, iterations=iterations // 50),
    )
    data = answers(shadows, near)
    plan = Plan.of(data, repeats=(7, 3), protocol=protocol)
    found = audit_data(data, repeats=(7, 3), protocol=protocol, bootstrap=0)
    assert sorted(plan.attacks) == sorted(found.attacks)
    assert plan.forms == tuple(found.leak)
    assert plan.non_members == found.non_members


PLAN = Plan.of(answers(0, 2), repeats=(1, 100), protocol="adaptive")


@pytest.mark.parametrize(
    "metric",
    ["loss@100.auc", "loss@1.auc", "loss_auc", "worst_auc", "floor@near2", "total", "ece", "midput",
     "loss.balanced_accuracy"],
)  # fmt: skip
def test_what_will_be_tested_may_be_asked_for(metric):
    Gate.parse(f"{metric}>0.5").require_planned(PLAN)


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("loss@1000.auc", "'loss@1000.auc' is not tested; tested are gap"),
        ("floor@10", "form '10' is not tested; tested are 1, 100, near2"),
        ("scores_add@near50", "form 'near50' is not tested"),
        ("lira_auc", "'lira_auc' is not tested"),
        ("loss.tpr_at_1pct_fpr", "means nothing with so few non-members"),
        ("worst_tpr_at_01pct_fpr", "means nothing with so few non-members"),
    ],
)
def test_what_will_not_be_tested_is_refused_before_the_audit(metric, message):
    with pytest.raises(ValueError, match=message):
        Gate.parse(f"{metric}>0.5").require_planned(PLAN)
