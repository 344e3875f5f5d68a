"""Samples: the same texts whatever their order and batches, and never much more than asked for."""

from __future__ import annotations

import hashlib
import random

import numpy as np
import pytest

from dynaserve.canarybench.conversations import Conversation
from dynaserve.canarybench.corpus import generate
from dynaserve.canarybench.large_sample import Sample
from dynaserve.canarybench.terms import count_terms

TALKS = generate(900, seed=2)


@pytest.mark.parametrize("batch", [7, 100, 900])
def test_a_sample_is_the_lowest_keyed_hashes_however_it_comes(batch: int) -> None:
    talks = random.Random(batch).sample(TALKS, len(TALKS))
    sample = Sample(50, seed=4)
    for start in range(0, len(talks), batch):
        some = talks[start : start + batch]
        sample.add([talk.id for talk in some], count_terms([talk.text for talk in some]))

    def rank(talk: Conversation) -> int:
        digest = hashlib.blake2b(talk.id.encode(), key=b"4/sample", digest_size=8)
        return int.from_bytes(digest.digest(), "little")

    lowest = sorted(TALKS, key=rank)[:50]
    expected = count_terms([talk.text for talk in lowest])
    np.testing.assert_array_equal(sample.drawn().toarray(), expected.toarray())


def test_a_sample_holds_never_much_more_than_it_draws() -> None:
    sample = Sample(10, seed=0)
    for talk in TALKS[:200]:
        sample.add([talk.id], count_terms([talk.text]))
        assert sum(part.shape[0] for part in sample._counts) <= 21
