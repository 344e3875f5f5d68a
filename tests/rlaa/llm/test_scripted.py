from __future__ import annotations

import threading

import pytest

from dynaserve.rlaa.llm import (
    CancelledError,
    Completion,
    LLMError,
    Message,
    Request,
    ScriptedLLM,
    TooLongError,
    cancellable,
)

ASK = [Message("system", "Be brief."), Message("user", "What is it?")]


def test_replies_come_in_order_as_finished_answers() -> None:
    llm = ScriptedLLM(["one", "two"])
    answers = [llm.complete(ASK), llm.complete(ASK)]
    assert answers == [Completion("one", finished=True), Completion("two", finished=True)]


def test_a_completion_is_played_as_it_is() -> None:
    cut = Completion("on", finished=False)
    assert ScriptedLLM([cut]).complete(ASK) is cut


def test_an_exception_is_raised_and_the_script_goes_on() -> None:
    llm = ScriptedLLM([LLMError("down"), "up"])
    with pytest.raises(LLMError, match="down"):
        llm.complete(ASK)
    assert llm.complete(ASK).text == "up"


def test_a_function_answers_the_request() -> None:
    llm = ScriptedLLM([lambda request: request.messages[-1].content.upper()])
    assert llm.complete(ASK).text == "WHAT IS IT?"


def test_it_remembers_what_it_was_asked() -> None:
    llm = ScriptedLLM(["a"], scores=[[0.25, 0.75]])
    schema = {"type": "string"}
    llm.complete(ASK, schema=schema, temperature=0.5, top_p=0.8, max_tokens=7, seed=3)
    llm.score(ASK, ["x", "y"])
    assert llm.calls == 2
    assert llm.requests[0] == Request(tuple(ASK), (), schema, 0.5, 0.8, 7, 3)
    assert llm.requests[1].options == ("x", "y")


def test_scores_come_from_their_own_script() -> None:
    llm = ScriptedLLM(["a"], scores=[[0.25, 0.75], LLMError("no scores")])
    assert llm.score(ASK, ["x", "y"]) == [0.25, 0.75]
    with pytest.raises(LLMError, match="no scores"):
        llm.score(ASK, ["x", "y"])
    assert llm.complete(ASK).text == "a"


@pytest.mark.parametrize("kind", ["replies", "scores"])
def test_a_script_that_has_run_out_is_an_error(kind: str) -> None:
    llm = ScriptedLLM()
    with pytest.raises(LLMError, match=f"run out of {kind}"):
        llm.complete(ASK) if kind == "replies" else llm.score(ASK, ["x"])


def test_what_does_not_fit_takes_no_reply() -> None:
    llm = ScriptedLLM(["a"], context=10)
    with pytest.raises(TooLongError) as error:
        llm.complete(ASK, max_tokens=6)
    assert (error.value.tokens, error.value.limit) == (11, 10)
    assert llm.complete(ASK, max_tokens=5).text == "a"


def test_a_cancelled_run_takes_no_reply() -> None:
    llm, event = ScriptedLLM(["a"]), threading.Event()
    event.set()
    with cancellable(event), pytest.raises(CancelledError):
        llm.complete(ASK)
    assert llm.calls == 0
    assert llm.complete(ASK).text == "a"


def test_what_is_said_is_not_in_a_repr() -> None:
    llm = ScriptedLLM(["a"])
    answer = llm.complete([Message("user", "my secret")], schema={"enum": ["my secret"]})
    assert "secret" not in repr(llm.requests)
    assert "'a'" not in repr(answer)
