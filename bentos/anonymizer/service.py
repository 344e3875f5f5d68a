"""The anonymizer as a bento: ``bentoml build`` here, or ``bentoml serve`` for a first look."""

from __future__ import annotations

from dynaserve.serving.anonymizer import anonymizer_service
from dynaserve.serving.images import DynaServeImage

Anonymizer = anonymizer_service(
    image=DynaServeImage().python_packages("dynaserve[anonymize]"),
    envs=[{"name": "BENTOML_HOST", "value": "0.0.0.0"}],  # noqa: S104 - inside its container only
)
