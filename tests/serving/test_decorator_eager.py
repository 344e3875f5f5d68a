"""The decorator in a module whose annotations are evaluated: no ``__future__`` import here."""

import bentoml
import numpy as np

from dynaserve import DynaNoise
from dynaserve.serving import defended

KEYED = DynaNoise.keyed(key=bytes(range(32)))
ROWS = np.array([[1.0, 2.0, 3.0]])


@bentoml.service(metrics={"enabled": False})
class Eager:
    @bentoml.api
    @defended(KEYED)
    def predict(self, inputs: np.ndarray) -> np.ndarray:
        return inputs


def test_evaluated_annotations_work_like_postponed_ones(start) -> None:
    answer = start(Eager).post("/predict", json={"inputs": ROWS.tolist()})
    assert answer.status_code == 200, answer.text
    np.testing.assert_array_equal(np.array(answer.json(), np.float32), KEYED(ROWS, queries=ROWS))
