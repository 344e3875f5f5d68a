"""The summaries as a bento: ``bentoml build`` here, or ``bentoml serve`` for a first look."""

from __future__ import annotations

from dynaserve.serving.images import in_container
from dynaserve.serving.summaries import summaries_service

Summaries = summaries_service(**in_container("dynaserve[canary]"))
