"""The decorator that makes a BentoML method answer with defended probabilities.

It stands between the method and the endpoint, so that logits exist inside the method only.
It fails closed: when the defense cannot answer, the request gets an error and no scores.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, Literal, TypeVar, cast

import numpy as np

from dynaserve.defenses.protocol import Defense
from dynaserve.serving.failures import guarded

F = TypeVar("F", bound=Callable[..., Any])

CONTEXT_NAMES = {"ctx", "context"}
"""Parameters that BentoML fills with the request's context."""


def defended(
    defense: Defense | Callable[[Any], Defense],
    outputs: Literal["logits", "probabilities"] = "logits",
    *,
    queries: Callable[[Any], Any] | None = None,
) -> Callable[[F], F]:
    """Release a method's logits as defended probabilities.

    Put it **below** ``@bentoml.api``, on a plain or ``async`` method, batchable or not::

        @bentoml.service
        class Digits:
            def __init__(self) -> None:
                self.model = load()
                self.defense = DynaNoise.keyed(model_version="digits-1")

            @bentoml.api
            @defended(lambda self: self.defense)
            def predict(self, inputs: np.ndarray) -> np.ndarray:
                return self.model(inputs)  # logits, (n, k)

    Parameters
    ----------
    defense : Defense or callable
        The defense, or a function from the service instance to it.
    outputs : {"logits", "probabilities"}
        What the method returns, a numpy array or torch tensor (..., k).
    queries : callable, optional
        From the method's first input to one query per row, for inputs that are neither an
        array nor a sequence of ``bytes`` or ``str``. A keyed defense answers equal queries
        equally, so a query must hold everything that the logits depend on.

    Returns
    -------
    callable
        A decorator. The method keeps its signature and annotations.

    Raises
    ------
    TypeError
        At import: the decorator is above ``@bentoml.api``, or what it decorates is no method
        that returns one array.
    """
    if outputs not in ("logits", "probabilities"):
        raise TypeError(f"outputs must be 'logits' or 'probabilities', not {outputs!r}")
    if isinstance(defense, type) or not callable(defense):
        raise TypeError(
            "the first argument of @defended must be a Defense, such as DynaNoise.keyed(), "
            "or a function of the service instance that returns one"
        )

    def decorate(method: F) -> F:
        first_input = checked(method)
        signature = inspect.signature(method)

        def release(scores: Any, self: Any, *args: Any, **kwargs: Any) -> Any:
            given = signature.bind(self, *args, **kwargs)
            given.apply_defaults()
            rows = (queries or as_queries)(given.arguments[first_input])
            chosen = defense if isinstance(defense, Defense) else defense(self)
            if not isinstance(chosen, Defense):
                raise TypeError("the function given to @defended did not return a Defense")
            answer = chosen if outputs == "logits" else chosen.from_probabilities
            return answer(scores, queries=rows)

        @functools.wraps(method)
        def defended_method(*args: Any, **kwargs: Any) -> Any:
            scores = method(*args, **kwargs)
            return guarded("the defense", lambda: release(scores, *args, **kwargs))

        @functools.wraps(method)
        async def defended_coroutine(*args: Any, **kwargs: Any) -> Any:
            scores = await method(*args, **kwargs)
            return guarded("the defense", lambda: release(scores, *args, **kwargs))

        is_async = inspect.iscoroutinefunction(method)
        return cast("F", defended_coroutine if is_async else defended_method)

    return decorate


def checked(method: Any) -> str:
    """Return the name of the method's first input.

    Raises
    ------
    TypeError
        ``method`` cannot be defended; the message says what to change.
    """
    if not inspect.isfunction(method):
        if hasattr(method, "input_spec") and hasattr(method, "func"):  # bentoml's APIMethod
            raise TypeError(
                f"@defended is above @bentoml.api on {method.func.__qualname__}, which would lose "
                "the endpoint. The right order is @bentoml.api first and @defended(...) on the "
                "line below it."
            )
        raise TypeError(f"@defended needs a method (def or async def), not a {type(method)}")
    if inspect.isgeneratorfunction(method) or inspect.isasyncgenfunction(method):
        raise TypeError(
            f"@defended cannot defend the stream that {method.__qualname__} yields; "
            "return one array of logits"
        )
    names = list(inspect.signature(method).parameters)[1:]
    inputs = [name for name in names if name not in CONTEXT_NAMES]
    if not inputs:
        raise TypeError(
            f"@defended needs {method.__qualname__} to take the query as its first input after self"
        )
    return inputs[0]


def as_queries(value: Any) -> Any:
    """Return a method's input as queries: text as UTF-8, lists as arrays, all else as it is."""
    if not isinstance(value, (list, tuple)):
        return value.encode() if isinstance(value, str) else value
    if all(isinstance(item, bytes) for item in value):
        return value
    if all(isinstance(item, str) for item in value):
        return [item.encode() for item in value]
    return np.asarray(value)
