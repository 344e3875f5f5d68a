from __future__ import annotations

import math

import numpy as np
import pytest

from dynaserve.canarybench import Canary, CanaryManifest
from dynaserve.canarybench.exposure import exposure_bits, exposures

DECOYS = tuple(
    Canary(f"d{i}", "phrase", f"{w} basalt {w[::-1]}")
    for i, w in enumerate(["kettle", "harbor", "meadow", "signal", "copper", "orchid", "walnut"])
)


def bits(planted, decoys):
    return exposure_bits(np.array(planted, float), np.array(decoys, float)).tolist()


def test_rank_one_of_eight_is_three_bits():
    assert bits([0.9], [0.1] * 7) == [3.0]


def test_last_of_eight_is_no_bit():
    assert bits([0.0], [0.1] * 7) == [0.0]


def test_ties_share_their_mean_rank():
    # Tied with all seven: ranks 1 to 8, of which the mean is 4.5.
    assert bits([0.1], [0.1] * 7) == pytest.approx([3 - math.log2(4.5)])
    # Below one, tied with two of three: ranks 2 to 4.
    assert bits([0.5], [0.7, 0.5, 0.5]) == pytest.approx([2 - math.log2(3)])


def test_an_unseen_random_rank_has_the_expectation_of_the_paper():
    rng = np.random.default_rng(0)
    mean = np.mean(bits(rng.random(4000), rng.random(4000)))
    # Secret Sharer: -log2 of a uniform rank share, expectation 1 / ln 2.
    assert mean == pytest.approx(1 / math.log(2), abs=0.1)


def manifest(*values):
    canaries = (Canary(f"c{i}", "phrase", value, "x") for i, value in enumerate(values))
    return CanaryManifest(tuple(canaries), DECOYS)


def test_a_published_value_has_the_highest_exposure_that_decoys_can_show():
    release = "They said: VIOLET, lantern-drums."
    (found,) = exposures(manifest("violet lantern drums"), release)
    assert found.kind == "phrase"
    assert found.highest == found.limit == 3
    assert (found.canaries, found.decoys) == (1, 7)


def test_part_of_a_value_is_exposure_that_no_tier_needs_to_find():
    (found,) = exposures(manifest("violet lantern drums"), "about a lantern")
    assert found.highest == 3


def test_a_value_nobody_published_is_like_a_decoy():
    (found,) = exposures(manifest("violet lantern drums"), "the weather was fine")
    assert found.mean == pytest.approx(3 - math.log2(4.5))


def test_mean_and_highest_are_over_the_canaries_of_a_kind():
    release = "violet lantern drums"
    (found,) = exposures(manifest("violet lantern drums", "nobody wrote this"), release)
    assert found.highest == 3
    assert found.mean == pytest.approx((3 + 3 - math.log2(4.5)) / 2)


def test_without_decoys_there_is_no_rank():
    alone = CanaryManifest((Canary("c0", "email", "ada.quill@example.com", "x"),), DECOYS)
    assert exposures(alone, "ada.quill@example.com") == ()


def test_a_value_across_two_chunks_is_seen(monkeypatch):
    monkeypatch.setattr("dynaserve.canarybench.exposure._CHUNK", 100)
    for padding in range(70, 100):
        text = "z" * padding + "violet lantern drums" + "z" * 50
        (found,) = exposures(manifest("violet lantern drums"), text)
        assert found.highest == 3


def test_odd_text_is_no_error():
    (found,) = exposures(manifest("\x00 odd \u0301words"), "\ud800\udfff\x00 odd \u0301words")
    assert found.highest == 3
