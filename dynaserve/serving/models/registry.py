"""Choose the loader of a model by its suffix, and gather what libraries warn about.

Adding a format means one module with ``load(file, *, trust_pickle)`` and one line here.
"""

from __future__ import annotations

import importlib
import warnings
from pathlib import Path

from dynaserve.serving.models import bento_tag
from dynaserve.serving.models.file import ModelFile
from dynaserve.serving.models.protocol import Model, ModelError, ModelWarning

_LOADERS = {
    ".skops": "skops_file",
    ".joblib": "pickle_file",
    ".pkl": "pickle_file",
    ".pickle": "pickle_file",
    ".onnx": "onnx_file",
    ".pt2": "export_file",
    ".pt": "torchscript_file",
}


def load_model(source: str | None, *, trust_pickle: bool = False) -> Model:
    """Load a classifier.

    Parameters
    ----------
    source : str or None
        Path of a model file, or a BentoML model tag (``name:version`` or ``name:latest``). None
        is the embedded default, trained on scikit-learn's digits at first use.
    trust_pickle : bool
        Allow what can run code while it is loaded: pickles, unknown skops types, PyTorch files
        that hold more than an ordinary classifier.

    Raises
    ------
    ModelError
        Saying what is wrong with the model and what would be right.

    Warns
    -----
    ModelWarning
        Once, with everything that libraries warned about while they read the file.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = _load(source, trust_pickle=trust_pickle)
    messages = {
        " ".join(str(warning.message).split()): None
        for warning in caught
        # deprecations address the authors of code, not those who serve a model
        if not issubclass(warning.category, (DeprecationWarning, FutureWarning, ImportWarning))
    }
    if messages:
        warnings.warn(f"{model.name}: {'; '.join(messages)}", ModelWarning, stacklevel=2)
    return model


def _load(source: str | None, *, trust_pickle: bool) -> Model:
    if source is None:
        from dynaserve.serving.models import embedded  # noqa: PLC0415 - trains a model

        return embedded.load()
    path = Path(source).expanduser()
    if path.exists() or not bento_tag.is_tag(source):
        file = _read_path(path)
    else:
        file = bento_tag.read(source, frozenset(_LOADERS))
    loader = importlib.import_module(f"dynaserve.serving.models.{_LOADERS[file.suffix]}")
    model: Model = loader.load(file, trust_pickle=trust_pickle)
    return model


def _read_path(path: Path) -> ModelFile:
    if not path.is_dir() and path.suffix.lower() not in _LOADERS:
        known = ", ".join(_LOADERS)
        raise ModelError(
            f"{path}: unknown model format {path.suffix or '(no suffix)'}; known are {known}, "
            "and BentoML model tags such as name:latest"
        )
    return ModelFile.read(path)
