"""Where the weights of a model are: a file, or one that a hub has.

Nothing is downloaded that nobody named, and nothing again that is there: a model in the hub's
cache is found without asking the network.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dynaserve.extras import needing
from dynaserve.rlaa.llm.protocol import LLMError

_REFERENCE = re.compile(r"(?P<repo>[\w.-]+/[\w.-]+):(?P<file>[\w.-]+(?:/[\w.-]+)*\.gguf)", re.ASCII)
_PART = re.compile(r"-00001-of-(\d{5})\.gguf$")
_SHA256 = re.compile("[0-9a-f]{64}")


def weights(model: str | Path, *, endpoint: str | None = None) -> Path:
    """Return the path of a GGUF file, downloaded with a progress bar if it has to be.

    Parameters
    ----------
    model
        A path, or ``org/repo:file.gguf``, a file of a repository of the Hugging Face Hub. A file
        that exists by that name comes first. Of weights in several files name the first.
    endpoint
        Address of another hub; by default what the hub's library takes (``HF_ENDPOINT``). The
        cache is the library's too (``HF_HOME``).

    Raises
    ------
    ValueError
        If it is neither.
    LLMError
        If it cannot be downloaded, the hub names no checksum of it, or what arrives is not what
        the hub says it has; such a file is removed.
    ImportError
        Naming the extra, if a download needs what is not installed.
    """
    path = Path(model).expanduser()
    if path.is_file():
        return path
    reference = _REFERENCE.fullmatch(str(model))
    if not reference or ".." in str(model):
        raise ValueError(
            f"model: there is no file {str(model)!r}, and it is no reference either: "
            "a path of a GGUF file, or org/repo:file.gguf"
        )
    first, *more = _parts(reference["file"])
    path = _download(reference["repo"], first, endpoint)
    for part in more:  # llama.cpp looks for them beside the first
        _download(reference["repo"], part, endpoint)
    return path


def _parts(file: str) -> list[str]:
    if not (part := _PART.search(file)):
        return [file]
    return [
        f"{file[: part.start()]}-{number:05}-of-{part[1]}.gguf"
        for number in range(1, int(part[1]) + 1)
    ]


def _download(repo: str, file: str, endpoint: str | None) -> Path:
    with needing("downloading a model needs huggingface-hub", extra="anonymize"):
        import huggingface_hub as hub  # noqa: PLC0415 - anonymize extra
        from huggingface_hub.errors import LocalEntryNotFoundError  # noqa: PLC0415
    try:
        return Path(hub.hf_hub_download(repo, file, local_files_only=True, endpoint=endpoint))
    except LocalEntryNotFoundError:
        pass
    name = f"{repo}:{file}"
    with _said_of(name):
        metadata = hub.get_hf_file_metadata(hub.hf_hub_url(repo, file, endpoint=endpoint))
    checksum = metadata.etag or ""
    if not _SHA256.fullmatch(checksum):
        raise LLMError(
            f"{name} is not downloaded: the hub names no SHA-256 of it, so damage could not be "
            "noticed. Download it by other means, and name the file"
        )
    with _said_of(name):
        path = Path(hub.hf_hub_download(repo, file, endpoint=endpoint))
    _require_intact(path, checksum, name)
    return path


@contextmanager
def _said_of(name: str) -> Iterator[None]:
    """Turn whatever the hub's library raises into one line about a file."""
    try:
        yield
    except Exception as error:
        why = str(error).strip().partition("\n")[0]
        raise LLMError(f"{name} cannot be downloaded: {type(error).__name__}: {why}") from None


def _require_intact(path: Path, checksum: str, name: str) -> None:
    """Compare a file with the hub's checksum of it, and remove it if it is another."""
    blob = path.resolve()
    digest = hashlib.sha256()
    with blob.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    if digest.hexdigest() != checksum:
        path.unlink()
        blob.unlink(missing_ok=True)
        raise LLMError(f"{name} arrived damaged (its SHA-256 is another); it was removed")
