from __future__ import annotations

from dataclasses import replace

import pytest

from dynaserve.mia.report import words
from dynaserve.mia.report.words import in_words
from tests.mia.report.audits import defended_audit, made_audit, result


def said_of(audit) -> str:
    said = in_words(audit)
    return " ".join([said.verdict, *said.meaning, *said.advice])


def test_the_verdict_gives_one_query_and_the_strongest_form_of_asking():
    assert in_words(defended_audit()).verdict == (
        "Asked once, the defense lowers the best attack from AUC .900 to .640; asking for 50 "
        "near-duplicates of each row an attacker still reaches .700."
    )


def test_a_defense_that_does_nothing_is_told_so():
    same = [result("gap", 0.6), result("loss", 0.8)]
    verdict = in_words(made_audit(same, same)).verdict
    assert verdict == "The defense leaves the best attack at AUC .800, .800 without it (Loss)."


def test_the_bare_model_is_not_called_defended():
    audit = made_audit([result("gap", 0.6), result("lira_online", 0.9)])
    assert in_words(audit).verdict == (
        "Members can be told from non-members: AUC .900 (LiRA, online, asking once)."
    )
    assert "It costs" not in said_of(audit)


def test_scores_that_dominate_lead_to_a_serving_defense():
    audit = made_audit([result("gap", 0.6), result("lira_online", 0.9)])
    assert (
        "Asking once, the label alone gives AUC .600, and the scores add .300: the scores dominate."
        in in_words(audit).meaning
    )
    assert "dynaserve calibrate HELD_OUT.npz -o defense.toml" in said_of(audit)
    assert "RelaxLoss" not in said_of(audit)


def test_a_label_that_dominates_leads_to_training():
    after = [result("gap", 0.80), result("lira_online", 0.81)]
    audit = made_audit([result("gap", 0.80), result("lira_online", 0.95)], after)
    assert "the label dominates." in said_of(audit)
    assert "right on 96.0% of what it was trained on and on 79.0% of the rest" in said_of(audit)
    assert "RelaxLoss" in said_of(audit)
    assert "dynaserve calibrate" not in said_of(audit)


def test_no_leak_needs_nothing_done():
    audit = made_audit([result("gap", 0.5), result("loss", 0.505)])
    assert in_words(audit).verdict == ("No attack told members from non-members: AUC .505 at best.")
    assert in_words(audit).advice == (
        "Nothing needs doing for these attacks; what was not tested is listed below.",
    )


def test_noise_that_averages_away_is_named():
    before = [result("gap", 0.55), result("loss", 0.8)]
    after = [
        *[result("gap", 0.55), result("loss", 0.56)],
        *[result("gap", 0.55, "100"), result("loss", 0.79, "100")],
    ]
    text = said_of(made_audit(before, after, defense="DynaNoise, fresh noise"))
    assert "whoever repeats a question removes it" in text
    assert "Use answers that repeat themselves" in text
    steady = said_of(made_audit(before, [*after[:2], *before]))
    assert "repeats a question" not in steady


def test_the_price_is_named():
    text = said_of(defended_audit())
    assert "It costs 1.0% of accuracy" in text
    assert "better calibrated (error .020, was .120)" in text
    free = said_of(replace(defended_audit(), accuracy_after=0.8, calibration_error_after=0.2))
    assert "It costs no accuracy, and its probabilities are worse calibrated" in free
    assert "It gains 2.0% of accuracy" in said_of(replace(defended_audit(), accuracy_after=0.82))


def test_the_papers_protocol_comes_with_a_warning():
    assert "do not know the defense" in said_of(defended_audit(protocol="paper"))
    assert "do not know the defense" not in said_of(defended_audit())


def test_a_rate_that_means_nothing_is_not_told():
    few = [result("gap", 0.6, non_members=50), result("loss", 0.9, non_members=50)]
    assert "false alarm" not in said_of(made_audit(few, non_members=50))
    assert words.rate(few[0], "tpr_at_1pct_fpr") == "–"
    assert words.rate(result("gap", 0.6), "tpr_at_1pct_fpr") == "20.0%"


def test_each_attack_is_shown_in_its_strongest_form():
    best = words.strongest(defended_audit().attacks)
    assert {name: one.form for name, one in best.items()} == {
        "gap": "near50",
        "label_lira": "near50",
        "loss": "near50",
        "lira_online": "near50",
        "lira_offline": "near50",
    }
    assert words.strongest(defended_audit().attacks_before)["loss"].form == "1"


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.9684, ".968"), (1.0, "1.000"), (0.99951, "1.000"), (0.0, ".000"), (-0.0001, ".000"),
     (-0.1234, "-.123"), (0.5, ".500"), (10.05, "10.050"), (0.9994, ".999")],
)  # fmt: skip
def test_decimals_have_no_leading_zero(value, text):
    assert words.decimal(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.312, "31.2%"), (1.0, "100%"), (0.9996, "100%"), (0.0, "0.0%")]
)
def test_percentages_take_five_characters(value, text):
    assert words.percent(value) == text
