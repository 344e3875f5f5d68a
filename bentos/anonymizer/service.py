"""The anonymizer as a bento: ``bentoml build`` here, or ``bentoml serve`` for a first look."""

from __future__ import annotations

from dynaserve.serving.anonymizer import anonymizer_service
from dynaserve.serving.images import in_container

Anonymizer = anonymizer_service(**in_container("dynaserve[anonymize]"))
