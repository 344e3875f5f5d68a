"""The summaries as a bento: ``bentoml build`` here, or ``bentoml serve`` for a first look."""

from __future__ import annotations

from dynaserve.serving.images import DynaServeImage
from dynaserve.serving.summaries import summaries_service

Summaries = summaries_service(
    image=DynaServeImage().python_packages("dynaserve[canary]"),
    envs=[{"name": "BENTOML_HOST", "value": "0.0.0.0"}],  # noqa: S104 - inside its container only
)
