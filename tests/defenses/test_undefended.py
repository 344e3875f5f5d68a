from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.special import softmax

from dynaserve.defenses import Defense, Undefended, load_defense


def test_it_is_the_softmax() -> None:
    logits = np.random.default_rng(0).normal(size=(2, 5, 7)) * 10
    released = Undefended()(logits, queries="ignored")
    assert released.dtype == np.float32
    np.testing.assert_allclose(released, softmax(logits, axis=-1), atol=1e-6)


def test_torch_goes_in_and_out() -> None:
    logits = torch.randn(3, 4, dtype=torch.bfloat16, generator=torch.Generator().manual_seed(0))
    released = Undefended()(logits)
    assert released.dtype == torch.float32
    torch.testing.assert_close(released, torch.softmax(logits.float(), -1), atol=1e-6, rtol=0)


def test_probabilities_come_back_as_they_are() -> None:
    q = np.array([[0.25, 0.75, 0.0]])
    np.testing.assert_allclose(Undefended().from_probabilities(q), q, atol=1e-7)


def test_bad_rows_are_refused_as_by_every_defense() -> None:
    with pytest.raises(ValueError, match="row 1 holds NaN"):
        Undefended()(np.array([[0.0, 1.0], [np.nan, 0.0]]))


def test_it_says_plainly_what_it_is_and_survives_a_file(tmp_path: Path) -> None:
    assert Undefended().describe() == "no defense: plain softmax, every score is released"
    assert isinstance(Undefended(), Defense)
    Undefended().save(tmp_path / "d.toml")
    assert repr(load_defense(tmp_path / "d.toml")) == "Undefended()"
