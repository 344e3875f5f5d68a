from __future__ import annotations

import asyncio
import math
import socket
import threading
from typing import Any

import pytest

from benchmarks.ports import free_port
from dynaserve.rlaa.llm import (
    CancelledError,
    Completion,
    LLMError,
    Message,
    OpenAICompatibleLLM,
    TooLongError,
    UnavailableError,
    cancellable,
)
from tests.rlaa.llm.conftest import Answer, Asked, FakeServer

ASK = [Message("system", "Be brief."), Message("user", "my secret")]
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}


def said(content: Any = "yes", reason: str | None = "stop", **more: Any) -> dict[str, Any]:
    return {
        "choices": [
            {"message": {"role": "assistant", "content": content}, "finish_reason": reason} | more
        ]
    }


def listing(**shares: float) -> dict[str, Any]:
    top = [{"token": token, "logprob": math.log(share)} for token, share in shares.items()]
    return said("x", "length", logprobs={"content": [{"token": "x", "top_logprobs": top}]})


def of(server: FakeServer, **options: Any) -> OpenAICompatibleLLM:
    return OpenAICompatibleLLM(server.url, "small", **options)


def test_an_answer_and_what_was_asked_for_it(server: FakeServer) -> None:
    server.answers(said("yes"))
    answer = of(server).complete(ASK, temperature=0.5, top_p=0.8, max_tokens=7, seed=3)
    assert answer == Completion("yes", finished=True)
    (asked,) = server.asked
    assert asked.path == "/v1/chat/completions"
    assert asked.body == {
        "model": "small",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "my secret"},
        ],
        "temperature": 0.5,
        "top_p": 0.8,
        "max_tokens": 7,
        "seed": 3,
    }


def test_a_schema_is_sent_as_llama_server_and_vllm_read_it(server: FakeServer) -> None:
    server.answers(said())
    of(server).complete(ASK, schema=SCHEMA)
    assert server.asked[0].body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "strict": True, "schema": SCHEMA},
    }


@pytest.mark.parametrize("reason", ["length", "content_filter", None])
def test_an_answer_that_did_not_end_by_itself_is_not_finished(
    server: FakeServer, reason: str | None
) -> None:
    server.answers(said("ye", reason))
    assert of(server).complete(ASK) == Completion("ye", finished=False)


@pytest.mark.parametrize(
    "body",
    [
        b"<html>", b"[]", b"null", b"\xff", {}, {"choices": []}, {"choices": "x"},
        {"choices": [1]}, {"choices": [{}]}, {"choices": [{"message": None}]}, said(None),
        said(["a"]),
    ],
)  # fmt: skip
def test_an_answer_that_is_none_is_an_error(server: FakeServer, body: Any) -> None:
    server.answers(body)
    with pytest.raises(LLMError):
        of(server).complete(ASK)


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 503])
def test_a_refusal_is_an_error_that_quotes_nothing(server: FakeServer, status: int) -> None:
    server.answers({"error": {"message": "cannot read: my secret"}}, status=status)
    with pytest.raises(LLMError, match=str(status)) as error:
        of(server, api_key="sk-hidden").complete(ASK)
    assert isinstance(error.value, UnavailableError) == (status != 400)
    for kept in ("secret", "sk-hidden", "127.0.0.1"):
        assert kept not in str(error.value)


def test_the_key_is_sent_and_shown_nowhere(server: FakeServer) -> None:
    server.answers(said())
    llm = of(server, api_key="sk-hidden")
    llm.complete(ASK)
    assert server.asked[0].headers["Authorization"] == "Bearer sk-hidden"
    assert "sk-hidden" not in repr(llm)


@pytest.mark.parametrize("key", ["sk-hidden\n", "sk-hiddän"])
def test_a_key_that_no_header_can_have_is_refused_without_being_shown(
    server: FakeServer, key: str
) -> None:
    with pytest.raises(ValueError, match="api_key") as error:
        of(server, api_key=key)
    assert "sk-hid" not in str(error.value)


def test_a_redirect_is_not_followed(server: FakeServer) -> None:
    server.answers(said(), status=307)
    server.answer_headers["Location"] = f"http://127.0.0.1:{server.port}/elsewhere"
    with pytest.raises(LLMError, match="307"):
        of(server).complete(ASK)
    assert [asked.path for asked in server.asked] == ["/v1/chat/completions"]


def test_no_proxy_of_the_environment_is_asked(
    server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    server.answers(said())
    assert of(server).complete(ASK).text == "yes"


def test_a_name_that_comes_to_mean_a_public_address_gets_no_text(
    server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.answers(said())
    llm = OpenAICompatibleLLM(f"http://localhost:{server.port}", "small")

    def elsewhere(_: str, port: int, **__: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("93.184.216.34", port))]

    monkeypatch.setattr(socket, "getaddrinfo", elsewhere)
    with pytest.raises(UnavailableError, match="public address") as error:
        llm.complete(ASK)
    assert "93.184" not in str(error.value)
    assert "localhost" not in str(error.value)
    assert server.asked == []


def test_the_next_address_is_tried_and_the_name_is_kept(
    server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.answers(said())
    monkeypatch.setattr(
        "dynaserve.rlaa.llm.private_server.addresses", lambda *_, **__: ["127.0.0.2", "127.0.0.1"]
    )
    llm = OpenAICompatibleLLM(f"http://models.lan:{server.port}", "small")
    assert llm.complete(ASK).text == "yes"
    assert server.asked[0].headers["Host"] == f"models.lan:{server.port}"


def test_a_server_that_is_not_there_is_an_error() -> None:
    with pytest.raises(UnavailableError, match="ConnectError") as error:
        OpenAICompatibleLLM(f"http://127.0.0.1:{free_port()}", "small").complete(ASK)
    assert "127.0.0.1" not in str(error.value)


def test_an_answer_that_takes_too_long_is_an_error(server: FakeServer) -> None:
    hold = threading.Event()

    def late(_: Asked) -> Answer:
        hold.wait(10)
        return 200, said()

    server.behaviour = late
    with pytest.raises(UnavailableError, match=r"within 0\.2 s"):
        of(server, timeout=0.2).complete(ASK)
    hold.set()


def test_a_cancelled_run_does_not_wait_for_the_answer(server: FakeServer) -> None:
    event, hold = threading.Event(), threading.Event()

    def never(_: Asked) -> Answer:
        event.set()
        hold.wait(10)
        return 200, said()

    server.behaviour = never
    with cancellable(event), pytest.raises(CancelledError):
        of(server).complete(ASK)
    assert not hold.is_set()
    hold.set()


def test_it_answers_inside_of_an_event_loop(server: FakeServer) -> None:
    async def inside() -> Completion:
        return of(server).complete(ASK)

    server.answers(said())
    assert asyncio.run(inside()).text == "yes"


def test_threads_may_ask_at_once(server: FakeServer) -> None:
    server.behaviour = lambda asked: (200, said(asked.body["messages"][0]["content"]))
    llm, answers = of(server), dict[int, str]()

    def ask(number: int) -> None:
        answers[number] = llm.complete([Message("user", str(number))]).text

    threads = [threading.Thread(target=ask, args=[number]) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {number: str(number) for number in range(8)}


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("127.0.0.1:8080", "begin with http"),
        ("ftp://127.0.0.1", "begin with http"),
        ("http://", "begin with http"),
        ("http://127.0.0.1:port", "no URL"),
        ("http://127.0.0.1:0/v1", "one of 1 to 65535"),
        ("https://127.0.0.1:0", "one of 1 to 65535"),
        ("http://127.0.0.1:65536", "one of 1 to 65535"),
        ("http://[::1]:99999/v1", "one of 1 to 65535"),
        ("http://user:sk-hidden@127.0.0.1/v1", "api_key"),
        ("http://127.0.0.1@93.184.216.34/v1", "api_key"),
        ("http://127.0.0.1/v1?key=sk-hidden", "api_key"),
        ("http://93.184.216.34/v1", "public address"),
        ("http://[2001:4860:4860::8888]/v1", "public address"),
        ("http://[::ffff:8.8.8.8]/v1", "public address"),
        ("http://1572395042/v1", "public address"),
        ("http://0.0.0.0:8080/v1", "public address"),
        ("http://169.254.169.254/latest", "public address"),
    ],
)
def test_addresses_that_are_refused(url: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        OpenAICompatibleLLM(url, "small")
    assert "sk-hidden" not in str(error.value)


@pytest.mark.parametrize("port", [1, 65535])
def test_the_first_and_the_last_port_there_is_are_addressed(port: int) -> None:
    assert f"127.0.0.1:{port}/" in repr(OpenAICompatibleLLM(f"http://127.0.0.1:{port}", "m"))


@pytest.mark.parametrize("path", ["", "/", "/v1", "/v1/"])
def test_without_a_path_v1_is_meant(server: FakeServer, path: str) -> None:
    server.answers(said())
    OpenAICompatibleLLM(f"http://127.0.0.1:{server.port}{path}", "small").complete(ASK)
    assert server.asked[0].path == "/v1/chat/completions"


@pytest.mark.parametrize("options", [{"context": 0}, {"timeout": 0}, {"timeout": math.nan}])
def test_limits_that_are_none_are_refused(server: FakeServer, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be above 0"):
        of(server, **options)


def test_the_server_counts_tokens(server: FakeServer) -> None:
    server.behaviour = lambda _: (200, {"tokens": [1, 2, 3]})
    assert of(server).count_tokens("häß") == 3
    assert server.asked[0].path == "/tokenize"
    assert server.asked[0].body["content"] == server.asked[0].body["prompt"] == "häß"


def test_a_server_that_cannot_count_is_asked_once(server: FakeServer) -> None:
    server.answers(said())
    llm = of(server)
    assert [llm.count_tokens("häß"), llm.count_tokens("a")] == [5, 1]
    assert len(server.asked) == 1


def test_what_surely_fits_is_sent_without_counting(server: FakeServer) -> None:
    server.answers(said())
    of(server, context=1000).complete(ASK)
    assert [asked.path for asked in server.asked] == ["/v1/chat/completions"]


def test_what_does_not_fit_is_not_sent(server: FakeServer) -> None:
    server.behaviour = lambda _: (200, {"tokens": [0] * 60})
    with pytest.raises(TooLongError) as error:
        of(server, context=100).complete([Message("user", "x" * 200)], max_tokens=10)
    assert (error.value.tokens, error.value.limit) == (60 + 10 + 2 * 16, 100)
    assert [asked.path for asked in server.asked] == ["/tokenize"]


def test_scores_are_the_shares_of_the_tokens_that_begin_the_options(server: FakeServer) -> None:
    server.answers(listing(HIGH=0.4, M=0.2, **{" LOW": 0.1, "L": 0.1, "the": 0.2}))
    scores = of(server).score(ASK, ["HIGH", "MED", "LOW", "INVALID"])
    assert scores == pytest.approx([0.5, 0.25, 0.25, 0.0])
    body = server.asked[0].body
    assert (body["max_tokens"], body["logprobs"], body["top_logprobs"]) == (1, True, 20)


@pytest.mark.parametrize(
    "answer",
    [said("HIGH"), said("HIGH", logprobs=None), said("HIGH", logprobs={"content": []}),
     said("HIGH", logprobs={"content": [{"top_logprobs": [{"token": None}]}]})],
)  # fmt: skip
def test_a_server_that_does_not_tell_probabilities_is_an_error_that_says_what_does_without(
    server: FakeServer, answer: Any
) -> None:
    server.answers(answer)
    with pytest.raises(LLMError, match=r"no probabilities.*\(grades='generate'\)"):
        of(server).score(ASK, ["HIGH", "LOW"])


def test_a_server_that_lists_other_tokens_only_is_an_error(server: FakeServer) -> None:
    server.answers(listing(the=0.9, **{" ": 0.1}))
    with pytest.raises(LLMError, match="no listed token begins an option"):
        of(server).score(ASK, ["HIGH", "LOW"])


@pytest.mark.parametrize("options", [[], ["INVALID", "IN"], ["A", "A"]])
def test_options_that_cannot_be_told_apart_are_refused(
    server: FakeServer, options: list[str]
) -> None:
    server.answers(listing(A=0.5, IN=0.5))
    with pytest.raises(ValueError, match="options"):
        of(server).score(ASK, options)


@pytest.mark.parametrize("room", [0, -1])
def test_room_for_no_token_is_not_asked_for(server: FakeServer, room: int) -> None:
    with pytest.raises(ValueError, match="max_tokens: must be 1 or more"):
        of(server).complete(ASK, max_tokens=room)
    assert server.asked == []
