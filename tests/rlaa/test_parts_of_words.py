"""Evidence that is only a part of a word stands in the text all the same."""

from __future__ import annotations

import pytest

from dynaserve.rlaa import Anonymizer
from dynaserve.rlaa.records import Edit, Judgement, Leak, Level, Status


class Roles:
    """Quotes one thing for as long as it stands anywhere, also within words."""

    def __init__(self, evidence: str, instead: str) -> None:
        self.evidence, self.instead = evidence, instead

    def attack(self, text, attributes):
        there = self.evidence.casefold() in text.casefold() and "age" in attributes
        return [Leak("age", "some", self.evidence, 5)] if there else []

    def judge(self, text, leaks):  # noqa: ARG002
        return [Judgement(leak, Level.HIGH) for leak in leaks]

    def edit(self, text, actionable):
        return [
            Edit(span, text[span.start : span.end], self.instead, "age")
            for span in dict.fromkeys(s for judged in actionable for s in judged.spans)
        ]

    def rewrite(self, text, actionable):  # noqa: ARG002
        return text.replace(self.evidence, self.instead)


def run(text, evidence, instead, mode="edit"):
    roles = Roles(evidence, instead)
    return Anonymizer(
        attacker=roles, arbitrator=roles, editor=roles, rewriter=roles, mode=mode, max_mrs=1e9
    ).run(text)


@pytest.mark.parametrize(
    ("text", "evidence", "after"),
    [
        ("I'm 25M, looking for a flat", "25", "I'm X, looking for a flat"),
        ("we nurses work nights", "nurse", "we X work nights"),
        ("I live in Porto. See #PortoLife", "Porto", "I live in X. See #X"),
        ("a garden most beautiful", "garden most beau", "a X"),
    ],
)
def test_the_whole_word_is_replaced(text, evidence, after) -> None:
    result = run(text, evidence, "X")
    assert (result.status, result.text) == (Status.ANONYMIZED, after)


def test_a_replacement_that_only_glues_something_on_is_refused() -> None:
    result = run("I'm 31 and love tea", "31", "31yo")
    assert (result.status, result.text) == (Status.FAILED, None)
    assert result.reason == "editor: repeated what it was to replace"


def test_a_rewrite_that_only_glues_something_on_never_counts_as_anonymized() -> None:
    result = run("I live in Porto, far away", "Porto", "Portoland", mode="rewrite")
    assert result.text is None
    assert result.status in {Status.BUDGET_EXHAUSTED, Status.STOPPED_RATIONAL}


def test_evidence_within_too_many_words_fails() -> None:
    text = " ".join(f"{chr(97 + i)}in{chr(97 + i)}" for i in range(26))
    result = run(text, "in", "X")
    assert (result.status, result.text) == (Status.FAILED, None)
