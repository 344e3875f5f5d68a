"""The classifier as a bento: ``bentoml build`` here, or ``bentoml serve`` for a first look."""

from __future__ import annotations

from dynaserve.serving.classifier import classifier_service
from dynaserve.serving.images import in_container

Classifier = classifier_service(**in_container())
