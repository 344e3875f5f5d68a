from __future__ import annotations

from dynaserve.rlaa.evaluation.scoring.words import alike, content, plain


def test_spellings_of_the_same_words_are_equal():
    assert plain("  Zürich—(CH)\n ") == plain("zurich ch") == "zurich ch"
    assert plain("Ph.D.") == "phd"
    assert plain("ﬁeld’s") == "fields"


def test_only_words_that_matter_are_left_by_one_name():
    words = content("The Nurses of a ward, nurse", without={"the", "of", "a"})
    assert words == ("nurse", "ward")
    assert content("cook", meaning={"cook": "chef"}) == ("chef",)
    assert content("glass") == ("glass",)


def test_order_and_small_misspellings_do_not_matter():
    assert alike(["civil", "engineer"], ["enginer", "civil"])
    assert not alike(["civil", "engineer"], ["software", "engineer"])
