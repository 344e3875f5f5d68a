"""The classifier as a bento: ``bentoml build`` here, or ``bentoml serve`` for a first look."""

from __future__ import annotations

from dynaserve.serving.classifier import classifier_service
from dynaserve.serving.images import DynaServeImage

Classifier = classifier_service(
    image=DynaServeImage(),
    envs=[{"name": "BENTOML_HOST", "value": "0.0.0.0"}],  # noqa: S104 - inside its container only
)
