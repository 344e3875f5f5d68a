"""DynaNoise as a `Defense`: binds a config to a source of row keys and calls a kernel.

The kernel is the compiled core's or, for CUDA tensors, Triton's; the keys are the same. It may
not hold numerics (the kernels') nor a rule for keys (that is `query_keys`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from dynaserve import _core
from dynaserve.defenses.document import Document, write_document
from dynaserve.defenses.dynanoise.config import DynaNoiseConfig, checked_config
from dynaserve.defenses.dynanoise.query_keys import QueryKeys, fresh_row_keys
from dynaserve.defenses.gpu import on_gpu
from dynaserve.defenses.keys import NoiseKey
from dynaserve.defenses.protocol import ArrayT
from dynaserve.defenses.rows import logits_of, unwrap


class DynaNoise:
    """Gaussian noise on logits, scaled by how certain the row is, then softmax.

    `paper` draws fresh noise for each call, as published: repeating a query averages it away.
    `keyed` gives a query the same noise for ever and keeps the model's top-1 label; an attacker
    must find near-duplicates to average over. Neither gives a formal guarantee.

    Parameters
    ----------
    config
        The parameters; `paper` and `keyed` make usual ones.
    key
        For keyed noise: 32 bytes or a `NoiseKey`; None takes ``DYNASERVE_NOISE_KEY``, else the
        key file in the state directory, which is created on first use.
    threads
        How many threads the core may use for a large batch; no result depends on it.

    Examples
    --------
    >>> import numpy as np
    >>> logits = np.array([[2.0, 1.0, -1.0], [0.5, 0.0, 3.0]])
    >>> defense = DynaNoise.keyed(key=bytes(range(32)))
    >>> inputs = np.array([[0.1, 0.2], [0.3, 0.4]])
    >>> p = defense(logits, queries=inputs)
    >>> bool((p == defense(logits, queries=inputs)).all())
    True
    >>> p.argmax(axis=1).tolist()
    [0, 2]
    """

    KIND = "dynanoise"

    def __init__(
        self,
        config: DynaNoiseConfig,
        *,
        key: bytes | NoiseKey | None = None,
        threads: int = 1,
    ) -> None:
        if config.noise == "fresh" and key is not None:
            raise ValueError("DynaNoise: fresh noise takes no key; use DynaNoise.keyed(key=...)")
        self._key = NoiseKey.resolve(key) if config.noise == "keyed" else None
        self._queries = QueryKeys(self._key, config) if self._key else None
        self._config = config
        self._parameters = (
            config.base_variance,
            config.sensitivity_scale,
            config.temperature,
            config.preserve_top1,
        )
        self._threads = threads
        self._watch: Callable[[NDArray[np.uint32]], Any] | None = None

    @classmethod
    def paper(
        cls,
        base_variance: float = 0.3,
        sensitivity_scale: float = 2.0,
        temperature: float = 10.0,
        *,
        threads: int = 1,
    ) -> DynaNoise:
        """Return the published defense: fresh noise, no care for the label."""
        config = checked_config(
            base_variance=base_variance,
            sensitivity_scale=sensitivity_scale,
            temperature=temperature,
        )
        return cls(config, threads=threads)

    @classmethod
    def keyed(
        cls,
        key: bytes | NoiseKey | None = None,
        base_variance: float = 1.0,
        sensitivity_scale: float = 2.0,
        temperature: float = 1.0,
        model_version: str = "",
        *,
        threads: int = 1,
    ) -> DynaNoise:
        """Return repeatable noise that keeps the label.

        The temperature is 1: an attacker undoes any other, and it costs honest users their
        calibration.
        """
        config = checked_config(
            base_variance=base_variance,
            sensitivity_scale=sensitivity_scale,
            temperature=temperature,
            noise="keyed",
            preserve_top1=True,
            model_version=model_version,
        )
        return cls(config, key=key, threads=threads)

    @classmethod
    def from_document(cls, document: Document, *, key: bytes | NoiseKey | None = None) -> DynaNoise:
        """Return the defense that a file describes; keyed noise finds its key as always."""
        document.require_parameters(*DynaNoiseConfig.model_fields)
        return cls(checked_config(**document.parameters), key=key)

    @property
    def config(self) -> DynaNoiseConfig:
        """The frozen parameters."""
        return self._config

    def with_model_version(self, version: str) -> DynaNoise:
        """Return the same defense for one version of a model: its queries get other noise."""
        fields = self._config.model_dump() | {"model_version": version}
        return type(self)(checked_config(**fields), key=self._key, threads=self._threads)

    def watched(self, watch: Callable[[NDArray[np.uint32]], Any]) -> DynaNoise:
        """Return the same defense, which shows ``watch`` the row keys (n, 4) of each call first.

        Equal queries have equal keys, so that whoever counts repeats need not hash them again.
        """
        other = type(self)(self._config, key=self._key, threads=self._threads)
        other._watch = watch
        return other

    def __call__(self, logits: ArrayT, *, queries: Any = None) -> ArrayT:
        """Return defended probabilities; see `Defense`.

        Raises
        ------
        ValueError
            For logits without a softmax, naming the first such row, and for keyed noise
            without one query per row.
        ImportError
            For a CUDA tensor where the ``gpu`` extra is not installed.
        """
        if type(logits) is not np.ndarray and on_gpu(logits):
            return cast("ArrayT", self._on_gpu(logits, queries))
        rows = unwrap(logits)
        released = _core.dynanoise(
            rows.values,
            self._row_keys(rows.values.shape[:-1], queries),
            *self._parameters,
            self._threads,  # by name it would take half a microsecond more
        )
        return cast("ArrayT", rows.wrap(released))

    def from_probabilities(self, probabilities: ArrayT, *, queries: Any = None) -> ArrayT:
        """Return what the logits log(probabilities) give; a zero is a small number, not a mask.

        No noise on logits hides a score that is exactly 0 or 1. Models that give such scores,
        decision forests for one, are better behind a `RankTemplate`.

        Raises
        ------
        ValueError
            Also for a row that is no probability distribution.
        """
        return self(logits_of(probabilities), queries=queries)

    def sensitivity(self, logits: ArrayT) -> ArrayT:
        """Return R in [0, 1], float32, of each row of logits (..., k); never release it."""
        if on_gpu(logits):
            from dynaserve.defenses.dynanoise import triton_kernel  # noqa: PLC0415 - optional

            return cast("ArrayT", triton_kernel.sensitivity(cast("Any", logits)))
        rows = unwrap(logits)
        return cast(
            "ArrayT", rows.wrap(np.asarray(_core.sensitivity(rows.values, threads=self._threads)))
        )

    def describe(self) -> str:
        """Return one line for people."""
        config = self._config
        label = "label kept" if config.preserve_top1 else "label may change"
        version = f", model version {config.model_version[:12]!r}" if config.model_version else ""
        return (
            f"DynaNoise, {config.noise} noise: base variance {config.base_variance:g}, "
            f"sensitivity scale {config.sensitivity_scale:g}, "
            f"temperature {config.temperature:g}, {label}{version}"
        )

    def save(self, path: str | Path) -> None:
        """Write the config, never the key, to a TOML file that `load_defense` reads."""
        write_document(path, self.KIND, self._config.model_dump())

    def __repr__(self) -> str:
        return f"DynaNoise({self._config!r})"

    def _on_gpu(self, logits: Any, queries: Any) -> Any:
        import torch  # noqa: PLC0415 - optional

        from dynaserve.defenses.dynanoise import triton_kernel  # noqa: PLC0415

        row_keys = self._row_keys(tuple(logits.shape[:-1]), queries)
        return triton_kernel.dynanoise(
            logits,
            torch.tensor(row_keys.view(np.int32), device=logits.device),
            *self._parameters,
        )

    def _row_keys(self, leading: tuple[int, ...], queries: Any) -> NDArray[np.uint32]:
        if self._queries is None:
            return fresh_row_keys(math.prod(leading))
        if queries is None:
            raise ValueError(
                "DynaNoise: keyed noise needs queries=, the model's input for each row of logits "
                "(an array or a list of bytes)"
            )
        keys = self._queries.row_keys(queries, leading)
        if self._watch is not None:
            self._watch(keys)
        return keys
