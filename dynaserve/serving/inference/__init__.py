"""The Open Inference Protocol v2, which KServe, Triton and MLServer speak, for the classifier.

``/v2`` is a second way in, and the fast one: raw tensors in and raw tensors out, with no float
ever written as text. What comes in is read here (``body``, ``request``, ``tensors``), and what goes
out is written here (``answer``); in between is the service's own path (``Batches``, ``defended``),
the only one to an answer. Nothing in this package may see logits, or quote a request.

Sources: https://github.com/kserve/open-inference-protocol, and for raw tensors Triton's binary
tensor data extension.
"""

from dynaserve.serving.inference.routes import Endpoints

__all__ = ["Endpoints"]
