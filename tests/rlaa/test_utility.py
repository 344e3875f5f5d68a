"""Scores of what an anonymized text keeps."""

from __future__ import annotations

import socket
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynaserve.rlaa import utility as module
from dynaserve.rlaa.llm import CancelledError, cancellable
from dynaserve.rlaa.utility import Scores, Utility

TEXT = "I live in Porto and work as a nurse."


@pytest.fixture(scope="module")
def utility() -> Utility:
    return Utility()


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=40), st.text(max_size=40))
def test_every_score_lies_between_0_and_1(one: str, other: str) -> None:
    scores = Utility().compare(one, other)
    for score in (scores.meaning, scores.rouge_l, scores.kept, scores.combined):
        assert 0 <= score <= 1
    assert Utility()(one, one) == 1


def test_half_a_surrogate_pair_is_no_obstacle(utility: Utility) -> None:
    assert 0 <= utility("so \ud83d broken", "so broken") <= 1


def test_the_combined_score_is_the_mean() -> None:
    assert Scores(meaning=0.9, rouge_l=0.6, kept=0.3).combined == pytest.approx(0.6)


def test_rouge_l_is_the_f1_of_the_longest_common_subsequence(utility: Utility) -> None:
    # The example of Lin (2004), S1 and S2: "police", "the gunman" in common order: 3 of 4 words.
    score = utility.compare("police killed the gunman", "Police kill the gunman").rouge_l
    assert score == pytest.approx(0.75)
    # LCS "a c" of 4 and 2 words: P = 1, R = 1/2.
    assert utility.compare("a b c d", "a c").rouge_l == pytest.approx(2 / 3)
    assert utility.compare("a", "").rouge_l == 0


def test_long_texts_score_like_short_ones(utility: Utility) -> None:
    before = [f"w{n}" for n in range(3000)]
    after = [word if n % 10 else "x" for n, word in enumerate(before)]
    score = utility.compare(" ".join(before), " ".join(after)).rouge_l
    assert score == pytest.approx(0.9)


def test_a_generalization_keeps_more_meaning_than_noise(utility: Utility) -> None:
    near = utility.compare(TEXT, "I live in Portugal and work in health care.").meaning
    far = utility.compare(TEXT, "The stock market closed two percent lower.").meaning
    assert far < near < 1


def test_nothing_is_kept_of_a_text_that_is_gone(utility: Utility) -> None:
    assert utility(TEXT, "") == 0


def test_the_vectors_come_from_the_package_without_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("looked at the network")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    module._model.cache_clear()
    tokenizer, vectors = module._model()
    assert vectors.shape == (32000, 256)
    assert tokenizer.encode("Porto").ids


def test_without_the_extra_the_message_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_spec", lambda _: None)
    with pytest.raises(ImportError, match=r"rapidfuzz.*dynaserve\[anonymize\]"):
        Utility()


def test_importing_the_package_stays_light() -> None:
    import subprocess
    import sys

    heavy = "rapidfuzz tokenizers safetensors wordllama llama_cpp torch"
    code = (
        "import sys, dynaserve.rlaa; print('numpy' in sys.modules, end=' ');"
        "from dynaserve.rlaa import Anonymizer, Utility, Pseudonyms;"
        f"print([m for m in '{heavy}'.split() if m in sys.modules])"
    )
    root = Path(module.__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root
    )
    assert done.stdout.split() == ["False", "[]"]


def test_scoring_stops_with_the_run(utility: Utility) -> None:
    event = threading.Event()
    event.set()
    with cancellable(event), pytest.raises(CancelledError):
        utility("I live in Porto. It rains.", "I live in Portugal. It rains.")
