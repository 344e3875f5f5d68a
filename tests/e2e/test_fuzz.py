"""Requests that schemathesis makes up from the API document: no answer is an error of the server's.

It sends what fits the document and what does not, in every place that the document names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.generation import GenerationMode

from tests.e2e.conftest import Server

pytestmark = pytest.mark.e2e

EXAMPLES = 150
REFUSED = {400, 404, 405, 413, 415, 422}


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("dynaserve.serving.classifier:Classifier", "/predict"),
        ("dynaserve.serving.anonymizer:Anonymizer", "/anonymize"),
        ("dynaserve.serving.anonymizer:Anonymizer", "/anonymize/batch"),
        ("dynaserve.serving.summaries:Summaries", "/summaries"),
    ],
    ids=["predict", "anonymize", "anonymize-batch", "summaries"],
)
def test_whatever_the_api_document_lets_be_sent_is_answered_or_refused(
    serve: Callable[..., Server], target: str, path: str
) -> None:
    server = serve(target, workers=1)
    schema: Any = schemathesis.openapi.from_url(f"{server.url}/docs.json")
    schema.config.update(base_url=server.url)
    operation = schema[path]["POST"]
    seen: Counter[int] = Counter()

    for mode in GenerationMode:

        @given(case=operation.as_strategy(generation_mode=mode))
        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            derandomize=True,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        def ask(case: Any) -> None:
            answer = case.call()
            seen[answer.status_code] += 1
            assert answer.status_code == 200 or answer.status_code in REFUSED
            assert isinstance(answer.json(), dict)

        ask()
    assert seen.total() >= EXAMPLES
    assert "Traceback" not in server.logged()
