"""From a file back to a defense: the registry of kinds, and the only importer of them all.

Defenses write themselves through `document`; keeping the way back here keeps imports acyclic.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from dynaserve.defenses.document import Document, read_document
from dynaserve.defenses.dynanoise import DynaNoise
from dynaserve.defenses.keys import NoiseKey
from dynaserve.defenses.protocol import Defense
from dynaserve.defenses.rank_template import PublicReference, RankTemplate, Reference
from dynaserve.defenses.undefended import Undefended

_READERS: dict[str, tuple[Callable[..., Defense], frozenset[str]]] = {
    DynaNoise.KIND: (DynaNoise.from_document, frozenset({"key"})),
    RankTemplate.KIND: (RankTemplate.from_document, frozenset()),
    PublicReference.KIND: (PublicReference.from_document, frozenset({"reference"})),
    Undefended.KIND: (Undefended.from_document, frozenset()),
}
"""Kind -> what rebuilds it, and what that takes beside the file."""


def load_defense(
    path: str | Path,
    *,
    key: bytes | NoiseKey | None = None,
    reference: Reference | None = None,
) -> Defense:
    """Return the defense that ``save`` wrote to ``path``.

    Parameters
    ----------
    path
        A TOML file; nothing in it is ever executed or unpickled.
    key
        For keyed DynaNoise: its 32 bytes; None takes ``DYNASERVE_NOISE_KEY`` or the key file.
    reference
        For a public-reference defense, which needs it: the callable it was calibrated with.

    Raises
    ------
    ValueError
        Naming the file and what is wrong in it; also for a key or reference it has no use for.

    Examples
    --------
    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/defense.toml"
    >>> DynaNoise.paper(temperature=5.0).save(path)
    >>> load_defense(path).config.temperature
    5.0
    """
    try:
        return _build(read_document(path), {"key": key, "reference": reference})
    except ValueError as error:
        raise ValueError(f"defense file {path}: {error}") from error


def _build(document: Document, options: dict[str, Any]) -> Defense:
    if document.kind not in _READERS:
        raise ValueError(f"unknown kind {document.kind!r}; known: {', '.join(_READERS)}")
    reader, accepted = _READERS[document.kind]
    given = {name: value for name, value in options.items() if value is not None}
    if unused := sorted(given.keys() - accepted):
        raise ValueError(f"kind {document.kind!r} takes no {unused[0]}=")
    return reader(document, **given)
