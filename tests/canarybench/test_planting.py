"""Planting: how many, where, and what stays as it was."""

from __future__ import annotations

from collections import Counter

import pytest

from dynaserve.canarybench.canaries import KINDS, PAPER_KINDS, CanaryMint
from dynaserve.canarybench.conversations import Conversation
from dynaserve.canarybench.corpus import generate
from dynaserve.canarybench.planting import plant

TALKS = generate(3000, seed=8)


def test_the_papers_corpus_gets_about_1800_canaries_of_four_kinds() -> None:
    _, manifest = plant(TALKS, seed=8)
    assert abs(len(manifest.canaries) - 1800) < 4 * 26.8  # four standard deviations
    kinds = Counter(canary.kind for canary in manifest.canaries)
    assert set(kinds) == set(PAPER_KINDS)
    assert all(abs(count - 450) < 4 * 21 for count in kinds.values())


def test_every_canary_is_where_the_manifest_says() -> None:
    planted, manifest = plant(TALKS[:300], kinds=KINDS, seed=1)
    texts = {conversation.id: conversation.text for conversation in planted}
    for canary in manifest.canaries:
        assert canary.start is not None
        assert texts[canary.conversation_id or ""].startswith(canary.value, canary.start)
        assert texts[canary.conversation_id or ""].count(canary.value) == 1


def test_the_rest_of_a_conversation_stays() -> None:
    planted, manifest = plant(TALKS[:300], seed=1)
    by_conversation = manifest.by_conversation
    for before, after in zip(TALKS, planted, strict=False):
        assert (after.id, after.user) == (before.id, before.user)
        if before.id not in by_conversation:
            assert after == before
            continue
        (canary,) = by_conversation[before.id]
        carriers = [line.format(value=canary.value) for line in KINDS[canary.kind].carriers]
        assert any(after.text.replace(f" {line}", "", 1) == before.text for line in carriers)


def test_canaries_stand_between_sentences_and_at_the_end() -> None:
    planted, manifest = plant(TALKS[:300], probability=1, seed=1)
    last = sum(
        conversation.text.endswith(f"{manifest.by_conversation[conversation.id][0].value}.")
        for conversation in planted
    )
    assert 20 < last < 200


def test_a_text_without_sentences_gets_its_canary_at_the_end() -> None:
    planted, manifest = plant([Conversation("1", "u", ""), Conversation("2", "u", "no end")],
                              probability=1)  # fmt: skip
    assert not planted[0].text.startswith(" ")
    assert planted[1].text.startswith("no end ")
    assert len(manifest.canaries) == 2


def test_decoys_are_of_the_same_kinds_and_in_no_text() -> None:
    planted, manifest = plant(TALKS, seed=3, decoys=400)
    said = "\n".join(conversation.text for conversation in planted)
    assert Counter(decoy.kind for decoy in manifest.decoys) == dict.fromkeys(PAPER_KINDS, 100)
    assert not any(decoy.value in said for decoy in manifest.decoys)


def test_what_the_texts_say_already_is_never_planted() -> None:
    mint = CanaryMint(21)
    first = [mint.draw("email") for _ in range(5)]
    talks = [Conversation("1", "u", f"I am {first[0].upper()}!"), Conversation("2", "u", first[3])]
    _, manifest = plant(talks, probability=1, kinds=["email"], seed=21, decoys=3)
    values = [canary.value for canary in (*manifest.canaries, *manifest.decoys)]
    assert len(values) == 5
    assert not set(values) & {first[0], first[3]}


def test_a_seed_repeats_and_another_one_does_not() -> None:
    planted, manifest = plant(TALKS[:50], seed=5)
    again, manifest_again = plant(TALKS[:50], seed=5)
    other, _ = plant(TALKS[:50], seed=6)
    assert planted == again
    assert manifest.canaries == manifest_again.canaries
    assert manifest.decoys == manifest_again.decoys
    assert planted != other


@pytest.mark.parametrize(("probability", "count"), [(0, 0), (1, 50)])
def test_the_ends_of_the_probability(probability: float, count: int) -> None:
    _, manifest = plant(TALKS[:50], probability=probability)
    assert len(manifest.canaries) == count


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"probability": 1.5}, "probability: must lie in"),
        ({"probability": float("nan")}, "probability: must lie in"),
        ({"kinds": ()}, "kinds: needs at least one"),
        ({"kinds": ["email", "passport"]}, "'passport' is not one of"),
        ({"decoys": -1}, "decoys: must not be negative"),
    ],
)
def test_arguments_out_of_range_are_named(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        plant(TALKS[:2], **arguments)  # type: ignore[arg-type]


def test_conversations_need_ids_of_their_own() -> None:
    with pytest.raises(ValueError, match="conversations 0 and 1 have the same id"):
        plant([TALKS[0], TALKS[0]])
