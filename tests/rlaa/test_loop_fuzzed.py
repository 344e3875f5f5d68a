"""Whatever the roles do, a text is released only if it may be, and nothing else is touched."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dynaserve.rlaa import (
    ATTRIBUTES,
    IDENTIFIER,
    Anonymizer,
    Edit,
    Judgement,
    Leak,
    Level,
    Result,
    RoleError,
    Span,
    Status,
)
from dynaserve.rlaa.llm.protocol import LLMError, TooLongError
from dynaserve.rlaa.spans import apply, find_mentions

ALL = (*ATTRIBUTES, IDENTIFIER)
ACTIONABLE = {Level.HIGH, Level.MED}
WORDS = ["Porto", "31", "nurse", "a@b.example", "José", "🙂", "שלום", "e\u0301", "Porto.", "x\ny"]
TEXTS = st.lists(
    st.sampled_from([*WORDS, "I am", "\n", "  ", ". ", "night", "ok"]), max_size=9
).map(" ".join)
ERRORS = st.sampled_from(
    [RoleError("none"), LLMError("none"), ValueError("Porto"), KeyError("31"), TooLongError(9, 3)]
)
GARBAGE = st.one_of(
    st.none(), st.integers(), st.text(max_size=5), st.binary(max_size=3),
    st.lists(st.none(), min_size=1),
    st.dictionaries(st.text(max_size=2), st.none()), st.just(math.nan), st.just(object()),
)  # fmt: skip
LEAKS = st.builds(
    Leak,
    st.sampled_from(ALL),
    st.sampled_from(WORDS),
    st.sampled_from([*WORDS, "nowhere", ""]),
    st.integers(1, 5),
)
BROKEN_LEAKS = st.builds(Leak, GARBAGE, GARBAGE, GARBAGE, GARBAGE)
AFTERS = st.one_of(
    st.sampled_from(["", "someone", *WORDS, "near Porto", "\u0000", "\u202e", "a\nb"]), GARBAGE
)


class Recorder:
    """Plays the roles by drawing what they do, and notes what honest attacks found."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any], *, honest: bool) -> None:
        self.draw, self.honest = draw, honest
        self.attacked: dict[str, set[str]] = {}
        self.actionable: list[tuple[str, str]] = []
        self.broke = False

    def misbehaves(self) -> bool:
        return not self.honest and self.draw(st.integers(0, 7)) == 0

    def attack(self, text: str, attributes: Sequence[str]) -> Any:
        if self.misbehaves():
            return self.broken(BROKEN_LEAKS)
        self.attacked.setdefault(text, set()).update(attributes)
        return self.draw(st.lists(LEAKS, max_size=3))

    def judge(self, text: str, leaks: Sequence[Leak]) -> Any:
        assert all(find_mentions(text, leak.evidence) for leak in leaks)
        if self.misbehaves():
            return self.broken(st.builds(Judgement, GARBAGE, GARBAGE, GARBAGE, GARBAGE))
        judged = [
            Judgement(leak, self.draw(st.sampled_from(Level)), "", self.draw(st.floats(0, 1)))
            for leak in leaks
        ]
        self.actionable += [
            (text, j.leak.evidence)
            for j in judged
            if j.level in ACTIONABLE and j.leak.attribute in self.attacked[text]
        ]
        return judged

    def edit(self, text: str, actionable: Sequence[Judgement]) -> Any:
        if self.misbehaves():
            return self.broken(st.builds(Edit, GARBAGE, GARBAGE, GARBAGE, GARBAGE))
        spans = sorted({span for judged in actionable for span in judged.spans})
        if self.honest:
            return [Edit(s, text[s.start : s.end], "somebody", "") for s in spans]
        drawn = st.sampled_from([*spans, Span(0, 1), Span(-1, 3), Span(2, 2), Span(0, 999)])
        if self.draw(st.integers(0, 3)) == 0:
            spans = self.draw(st.lists(drawn, max_size=4))
        return [Edit(s, text[s.start : s.end], self.draw(AFTERS), "") for s in spans]

    def rewrite(self, text: str, actionable: Sequence[Judgement]) -> Any:
        del actionable
        if self.misbehaves():
            return self.broken(st.just(None))
        return self.draw(st.one_of(TEXTS, st.just(text), st.just(text + "\u0007")))

    def broken(self, parts: st.SearchStrategy[Any]) -> Any:
        reply = self.draw(st.one_of(ERRORS, GARBAGE, st.lists(parts, min_size=1, max_size=2)))
        if isinstance(reply, Exception):
            raise reply
        # An empty answer may be an honest one.
        self.broke = self.broke or bool(reply) or not isinstance(reply, list)
        return reply


def roles(recorder: Recorder, **options: Any) -> Anonymizer:
    players = dict.fromkeys(("attacker", "arbitrator", "editor", "rewriter"), recorder)
    return Anonymizer(**players, **options)  # type: ignore[arg-type]


def check(text: str, result: Result, recorder: Recorder) -> None:
    if recorder.broke:
        assert result.status is Status.FAILED
    if result.text is None:
        assert not result.releasable
        assert result.edits == ()
    else:
        assert result.releasable
        assert apply(text, result.edits) == result.text
    if result.status is Status.FAILED:
        assert not any(word in result.reason for word in WORDS)
    if result.status in {Status.CLEAN, Status.ANONYMIZED}:
        assert result.text is not None
        assert not text or recorder.attacked[result.text] >= set(ALL)
        closed = [evidence for _, evidence in recorder.actionable]
        assert not any(find_mentions(result.text, evidence) for evidence in closed)
        assert result.residual == ()
    if result.status is Status.CLEAN:
        assert (result.text, result.edits) == (text, ())
    if result.status is Status.STOPPED_RATIONAL:
        assert result.releasable == all(j.level is not Level.HIGH for j in result.residual)


def check_rounds(text: str, result: Result) -> None:
    """Every round of edits changes its spans, and not one character more."""
    for turn in result.rounds:
        after = apply(text, turn.edits)
        assert turn.text == (after if turn.kept else text)
        for edit in turn.edits:
            assert any(
                (span.start <= edit.span.start and edit.span.end <= span.end) or
                (edit.span.start <= span.start and span.end <= edit.span.end)
                for judged in turn.judgements for span in judged.spans
            )  # fmt: skip
        text = turn.text


FUZZ = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


@FUZZ
@given(TEXTS, st.data(), st.sampled_from([0.05, 1.0, math.inf]))
def test_lying_roles_never_release_a_text_in_edit_mode(
    text: str, data: st.DataObject, limit: float
) -> None:
    recorder = Recorder(data.draw, honest=False)
    result = roles(recorder, max_mrs=limit).run(text)
    check(text, result, recorder)
    check_rounds(text, result)


@FUZZ
@given(TEXTS, st.data(), st.sampled_from([0.05, 1.0, math.inf]))
def test_lying_roles_never_release_a_text_in_rewrite_mode(
    text: str, data: st.DataObject, limit: float
) -> None:
    recorder = Recorder(data.draw, honest=False)
    check(text, roles(recorder, mode="rewrite", max_mrs=limit).run(text), recorder)


@FUZZ
@given(TEXTS, st.data())
def test_honest_roles_never_fail(text: str, data: st.DataObject) -> None:
    recorder = Recorder(data.draw, honest=True)
    result = roles(recorder, max_mrs=math.inf).run(text)
    assert result.status is not Status.FAILED
    check(text, result, recorder)
    check_rounds(text, result)
