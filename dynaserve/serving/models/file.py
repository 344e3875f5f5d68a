"""One model file, read once.

The digest, the safety checks and the loader all see the same bytes, so that nobody can swap
the file between the check and the use. Nothing here may interpret the content.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

from dynaserve.serving.models.protocol import ModelError


@dataclass(frozen=True)
class ModelFile:
    """The bytes of a model and what to call it."""

    name: str
    suffix: str
    content: bytes = field(repr=False)

    @property
    def version(self) -> str:
        """SHA-256 of the content, hex."""
        return hashlib.sha256(self.content).hexdigest()

    @classmethod
    def read(cls, path: Path, *, name: str | None = None) -> ModelFile:
        """Read ``path``; ``name`` defaults to the file's own.

        Raises
        ------
        ModelError
            If it is missing, a directory, unreadable or empty.
        """
        if path.is_dir():
            raise ModelError(f"{path} is a directory; name the model file inside it")
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            raise ModelError(f"{path} does not exist") from None
        except OSError as error:
            raise ModelError(f"{path} cannot be read: {error.strerror}") from None
        if not content:
            raise ModelError(f"{path} is empty")
        return cls(name=name or path.name, suffix=path.suffix.lower(), content=content)

    def unreadable(self, kind: str, error: Exception) -> ModelError:
        """Return the error for content that a library could not read as ``kind``."""
        first_line = (str(error).strip().splitlines() or [""])[0][:300]
        reason = f"{type(error).__name__}: {first_line}" if first_line else type(error).__name__
        return ModelError(f"{self.name} could not be read as {kind}: {reason}")
