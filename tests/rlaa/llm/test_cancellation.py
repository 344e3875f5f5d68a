from __future__ import annotations

import contextvars
import threading

import pytest

from dynaserve.rlaa.llm.cancellation import CancelledError, cancellable, check_cancelled
from dynaserve.rlaa.llm.protocol import LLMError


def test_nothing_is_cancelled_unless_somebody_may_cancel_it() -> None:
    check_cancelled()


def test_a_set_event_ends_what_runs_inside_and_nothing_after() -> None:
    event = threading.Event()
    with cancellable(event):
        check_cancelled()
        event.set()
        with pytest.raises(CancelledError):
            check_cancelled()
    check_cancelled()


def test_an_outer_event_counts_inside_of_an_inner_one() -> None:
    outer, inner = threading.Event(), threading.Event()
    with cancellable(outer), cancellable(inner):
        outer.set()
        with pytest.raises(CancelledError):
            check_cancelled()


def test_it_travels_with_the_context_and_not_into_other_threads() -> None:
    event, seen = threading.Event(), dict[str, bool]()
    event.set()

    def look(name: str) -> None:
        try:
            check_cancelled()
            seen[name] = False
        except CancelledError:
            seen[name] = True

    with cancellable(event):
        here = contextvars.copy_context()
        for thread in (
            threading.Thread(target=look, args=["other"]),
            threading.Thread(target=here.run, args=[look, "ours"]),
        ):
            thread.start()
            thread.join()
    assert seen == {"other": False, "ours": True}


def test_to_be_cancelled_is_a_failure_of_the_model_to_answer() -> None:
    assert issubclass(CancelledError, LLMError)
