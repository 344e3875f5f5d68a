"""Read ``.joblib``, ``.pkl`` and ``.pickle`` files, if the user vouches for them.

Unpickling runs whatever code the file asks for. Without that word no byte is interpreted.
"""

from __future__ import annotations

import io

from dynaserve.serving.models.estimator import serve_estimator
from dynaserve.serving.models.file import ModelFile
from dynaserve.serving.models.imports import require
from dynaserve.serving.models.loaded import LoadedModel
from dynaserve.serving.models.protocol import ModelError


def load(file: ModelFile, *, trust_pickle: bool) -> LoadedModel:
    """Load a pickled scikit-learn model.

    Raises
    ------
    ModelError
        Without ``trust_pickle``, or if the file cannot be read or holds no classifier.
    """
    if not trust_pickle:
        raise ModelError(
            f"{file.name} is a pickle, and loading a pickle runs whatever code its author put "
            "inside. If you made the file or trust who did, pass --trust-pickle "
            "(trust_pickle=True); a .skops or .onnx file needs no trust"
        )
    joblib = require("joblib", extra="serve")
    try:
        estimator = joblib.load(io.BytesIO(file.content))
    except Exception as error:
        raise file.unreadable("a joblib or pickle file", error) from error
    return serve_estimator(estimator, name=file.name, version=file.version)
