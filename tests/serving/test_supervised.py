from __future__ import annotations

import os

import bentoml
import pytest
from bentoml.exceptions import BentoMLConfigException

from dynaserve.serving import orphans, supervised
from dynaserve.serving.access import gate
from dynaserve.serving.supervised import SupervisedService


class Fragile(SupervisedService):
    problem: Exception | None = None

    def __init__(self) -> None:
        if self.problem is not None:
            raise self.problem


class Derived(Fragile):
    problem = ValueError("DYNASERVE_THING: is wrong")


def test_it_ends_with_its_supervisor_in_a_worker_and_nowhere_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    called: list[int] = []
    monkeypatch.setattr(supervised, "end_with_supervisor", lambda: called.append(1))
    service = Fragile()
    service.watch_supervisor()
    assert not called
    monkeypatch.setattr(bentoml.server_context, "worker_index", 1)
    service.watch_supervisor()
    assert called == [1]


def test_bentoml_finds_the_check_on_the_service_that_it_serves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(orphans.SUPERVISOR, raising=False)
    inner = bentoml.service(name="Derived")(Derived).inner
    hooks = [
        member
        for name in dir(inner)
        if getattr(member := getattr(inner, name), "__bentoml_deployment_hook__", False)
    ]
    assert len(hooks) == 1
    with pytest.raises(BentoMLConfigException, match="DYNASERVE_THING: is wrong"):
        hooks[0]()
    assert orphans.SUPERVISOR not in os.environ


def test_a_service_that_is_fine_names_the_supervisor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(orphans.SUPERVISOR, "1")
    Fragile.check()
    assert os.environ[orphans.SUPERVISOR] == str(os.getpid())
    assert os.environ[gate.KEYLESS] == str(os.getpid())


def test_what_has_tried_everything_itself_does_not_again(monkeypatch: pytest.MonkeyPatch) -> None:
    ((variable, value),) = supervised.already_tried().items()
    monkeypatch.setenv(variable, value)
    Derived.check()
    monkeypatch.setenv(variable, str(os.getppid()))  # inherited
    with pytest.raises(BentoMLConfigException, match="DYNASERVE_THING: is wrong"):
        Derived.check()


def test_a_fault_of_ours_is_not_shown_as_a_wrong_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Fragile, "problem", RuntimeError("a fault"))
    with pytest.raises(RuntimeError, match="a fault"):
        Fragile.check()
