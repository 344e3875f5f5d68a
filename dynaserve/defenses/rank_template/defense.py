"""RankTemplate as a `Defense`: binds calibrated numbers to a kernel's release.

The kernel is the compiled core's or, for CUDA tensors, Triton's. It may read nothing of a row
but the order of its top classes and, with two buckets, whether its margin is low.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any, cast, overload

import numpy as np
from numpy.typing import NDArray

from dynaserve import _core
from dynaserve.defenses.document import Document, require_utf8, write_document
from dynaserve.defenses.gpu import on_gpu
from dynaserve.defenses.protocol import ArrayT
from dynaserve.defenses.rank_template.calibrate import (
    HeldOut,
    Template,
    calibrate_template,
    margins,
)
from dynaserve.defenses.rank_template.public_reference import PublicReference, Reference
from dynaserve.defenses.rows import logits_of, unwrap


class RankTemplate:
    """Releases what the label and the order of the next classes say, calibrated, and no more.

    There is no noise, no key, and nothing to average away. What is given up is confidence per
    input: two rows with the same top classes get the same answer. The label still leaks what
    the model's generalization gap leaks.

    Make one with `calibrate`, for each version of a model. One that `with_model_version` bound
    to a version is served with no other.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> labels = rng.integers(0, 5, 400)
    >>> logits = rng.normal(size=(400, 5)) + 3 * np.eye(5)[labels]
    >>> defense = RankTemplate.calibrate(logits, labels, ranks=2)
    >>> same_order = np.array([[9.0, 1.0, 0.0, -1.0, -2.0], [0.3, 0.2, 0.1, -7.0, -5.0]])
    >>> first, second = defense(same_order)
    >>> bool((first == second).all())
    True
    """

    KIND = "rank-template"

    def __init__(self, template: Template, *, model_version: str = "", threads: int = 1) -> None:
        self._template = template
        self._model_version = require_utf8(model_version, "rank template: a model version")
        self._threads = threads
        self._confidence = [np.array(bucket) for bucket in template.confidence]
        self._rank_weights = np.array(template.rank_weights)
        self._uploaded: dict[Any, tuple[Any, ...]] = {}

    @overload
    @classmethod
    def calibrate(
        cls,
        held_out_logits: Any,
        held_out_labels: Any,
        ranks: int = 3,
        buckets: int = 1,
        reference: None = None,
        *,
        queries: Any = None,
        threads: int = 1,
    ) -> RankTemplate: ...

    @overload
    @classmethod
    def calibrate(
        cls,
        held_out_logits: Any,
        held_out_labels: Any,
        ranks: int = 3,
        buckets: int = 1,
        *,
        reference: Reference,
        queries: Any,
        threads: int = 1,
    ) -> PublicReference: ...

    @classmethod
    def calibrate(
        cls,
        held_out_logits: Any,
        held_out_labels: Any,
        ranks: int = 3,
        buckets: int = 1,
        reference: Reference | None = None,
        *,
        queries: Any = None,
        threads: int = 1,
    ) -> RankTemplate | PublicReference:
        """Calibrate on rows that the model was not trained on.

        Parameters
        ----------
        held_out_logits
            (n, K), numpy or torch, n >= 300.
        held_out_labels
            (n,) integers in 0..K-1.
        ranks
            R, how many runner-up classes keep their order, at most 127; K - 1 or more keeps all.
        buckets
            2 also tells the rows apart whose top-1 margin is among the lowest 5% of held-out
            ones. It flags uncertain inputs and leaks somewhat more.
        reference
            A model trained only on public data, from queries to probabilities (n, K). The
            result is then a `PublicReference`, which releases no ranks.
        queries
            The model inputs of the held-out rows, for the reference.
        threads
            How many threads the core may use for a large batch; no result depends on it.

        Raises
        ------
        ValueError
            For fewer than 300 rows, labels out of range, logits without a softmax (naming the
            first such row), or options that do not go together.
        """
        if reference is not None:
            if queries is None or buckets != 1:
                raise ValueError("reference=: needs queries= and goes with buckets=1 only")
            return PublicReference.calibrate(
                held_out_logits, held_out_labels, reference=reference, queries=queries
            )
        held_out = HeldOut.checked(held_out_logits, held_out_labels)
        return cls(calibrate_template(held_out, ranks=ranks, buckets=buckets), threads=threads)

    @classmethod
    def calibrate_from_probabilities(
        cls,
        held_out_probabilities: Any,
        held_out_labels: Any,
        ranks: int = 3,
        buckets: int = 1,
        *,
        threads: int = 1,
    ) -> RankTemplate:
        """Calibrate a model that gives probabilities (n, K) only; see `calibrate`."""
        logits = logits_of(held_out_probabilities, "held_out_probabilities")
        return cls.calibrate(logits, held_out_labels, ranks, buckets, threads=threads)

    @classmethod
    def from_document(cls, document: Document) -> RankTemplate:
        """Return the defense that a file describes."""
        parameters = document.parameters
        low_margin, version = parameters.get("low_margin"), parameters.get("model_version", "")
        optional = {"low_margin", "model_version"}
        needed = Template.__dataclass_fields__.keys() - optional
        document.require_parameters(*needed, *(optional & parameters.keys()))
        if not isinstance(version, str):
            raise ValueError("rank template: model_version must be text")
        try:
            template = Template(
                confidence=tuple(map(_floats, parameters["confidence"])),
                rank_weights=_floats(parameters["rank_weights"]),
                tail_weight=_floats([parameters["tail_weight"]])[0],
                low_margin=None if low_margin is None else _floats([low_margin])[0],
                calibrated_on=parameters["calibrated_on"],
            )
        except TypeError as error:
            raise ValueError(f"rank template: {error}") from None
        return cls(template, model_version=version)

    @property
    def template(self) -> Template:
        """The calibrated numbers; all of them may be public."""
        return self._template

    @property
    def model_version(self) -> str:
        """The version of the model that was calibrated; empty if it is not known."""
        return self._model_version

    def with_model_version(self, version: str) -> RankTemplate:
        """Return the same defense, bound to one version of a model; "" binds it to none."""
        return type(self)(self._template, model_version=version, threads=self._threads)

    def __call__(self, logits: ArrayT, *, queries: Any = None) -> ArrayT:  # noqa: ARG002
        """Return template probabilities; queries are not needed. See `Defense`.

        Raises
        ------
        ValueError
            For another number of classes than calibrated, or naming the first row of logits
            without a softmax.
        ImportError
            For a CUDA tensor where the ``gpu`` extra is not installed.
        """
        if on_gpu(logits):
            return cast("ArrayT", self._on_gpu(logits))
        rows = unwrap(logits)
        self._require_classes(rows.values.shape)
        released = self._release(rows.values, self._confidence[-1])
        if self._template.low_margin is not None:
            low = margins(rows.values) <= self._template.low_margin
            released[low] = self._release(rows.values[low], self._confidence[0])
        return cast("ArrayT", rows.wrap(released))

    def from_probabilities(self, probabilities: ArrayT, *, queries: Any = None) -> ArrayT:
        """Return the same for a model that gives probabilities; zeros are ties, not masks."""
        return self(logits_of(probabilities), queries=queries)

    def describe(self) -> str:
        """Return one line for people."""
        template = self._template
        buckets = "" if template.low_margin is None else ", low margins told apart"
        version = f", model version {self._model_version[:12]!r}" if self._model_version else ""
        return (
            f"RankTemplate: label and order of {len(template.rank_weights)} runner-up of "
            f"{template.classes} classes, calibrated on {template.calibrated_on} rows"
            f"{buckets}{version}"
        )

    def save(self, path: str | Path) -> None:
        """Write the template to a TOML file that `load_defense` reads."""
        fields = asdict(self._template) | {"model_version": self._model_version}
        if self._template.low_margin is None:
            del fields["low_margin"]
        write_document(path, self.KIND, fields)

    def __repr__(self) -> str:
        template = self._template
        return (
            f"RankTemplate(ranks={len(template.rank_weights)}, "
            f"buckets={len(template.confidence)}, classes={template.classes}, "
            f"calibrated_on={template.calibrated_on})"
        )

    def _require_classes(self, shape: tuple[int, ...]) -> None:
        if shape[-1:] != (self._template.classes,):
            raise ValueError(
                f"RankTemplate: calibrated for {self._template.classes} classes, "
                f"got {shape[-1] if shape else 0}"
            )

    def _on_gpu(self, logits: Any) -> Any:
        import torch  # noqa: PLC0415 - optional

        from dynaserve.defenses.rank_template.triton_kernel import rank_template  # noqa: PLC0415

        self._require_classes(tuple(logits.shape))
        *confidence, weights = self._on_device(logits.device)
        tail, low_margin = self._template.tail_weight, self._template.low_margin
        released = rank_template(logits, confidence[-1], weights, tail)
        if low_margin is None:
            return released
        first, second = logits.detach().topk(2, dim=-1).values.double().unbind(dim=-1)
        low = (first - second <= low_margin)[..., None]
        return torch.where(low, rank_template(logits, confidence[0], weights, tail), released)

    def _on_device(self, device: Any) -> tuple[Any, ...]:
        """Return the confidence of each bucket and the rank weights, copied there only once."""
        import torch  # noqa: PLC0415 - optional

        if device not in self._uploaded:
            self._uploaded[device] = tuple(
                torch.tensor(values, dtype=torch.float32, device=device)
                for values in (*self._confidence, self._rank_weights)
            )
        return self._uploaded[device]

    def _release(
        self, logits: NDArray[Any], confidence: NDArray[np.float64]
    ) -> NDArray[np.float32]:
        weights, tail = self._rank_weights, self._template.tail_weight
        return _core.rank_template(logits, confidence, weights, tail, self._threads)


def _floats(values: Any) -> tuple[float, ...]:
    if not (isinstance(values, list) and all(type(value) is float for value in values)):
        raise TypeError("needs lists of floats")
    return tuple(values)
