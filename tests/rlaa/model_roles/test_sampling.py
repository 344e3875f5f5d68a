"""A model is asked again with another seed, and then given up on; never is silence an answer."""

from __future__ import annotations

import pytest

from dynaserve.rlaa.llm.cancellation import CancelledError
from dynaserve.rlaa.llm.protocol import Completion, LLMError, Message, TooLongError
from dynaserve.rlaa.llm.scripted import ScriptedLLM
from dynaserve.rlaa.model_roles.sampling import Sampling, answered
from dynaserve.rlaa.roles import RoleError

MESSAGES = [Message("user", "Well?")]


def ask(llm, sampling):
    """Complete and read, as every role does; this one reads only "yes"."""

    def attempt(number):
        reply = sampling.complete(llm, MESSAGES, number, schema={"enum": ["yes"]}, max_tokens=7)
        if reply != "yes":
            raise RoleError("not a yes")
        return reply

    return sampling.tries(attempt)


def test_the_first_answer_that_can_be_read_counts():
    llm = ScriptedLLM(["no", LLMError("no connection"), "yes", "yes"])
    assert ask(llm, Sampling(0.0, 0.8, retries=3, seed=40)) == "yes"
    assert [request.seed for request in llm.requests] == [40, 41, 42]
    assert [request.temperature for request in llm.requests] == [0.0, 0.3, 0.3]
    assert {request.top_p for request in llm.requests} == {0.8}
    assert {request.max_tokens for request in llm.requests} == {7}
    assert llm.requests[0].schema == {"enum": ["yes"]}


def test_a_warmer_temperature_stays():
    llm = ScriptedLLM(["no", "yes"])
    ask(llm, Sampling(0.5))
    assert [request.temperature for request in llm.requests] == [0.5, 0.5]


@pytest.mark.parametrize(
    ("last", "reason"),
    [
        ("no", "not a yes"),
        (Completion("yes", finished=False), "the reply was cut off at 7 tokens"),
        (LLMError("no connection"), "the model failed: no connection"),
    ],
)
def test_when_the_tries_are_used_up_the_last_reason_is_given(last, reason):
    llm = ScriptedLLM(["no", "no", last, "yes"])
    with pytest.raises(RoleError) as caught:
        ask(llm, Sampling(0.0, retries=2))
    assert str(caught.value) == f"no usable answer in 3 tries; the last: {reason}"
    assert llm.calls == 3
    assert caught.value.__context__ is None


@pytest.mark.parametrize("error", [TooLongError(9, 8), CancelledError("cancelled")])
def test_what_no_retry_can_help_passes_through_at_once(error):
    llm = ScriptedLLM([error, "yes"])
    with pytest.raises(type(error)) as caught:
        ask(llm, Sampling(0.0))
    assert caught.value is error
    assert llm.calls == 1
    with pytest.raises(type(error)):
        answered(lambda: llm_raises(error))


def llm_raises(error):
    raise error


@pytest.mark.parametrize(
    "sampling",
    [
        {"temperature": -0.1}, {"temperature": 2.1}, {"temperature": float("nan")},
        {"temperature": 0, "top_p": 0}, {"temperature": 0, "top_p": 1.1},
        {"temperature": 0, "retries": -1},
    ],
)  # fmt: skip
def test_sampling_out_of_range_is_refused(sampling):
    with pytest.raises(ValueError, match=list(sampling)[-1]):
        Sampling(**sampling)
