from __future__ import annotations

import numpy as np
import pytest

from dynaserve.mia.attacks import PAPER_ATTACKS
from dynaserve.mia.audit import measure_data
from dynaserve.mia.data import AuditData
from dynaserve.mia.reproduce.rows import Row


def test_what_is_saved_is_what_is_loaded(tmp_path, row):
    row().save(tmp_path / "row.json")
    assert Row.load(tmp_path / "row.json") == row()


def test_midput_counts_six_attacks_here_and_four_in_the_papers_protocol(row):
    after = row(
        accuracy=0.58,
        success=dict.fromkeys(PAPER_ATTACKS, 0.8) | {"loss": 0.5},
        paper_accuracy=0.59,
        paper_success=dict.fromkeys(PAPER_ATTACKS, 0.75) | {"loss": 0.55, "entropy": 0.5},
    )
    assert after.midput(row()) == pytest.approx(0.3 / 6 - 0.02)
    assert after.paper_midput(row()) == pytest.approx(0.2 / 4 - 0.01)


def test_a_row_holds_the_numbers_of_both_protocols():
    rng = np.random.default_rng(0)
    labels, member = rng.integers(0, 3, 200), np.arange(200) < 100
    z = rng.normal(size=(200, 3)) + np.eye(3)[labels] * (1 + 2 * member[:, None])
    near = z[:, None] + 0.1 * rng.normal(size=(200, 4, 3))
    data = AuditData.checked(z, labels, member, neighbor_logits=near)
    adaptive = measure_data(data, repeats=(1, 5))
    paper = measure_data(data, protocol="paper")
    made = Row.of("none", adaptive, paper)
    assert made.accuracy == adaptive.accuracy == np.mean(z.argmax(1)[100:] == labels[100:])
    assert set(made.exposures) == {"1", "5", "near4"}
    assert made.exposures["near4"].total == adaptive.leak["near4"].total
    assert made.success["loss"] == max(
        r.balanced_accuracy for r in adaptive.attacks.values() if r.attack == "loss"
    )
    assert made.auc["loss@near4"] == adaptive.attacks["loss@near4"].auc
    assert made.paper_success["loss"] == paper.attacks["loss"].balanced_accuracy
