from __future__ import annotations

import io
import sys
from types import SimpleNamespace

import pytest
from PIL import Image

from dynaserve.rlaa.evaluation.figure import mrs_png
from dynaserve.rlaa.evaluation.results import MRSRound


def loop(name, *turns):
    return SimpleNamespace(name=name, mrs=turns)


def test_it_draws_every_loop_and_repeats_to_the_byte():
    rows = [
        loop("none"),
        loop("RLAA edit", MRSRound(9, 0.01, 0.02, None, 1), MRSRound(1, None, None, None, 1)),
        loop("unheard of", MRSRound(9, -0.1, 0.0, 0.2, 0)),
    ]
    drawn = mrs_png(rows)
    with Image.open(io.BytesIO(drawn)) as picture:
        assert (picture.format, picture.size) == ("PNG", (1200, 690))
    assert mrs_png(rows) == drawn
    assert mrs_png(rows[:2]) != drawn


def test_without_an_edit_there_is_nothing_to_draw():
    with pytest.raises(ValueError, match="no text was edited"):
        mrs_png([loop("none")])


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r'pip install "dynaserve\[audit\]"'):
        mrs_png([loop("RLAA edit", MRSRound(1, 0.1, 0.1, 0.1, 0))])
