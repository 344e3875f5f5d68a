"""What every ready-made service does beside answering.

It is tried before its workers start, and its workers outlive no supervisor. Nothing here may
know what a service serves.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import bentoml
from bentoml.exceptions import BentoMLConfigException
from starlette.responses import Response

from dynaserve.serving.access.gate import Gate, decide_keys
from dynaserve.serving.orphans import end_with_supervisor, name_supervisor
from dynaserve.serving.settings import ServiceSettings
from dynaserve.serving.supervisor import settle
from dynaserve.serving.telemetry import Observer, configure_logs, start_metrics

TRIED = "DYNASERVE_TRIED_PID"


def already_tried() -> dict[str, str]:
    """Return variables with which this process, become a supervisor, does not try things again.

    For one that has: a model takes seconds to load, and as much memory as in a worker.
    """
    return {TRIED: str(os.getpid())}


def before_deployment(hook: Callable[[Any], None]) -> classmethod[Any, [], None]:
    """Decorate what ``bentoml serve`` calls once, on the very class that it serves.

    ``bentoml.on_deployment`` alone makes a static method, which does not know its class.
    """
    bentoml.on_deployment(hook)
    return classmethod(hook)


def require_servable(settings: ServiceSettings) -> None:
    """Raise what keeps a service with these settings from answering anybody, whatever it serves.

    Raises
    ------
    ValueError, OSError, ImportError
        Of keys, limits or telemetry.
    """
    Gate(Response(), settings)
    Observer(settings, "").close()


class SupervisedService:
    """Base of the ready-made services."""

    @before_deployment
    def check(cls) -> None:  # noqa: N805 - the decorator makes it a class method
        """Try everything once before workers start, so that a mistake is said once, and plainly.

        BentoML starts a worker that fails at start again and again.
        """
        try:
            settings = ServiceSettings.from_environment()
            configure_logs(settings.logs)
            decide_keys(settings)
            require_servable(settings)
            if os.environ.get(TRIED) != str(os.getpid()):
                cls.rehearse()
            start_metrics(settings.metrics)
        except (ValueError, OSError, ImportError) as error:
            raise BentoMLConfigException(str(error)) from None
        name_supervisor()
        settle()

    @classmethod
    def rehearse(cls) -> None:
        """Do what a worker does at its start."""
        cls()

    @bentoml.on_startup  # type: ignore[untyped-decorator] # BentoML's SDK is untyped
    def watch_supervisor(self) -> None:
        """Stay behind no supervisor that was killed; does nothing outside of a worker process."""
        if bentoml.server_context.worker_index is not None:
            end_with_supervisor()
