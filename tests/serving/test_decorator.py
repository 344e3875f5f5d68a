from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from typing import Annotated, Any

import bentoml
import numpy as np
import pytest
import torch
from bentoml.validators import DType

import dynaserve.serving
from dynaserve import DynaNoise
from dynaserve.defenses import Undefended
from dynaserve.serving import defended
from dynaserve.serving.decorator import as_queries

Floats = Annotated[np.ndarray, DType("float32")]

WEIGHTS = np.random.default_rng(5).normal(size=(4, 3)).astype(np.float32)
KEYED = DynaNoise.keyed(key=bytes(range(32)))
ROWS = np.random.default_rng(6).normal(size=(5, 4)).astype(np.float32)


class Broken(Undefended):
    """A defense that cannot answer, and says too much about it."""

    def __call__(self, logits: Any, *, queries: Any = None) -> Any:  # noqa: ARG002
        raise ValueError(f"cannot defend {logits}")


@bentoml.service(metrics={"enabled": False})
class Decorated:
    def __init__(self) -> None:
        self.defense = KEYED

    @bentoml.api
    @defended(KEYED)
    def plain(self, inputs: Floats) -> Floats:
        return inputs @ WEIGHTS

    @bentoml.api
    @defended(lambda self: self.defense)
    async def coroutine(self, inputs: Floats) -> Floats:
        return inputs @ WEIGHTS

    @bentoml.api(batchable=True)
    @defended(lambda self: self.defense)
    def batched(self, inputs: Floats) -> Floats:
        return inputs @ WEIGHTS

    @bentoml.api
    @defended(KEYED, outputs="probabilities")
    def probabilities(self, inputs: Floats) -> Floats:
        scores = np.exp(inputs @ WEIGHTS)
        return scores / scores.sum(axis=1, keepdims=True)

    @bentoml.api
    @defended(KEYED)
    def with_context(self, ctx: bentoml.Context, inputs: Floats) -> Floats:
        ctx.response.headers["x-seen"] = "yes"
        return inputs @ WEIGHTS

    @bentoml.api
    @defended(KEYED)
    def texts(self, inputs: list[str]) -> Floats:
        return np.array([[len(text), 0.0, 1.0] for text in inputs])

    @bentoml.api
    @defended(KEYED, queries=lambda inputs: [name.encode() for name in sorted(inputs)])
    def named(self, inputs: dict[str, float]) -> Floats:
        return np.array([[inputs[name], 0.0, 1.0] for name in sorted(inputs)])

    @bentoml.api
    @defended(KEYED)
    def undeclared(self, inputs: np.ndarray) -> Floats:
        return inputs.astype(np.float32) @ WEIGHTS

    @bentoml.api
    @defended(KEYED, queries=lambda left, right: np.concatenate([left, right], axis=1))
    def pair(self, left: Floats, ctx: bentoml.Context, right: Floats) -> Floats:  # noqa: ARG002
        return np.concatenate([left, right], axis=1) @ WEIGHTS

    @bentoml.api
    @defended(Broken())
    def broken(self, inputs: Floats) -> Floats:
        return inputs @ WEIGHTS

    @bentoml.api
    @defended(lambda self: lambda logits, queries: logits)  # noqa: ARG005
    def not_a_defense(self, inputs: Floats) -> Floats:
        return inputs @ WEIGHTS

    @bentoml.api
    @defended(KEYED)
    def refusing(self, inputs: Floats) -> Floats:  # noqa: ARG002
        raise bentoml.exceptions.InvalidArgument("too blurry")


@pytest.fixture(scope="module")
def client(start: Any) -> Any:
    return start(Decorated)


def ask(client: Any, endpoint: str, inputs: Any = None) -> np.ndarray:
    sent = ROWS.tolist() if inputs is None else inputs
    answer = client.post(f"/{endpoint}", json={"inputs": sent})
    assert answer.status_code == 200, answer.text
    return np.array(answer.json(), np.float32)


@pytest.mark.parametrize("endpoint", ["plain", "coroutine", "batched", "with_context"])
def test_an_endpoint_answers_with_what_the_defense_releases(client: Any, endpoint: str) -> None:
    released = KEYED(ROWS @ WEIGHTS, queries=ROWS)
    np.testing.assert_array_equal(ask(client, endpoint), released)


def test_probabilities_are_defended_as_probabilities(client: Any) -> None:
    np.testing.assert_allclose(
        ask(client, "probabilities"), KEYED(ROWS @ WEIGHTS, queries=ROWS), atol=1e-5
    )


def test_the_context_parameter_reaches_the_method_and_is_no_query(client: Any) -> None:
    answer = client.post("/with_context", json={"inputs": ROWS.tolist()})
    assert answer.headers["x-seen"] == "yes"


def test_texts_are_queries_by_their_utf8_bytes(client: Any) -> None:
    logits = np.array([[2, 0.0, 1.0], [3, 0.0, 1.0]])
    expected = KEYED(logits, queries=["é!".encode(), b"abc"])
    np.testing.assert_array_equal(ask(client, "texts", ["é!", "abc"]), expected)


def test_a_query_function_says_what_the_noise_depends_on(client: Any) -> None:
    expected = KEYED(np.array([[0.5, 0.0, 1.0]]), queries=[b"a"])
    np.testing.assert_array_equal(ask(client, "named", {"a": 0.5}), expected)


def test_integers_floats_and_booleans_in_json_are_one_query(client: Any) -> None:
    integers = [[1, 0, 1, 1], [0, 0, 0, 1]]
    floats = [[float(value) for value in row] for row in integers]
    booleans = [[bool(value) for value in row] for row in integers]
    expected = KEYED(np.array(integers, np.float32) @ WEIGHTS, queries=np.array(floats))
    for inputs in (integers, floats, booleans):
        np.testing.assert_array_equal(ask(client, "undeclared", inputs), expected)


def test_a_query_function_gets_every_input_in_the_order_of_the_signature(client: Any) -> None:
    left, right = ROWS[:, :1], ROWS[:, 1:]
    answer = client.post("/pair", json={"right": right.tolist(), "left": left.tolist()})
    assert answer.status_code == 200, answer.text
    released = KEYED(ROWS @ WEIGHTS, queries=ROWS)
    np.testing.assert_array_equal(np.array(answer.json(), np.float32), released)


@pytest.mark.parametrize("endpoint", ["broken", "not_a_defense"])
def test_a_request_whose_defense_fails_gets_an_error_and_no_scores(
    client: Any, endpoint: str, caplog: pytest.LogCaptureFixture
) -> None:
    row = [[0.12345, 0.0, 0.0, 0.0]]
    answer = client.post(f"/{endpoint}", json={"inputs": row})
    assert answer.status_code == 500
    assert answer.json() == {
        "error": "An unexpected error has occurred, please check the server log."
    }
    scores = [f"{score:.5f}"[:6].lstrip("-") for score in (np.array(row) @ WEIGHTS)[0]]
    assert "the defense failed with" in caplog.text
    assert not any(score in caplog.text for score in [*scores, "0.12345"])


def test_a_refusal_by_the_method_itself_reaches_the_client(client: Any) -> None:
    answer = client.post("/refusing", json={"inputs": ROWS.tolist()})
    assert answer.status_code == 400
    assert "too blurry" in answer.text


def test_the_endpoint_keeps_the_input_and_output_of_the_method() -> None:
    method = Decorated.apis["plain"]
    assert list(method.input_spec.model_fields) == ["inputs"]
    assert method.output_spec.model_json_schema()["type"] == "tensor"
    assert method.output_spec.model_json_schema()["dtype"] == "float32"


def test_above_the_api_decorator_it_raises_and_names_the_right_order() -> None:
    class Wrong:
        @bentoml.api
        def predict(self, inputs: Floats) -> Floats:
            return inputs

    with pytest.raises(TypeError, match=r"Wrong.predict.*@bentoml.api first and @defended"):
        defended(KEYED)(vars(Wrong)["predict"])


def test_streams_are_refused() -> None:
    def stream(self: Any, inputs: Floats) -> Iterator[str]:
        yield ""

    async def async_stream(self: Any, inputs: Floats) -> Any:
        yield ""

    for method in (stream, async_stream):
        with pytest.raises(TypeError, match="cannot defend the stream"):
            defended(KEYED)(method)


def test_what_is_no_method_is_refused() -> None:
    for thing in (5, "predict", Undefended(), staticmethod(len)):
        with pytest.raises(TypeError, match="needs a method"):
            defended(KEYED)(thing)  # type: ignore[type-var]


def test_a_method_without_an_input_is_refused() -> None:
    def predict(self: Any, ctx: bentoml.Context) -> Any: ...

    with pytest.raises(TypeError, match="take the query as an input after self"):
        defended(KEYED)(predict)


def two_inputs(self: Any, inputs: Any, scale: float = 1.0) -> Any: ...


def positional(self: Any, *inputs: Any) -> Any: ...


def keywords(self: Any, **inputs: Any) -> Any: ...


def no_context(self: Any, inputs: Any, context: str) -> Any: ...


@pytest.mark.parametrize(
    ("method", "found"),
    [
        (two_inputs, r"two_inputs\(inputs, scale=1.0\)"),
        (positional, r"positional\(\*inputs\)"),
        (keywords, r"keywords\(\*\*inputs\)"),
        (no_context, r"no_context\(inputs, context\)"),
    ],
)
def test_a_method_whose_inputs_are_not_one_query_needs_a_query_function(
    method: Any, found: str
) -> None:
    with pytest.raises(TypeError, match=f"cannot tell the query of {found}.*Pass queries="):
        defended(KEYED)(method)
    assert callable(defended(KEYED, queries=lambda *_: b"")(method))


def test_a_query_function_gets_defaults_and_variable_inputs_too() -> None:
    seen: list[Any] = []

    class Service:
        @defended(KEYED, queries=lambda *inputs: seen.append(inputs) or [b"q"])
        def predict(self, inputs: Any, scale: Any = 2, *more: Any, **named: Any) -> Any:  # noqa: ARG002
            return np.zeros((1, 3))

    Service().predict("x")
    Service().predict("x", 3, 4, five=5)
    assert seen == [("x", 2, (), {}), ("x", 3, (4,), {"five": 5})]


@pytest.mark.parametrize("defense", [DynaNoise, 5, None, lambda: KEYED])
def test_what_is_no_defense_is_refused(defense: Any) -> None:
    with pytest.raises(TypeError, match=r"must be a Defense.*or a function of the service"):
        defended(defense)


def test_without_its_parentheses_it_raises_and_asks_for_a_defense() -> None:
    async def coroutine(self: Any) -> Any: ...

    def predict(self: Any, inputs: Floats) -> Floats: ...

    for method in (coroutine, predict):
        with pytest.raises(TypeError, match=r"@defended\(\.\.\.\) needs a defense"):
            defended(method)


def test_the_defense_may_be_a_function_of_the_instance_with_defaults() -> None:
    class Service:
        @defended(lambda _self, chosen=KEYED: chosen)
        def predict(self, inputs: Any) -> Any:
            return inputs @ WEIGHTS

    expected = KEYED(ROWS @ WEIGHTS, queries=ROWS)
    np.testing.assert_array_equal(Service().predict(ROWS), expected)


@pytest.mark.parametrize("kind", [np.array, torch.tensor])
def test_a_method_that_works_in_place_shares_no_noise_over_rows(kind: Any) -> None:
    class Service:
        @defended(KEYED)
        def sync(self, inputs: Any) -> Any:
            logits = inputs @ kind(WEIGHTS)
            inputs[:] = 0
            return logits

        @defended(KEYED, queries=lambda inputs: inputs[:, :2])
        async def coroutine(self, inputs: Any) -> Any:
            logits = inputs @ kind(WEIGHTS)
            inputs[:] = 0
            return logits

    logits = kind(ROWS) @ kind(WEIGHTS)
    expected = KEYED(logits, queries=kind(ROWS))
    np.testing.assert_array_equal(Service().sync(kind(ROWS)), expected)
    expected = KEYED(logits, queries=kind(ROWS)[:, :2])
    np.testing.assert_array_equal(asyncio.run(Service().coroutine(kind(ROWS))), expected)


def test_outputs_are_logits_or_probabilities() -> None:
    with pytest.raises(TypeError, match="'logits' or 'probabilities', not 'scores'"):
        defended(KEYED, outputs="scores")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "queries"), [("é", "é".encode()), (["a"], [b"a"]), ([b"a"], [b"a"]), (b"a", b"a")]
)
def test_text_becomes_bytes(value: Any, queries: Any) -> None:
    assert as_queries(value) == queries


@pytest.mark.parametrize(
    "value",
    [
        [[1, 0]],
        [[True, False]],
        np.array([[1, 0]], np.int8),
        np.array([[1, 0]], np.uint64),
        torch.tensor([[1, 0]]),
        torch.tensor([[True, False]]),
    ],
)
def test_integers_and_booleans_are_the_floats_they_equal(value: Any) -> None:
    queries = np.asarray(as_queries(value))
    assert (queries.dtype, queries.tolist()) == (np.float64, [[1.0, 0.0]])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.complex64])
def test_other_numbers_keep_their_dtype(dtype: Any) -> None:
    array = np.array([[1, 0]], dtype)
    assert as_queries(array) is array
    assert as_queries(torch.from_numpy(array)).numpy().dtype == dtype


def test_a_huge_integer_does_not_change_the_query_of_the_row_beside_it() -> None:
    beside = as_queries([[1, 0], [2**53 + 1, 0]])
    assert beside[0].tobytes() == as_queries([[1, 0]])[0].tobytes()


def test_lists_of_numbers_become_arrays() -> None:
    np.testing.assert_array_equal(as_queries([[1.0, 2.0]]), np.array([[1.0, 2.0]]))


def test_torch_tensors_stay_tensors() -> None:
    class Service:
        @defended(KEYED)
        def predict(self, inputs: Any) -> Any:
            return inputs @ torch.from_numpy(WEIGHTS)

    released = Service().predict(torch.from_numpy(ROWS))
    assert isinstance(released, torch.Tensor)
    np.testing.assert_allclose(released.numpy(), KEYED(ROWS @ WEIGHTS, queries=ROWS), atol=1e-6)


def test_without_bentoml_the_error_names_the_extra() -> None:
    code = (
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] == 'bentoml':\n"
        "            raise ModuleNotFoundError('absent', name=name)\n"
        "sys.meta_path.insert(0, Absent())\n"
        "import dynaserve.serving\n"
        "try:\n    from dynaserve.serving import defended\n"
        "except ModuleNotFoundError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert "pip install 'dynaserve[serve]'" in done.stdout


def test_an_unknown_name_of_the_package_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'undefended'"):
        dynaserve.serving.undefended  # noqa: B018


def test_an_input_of_a_foreign_class_called_context_is_an_input() -> None:
    class Context(np.ndarray):
        """Not BentoML's."""

    def predict(_, inputs, context: Context):
        return inputs, context

    predict.__annotations__["context"] = "Context"
    predict.__globals__["Context"] = Context
    try:
        with pytest.raises(TypeError, match="cannot tell the query"):
            defended(DynaNoise.paper())(predict)
    finally:
        del predict.__globals__["Context"]


def test_a_context_that_cannot_be_read_is_an_input() -> None:
    def predict(_, inputs, ctx):
        return inputs, ctx

    predict.__annotations__["ctx"] = "nowhere.Context"
    with pytest.raises(TypeError, match="cannot tell the query"):
        defended(DynaNoise.paper())(predict)


def test_only_one_context_is_no_input() -> None:
    def predict(_, inputs, context, ctx):
        return inputs, context, ctx

    with pytest.raises(TypeError, match="cannot tell the query"):
        defended(DynaNoise.paper())(predict)
