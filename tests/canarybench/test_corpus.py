"""The synthetic corpus: varied, repeatable, and without anything personal."""

from __future__ import annotations

from collections import Counter

import pytest

from dynaserve.canarybench.corpus import generate
from dynaserve.canarybench.topics import TOPICS
from dynaserve.redaction import find_personal


@pytest.mark.parametrize("seed", range(3))
def test_no_two_of_the_papers_3000_are_alike(seed: int) -> None:
    conversations = generate(3000, seed=seed)
    assert len({conversation.text for conversation in conversations}) == 3000
    assert len({conversation.id for conversation in conversations}) == 3000


def test_all_24_topics_are_written_about() -> None:
    said = " ".join(conversation.text for conversation in generate(3000, seed=1))
    assert len({topic.name for topic in TOPICS}) == 24
    for topic in TOPICS:
        fixed = [request for request in topic.requests if "{" not in request]
        assert any(request in said for request in fixed), topic.name


def test_a_seed_gives_the_same_corpus_and_another_seed_another_one() -> None:
    assert generate(50, seed=4) == generate(50, seed=4)
    first, second = ({talk.text for talk in generate(200, seed=seed)} for seed in (4, 5))
    assert len(first & second) < 20


def test_a_longer_corpus_begins_like_a_shorter_one() -> None:
    assert generate(100, seed=2)[:40] == generate(40, seed=2)


def test_users_write_several_times_and_some_often() -> None:
    counts = Counter(conversation.user for conversation in generate(3000, seed=1))
    assert 800 < len(counts) < 1300
    assert max(counts.values()) > 10
    assert min(counts.values()) == 1


def test_every_place_for_a_word_is_filled() -> None:
    assert not any("{" in talk.text or "  " in talk.text for talk in generate(3000, seed=3))


def test_nothing_in_it_looks_personal() -> None:
    """Else an audit could not tell a canary from the corpus."""
    assert [talk.id for talk in generate(3000, seed=6) if find_personal(talk.text)] == []


def test_real_queries_take_the_place_of_the_grammar() -> None:
    queries = [f"Where is part number {letter}?" for letter in "abcdefgh"]
    conversations = generate(400, seed=1, base_texts=queries)
    assert len({talk.text for talk in conversations}) == 400
    used = Counter(query for talk in conversations for query in queries if query in talk.text)
    assert sum(used.values()) == 400
    assert all(45 <= count <= 55 for count in used.values())


def test_more_than_can_be_said_is_refused() -> None:
    with pytest.raises(ValueError, match=r"count: only \d+ different"):
        generate(5000, base_texts=["Where is it?"])


@pytest.mark.parametrize("count", [0, -1])
def test_an_empty_corpus_is_refused(count: int) -> None:
    with pytest.raises(ValueError, match="count: must be at least 1"):
        generate(count)
