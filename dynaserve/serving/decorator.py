"""The decorator that makes a BentoML method answer with defended probabilities.

It stands between the method and the endpoint, so that logits exist inside the method only.
It fails closed: when the defense cannot answer, the request gets an error and no scores.
"""

from __future__ import annotations

import copy
import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any, Literal, TypeVar, cast

import numpy as np

from dynaserve.defenses.protocol import Defense
from dynaserve.serving.failures import guarded

F = TypeVar("F", bound=Callable[..., Any])

CONTEXT_NAMES = ("ctx", "context")
"""Parameters that BentoML fills with the request's context: the first of them that is there."""

MANY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def defended(
    defense: Defense | Callable[[Any], Defense],
    outputs: Literal["logits", "probabilities"] = "logits",
    *,
    queries: Callable[..., Any] | None = None,
) -> Callable[[F], F]:
    """Release a method's logits as defended probabilities.

    Put it **below** ``@bentoml.api``, on a plain or ``async`` method, batchable or not::

        Images = Annotated[np.ndarray, bentoml.validators.DType("float32")]

        @bentoml.service
        class Digits:
            def __init__(self) -> None:
                self.model = load()
                self.defense = DynaNoise.keyed(model_version="digits-1")

            @bentoml.api
            @defended(lambda self: self.defense)
            def predict(self, inputs: Images) -> np.ndarray:
                return self.model(inputs)  # logits, (n, k)

    Declare the dtype that the model computes in. An input is hashed as the method gets it: of
    an undeclared ``np.ndarray`` that is float64, and digits that a float32 model drops would
    make one input many queries, each with noise of its own to average over.

    Parameters
    ----------
    defense : Defense or callable
        The defense, or a function from the service instance to it.
    outputs : {"logits", "probabilities"}
        What the method returns, a numpy array or torch tensor (..., k).
    queries : callable, optional
        From the method's inputs, in the order of its signature, to one query per row (``*args``
        comes as one tuple, ``**kwargs`` as one dictionary). Needed where there are several
        inputs, or one that is neither an array nor a sequence of ``bytes`` or ``str``. A keyed
        defense answers equal queries equally, so a query must hold everything that the logits
        depend on. Without it see ``as_queries``.

    Returns
    -------
    callable
        A decorator. The method keeps its signature and annotations.

    Raises
    ------
    TypeError
        At import: the decorator is above ``@bentoml.api``, what it decorates is no method that
        returns one array, or nothing says which of its inputs are the query.
    """
    if outputs not in ("logits", "probabilities"):
        raise TypeError(f"outputs must be 'logits' or 'probabilities', not {outputs!r}")
    if isinstance(defense, type) or not callable(defense) or is_bare(defense):
        raise TypeError(
            "@defended(...) needs a defense: its first argument must be a Defense, such as "
            "DynaNoise.keyed(), or a function of the service instance that returns one"
        )

    def decorate(method: F) -> F:
        signature = checked(method)
        inputs = inputs_of(signature, method.__globals__)
        if queries is None:
            require_one_array(method.__qualname__, inputs)

        values_of = reader(signature, inputs)

        def asked(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            rows = (queries or as_queries)(*values_of(args, kwargs))
            # A method that works in place would leave rows that no longer tell queries apart.
            return rows.copy() if type(rows) is np.ndarray else copy.deepcopy(rows)

        def release(self: Any, scores: Any, rows: Any) -> Any:
            given: Any = defense
            chosen = given if is_defense(given.__class__) else given(self)
            if not is_defense(chosen.__class__):
                raise TypeError("the function given to @defended did not return a Defense")
            answer = chosen if outputs == "logits" else chosen.from_probabilities
            return answer(scores, queries=rows)

        @functools.wraps(method)
        def defended_method(self: Any, *args: Any, **kwargs: Any) -> Any:
            rows = guarded("the defense", lambda: asked((self, *args), kwargs))
            scores = method(self, *args, **kwargs)
            return guarded("the defense", lambda: release(self, scores, rows))

        @functools.wraps(method)
        async def defended_coroutine(self: Any, *args: Any, **kwargs: Any) -> Any:
            rows = guarded("the defense", lambda: asked((self, *args), kwargs))
            scores = await method(self, *args, **kwargs)
            return guarded("the defense", lambda: release(self, scores, rows))

        is_async = inspect.iscoroutinefunction(method)
        return cast("F", defended_coroutine if is_async else defended_method)

    return decorate


@functools.cache
def is_defense(kind: type) -> bool:
    """Whether instances are defenses; asked for each request, and a protocol answers slowly."""
    return issubclass(kind, Defense)


def is_bare(defense: Any) -> bool:
    """Whether this is no function of the instance alone, as in @defended without parentheses."""
    if not inspect.isfunction(defense):
        return False
    try:
        inspect.signature(defense).bind(None)
    except TypeError:
        return True
    return inspect.iscoroutinefunction(defense)


def checked(method: Any) -> inspect.Signature:
    """Return the signature of a method that returns one array.

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
    return inspect.signature(method)


def inputs_of(signature: inspect.Signature, names: dict[str, Any]) -> list[inspect.Parameter]:
    """Return what a request fills in: everything but self and the one context.

    ``names`` are the globals of the method, in which its annotations are read.
    """
    parameters = signature.parameters
    contexts = [
        name
        for name in CONTEXT_NAMES
        if name in parameters and is_context(parameters[name].annotation, names)
    ]
    return [each for each in list(parameters.values())[1:] if each.name not in contexts[:1]]


def reader(
    signature: inspect.Signature, inputs: list[inspect.Parameter]
) -> Callable[[tuple[Any, ...], dict[str, Any]], list[Any]]:
    """Return what takes the values of the inputs out of a call's arguments.

    Binding a signature takes longer than a kernel, so a lone input is taken without it.
    """
    names = [each.name for each in inputs]
    lone = len(inputs) == 1 and inputs[0].kind not in MANY
    place = list(signature.parameters).index(names[0]) if lone else 0

    def values_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        if lone and names[0] in kwargs:
            return [kwargs[names[0]]]
        if lone and place < len(args):
            return [args[place]]
        given = signature.bind(*args, **kwargs)
        given.apply_defaults()
        return [given.arguments[name] for name in names]

    return values_of


def is_context(kind: Any, names: dict[str, Any]) -> bool:
    """Whether BentoML fills a parameter of this annotation; what cannot be read is an input."""
    from bentoml import Context  # noqa: PLC0415 - after the hint that `failures` gives without it

    if isinstance(kind, str):  # as it is under `from __future__ import annotations`
        try:
            kind = eval(kind, names)  # noqa: S307 - the module's own text, as BentoML reads it
        except Exception:
            return False
    return kind in (inspect.Parameter.empty, Context)


def require_one_array(name: str, inputs: list[inspect.Parameter]) -> None:
    """Refuse a method whose one query per row cannot be read off its one input.

    Raises
    ------
    TypeError
        Naming the way out.
    """
    if not inputs:
        raise TypeError(f"@defended needs {name} to take the query as an input after self")
    if len(inputs) > 1 or inputs[0].kind in MANY:
        found = ", ".join(str(each.replace(annotation=each.empty)) for each in inputs)
        raise TypeError(
            f"@defended cannot tell the query of {name}({found}): noise that depends on some of "
            "the inputs only would show the difference between two answers. Pass queries=, a "
            "function of all of them that returns one query per row, such as "
            "lambda a, b: np.concatenate([a, b], axis=1)"
        )


def as_queries(value: Any) -> Any:
    """Return a method's input as queries.

    Text becomes UTF-8 and lists become arrays. Booleans and integers become float64, so that
    ``true``, ``1`` and ``1.0`` in JSON are one query and not three, each with its own noise;
    so are integers beyond 2^53 that round to the same float64. Everything else stays as it is.
    """
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, (list, tuple)):
        if all(isinstance(item, bytes) for item in value):
            return value
        if all(isinstance(item, str) for item in value):
            return [item.encode() for item in value]
    if isinstance(value, (list, tuple, int)):
        value = np.asarray(value)
    if isinstance(value, np.ndarray):
        return value.astype(np.float64) if value.dtype.kind in "biu" else value
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        exact = value.is_floating_point() or value.is_complex()
        return value if exact else value.double()
    return value
