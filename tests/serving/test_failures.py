from __future__ import annotations

from http import HTTPStatus

import pytest
from bentoml.exceptions import BentoMLException, InvalidArgument

from dynaserve.serving.failures import FailedError, contained, guarded

SECRET = "4711"


def choke(secret: str) -> None:
    raise KeyError(f"logits were {secret}")


def test_a_failure_says_what_and_where_and_quotes_nothing() -> None:
    with pytest.raises(BentoMLException) as caught:
        guarded("the model", lambda: choke(SECRET))
    error = caught.value
    assert str(error).startswith("the model failed with KeyError; its message is withheld")
    assert "in choke" in str(error)
    assert SECRET not in str(error)
    assert error.error_code is HTTPStatus.INTERNAL_SERVER_ERROR


def test_a_failure_does_not_lead_back_to_the_exception_it_replaces() -> None:
    with pytest.raises(BentoMLException) as caught:
        guarded("the model", lambda: choke(SECRET))
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_an_answer_that_the_author_chose_passes() -> None:
    def refuse() -> None:
        raise InvalidArgument("too blurry")

    with pytest.raises(InvalidArgument, match="too blurry"):
        guarded("the model", refuse)


def test_a_failure_of_a_kind_that_quotes_nothing_passes_where_it_is_named() -> None:
    with pytest.raises(KeyError, match=SECRET):
        guarded("the model", lambda: choke(SECRET), (KeyError,))
    with pytest.raises(BentoMLException):
        guarded("the model", lambda: choke(SECRET), (IndexError,))


def test_success_passes_the_value_through() -> None:
    assert guarded("the model", lambda: 5) == 5


@pytest.mark.parametrize(
    "error",
    [KeyError(SECRET), InvalidArgument(SECRET), SystemExit(SECRET), KeyboardInterrupt(SECRET)],
)
def test_contained_lets_nothing_pass_that_was_not_named(error: BaseException) -> None:
    def fail() -> None:
        raise error

    with pytest.raises(FailedError, match="the work failed with") as caught:
        contained("the work", fail)
    assert SECRET not in str(caught.value)
    assert "in fail" in str(caught.value)
    assert caught.value.__context__ is None


def test_contained_returns_what_came_and_passes_what_was_named() -> None:
    assert contained("the work", lambda: 3) == 3
    with pytest.raises(KeyError):
        contained("the work", lambda: choke(SECRET), (KeyError,))
