from __future__ import annotations

import sys

import pytest

from dynaserve.rlaa.evaluation.fidelity import HELD_BACK, Fidelity, fidelity, mean_of
from dynaserve.rlaa.utility import Utility

ORIGINAL = "the quick brown fox jumps over the lazy dog"


def test_the_original_keeps_everything_and_a_text_held_back_nothing():
    assert fidelity(ORIGINAL, ORIGINAL, Utility()) == Fidelity(1.0, 1.0, 1.0, 1.0)
    assert fidelity(ORIGINAL, None, Utility()) == HELD_BACK == Fidelity(0.0, 0.0, 0.0, 0.0)


def test_one_word_of_nine_changed():
    kept = fidelity(ORIGINAL, ORIGINAL.replace("lazy", "idle"), Utility())
    assert kept.rouge_l == pytest.approx(8 / 9)
    assert kept.kept == pytest.approx(39 / 43)
    # n-grams in common: 8 of 9, 6 of 8, 5 of 7, 4 of 6
    assert kept.bleu == pytest.approx((8 / 9 * 6 / 8 * 5 / 7 * 4 / 6) ** 0.25)
    assert 0.5 < kept.cosine < 1.0


def test_a_shorter_text_pays_for_brevity_in_bleu():
    kept = fidelity(ORIGINAL, "the quick brown fox jumps", Utility())
    assert kept.bleu == pytest.approx(2.718281828459045 ** (1 - 9 / 5))


def test_means_are_taken_measure_by_measure():
    mean = mean_of([Fidelity(1.0, 0.5, 0.0, 1.0), Fidelity(0.0, 0.5, 0.5, 0.0)])
    assert mean == Fidelity(0.5, 0.5, 0.25, 0.5)


def test_without_sacrebleu_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sacrebleu", None)
    with pytest.raises(ImportError, match=r'pip install "dynaserve\[audit\]"'):
        fidelity("one", "other", Utility())
