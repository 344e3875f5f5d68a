"""The file of API keys: what is known of each, how it is read, and how it is changed.

It holds digests, never a key. Whoever can write it can let themselves in, so a file that others
may write is refused. No error quotes the file: a wrong path may lead to somebody's secrets.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import stat
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import IO, Any, Literal

import tomli_w
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from dynaserve.atomic import create_file
from dynaserve.serving.access.keys import ID, PREFIX
from dynaserve.state import state_path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HEAD = "# Written by `dynaserve keys`. The keys themselves are not in here, only their SHA-256.\n\n"

Role = Literal["client", "monitor"]
Records = Mapping[str, "KeyRecord"]
"""Id -> what is known of the key."""


class KeyRecord(BaseModel):
    """What is known of one key.

    Attributes
    ----------
    name : str
        Whose it is; for people.
    sha256 : str
        Digest of its secret, 64 hexadecimal digits.
    role : str
        ``client`` asks; ``monitor`` reads the metrics.
    created, expires, revoked : datetime
        With a time zone; the last two are None where they do not apply.
    requests_per_second : float or None
        None is the service's own limit.
    rows_per_day : int or None
        None is the service's own limit.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, hide_input_in_errors=True, allow_inf_nan=False
    )

    name: str = Field(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f\x7f-\x9f]+$")
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$", repr=False)
    role: Role = "client"
    created: AwareDatetime
    expires: AwareDatetime | None = None
    revoked: AwareDatetime | None = None
    requests_per_second: float | None = Field(default=None, ge=0.001, le=1_000_000)
    rows_per_day: int | None = Field(default=None, ge=1, le=10**12)

    @property
    def valid_until(self) -> float:
        """Seconds since 1970 from which on the key opens nothing; infinite for one that lasts."""
        if self.revoked is not None:
            return 0.0
        return float("inf") if self.expires is None else self.expires.timestamp()

    def state(self, now: datetime) -> str:
        """Return ``valid``, ``expired`` or ``revoked``."""
        if self.revoked is not None:
            return "revoked"
        return "valid" if now.timestamp() < self.valid_until else "expired"


def default_path() -> Path:
    """Return where the file is unless somebody says otherwise; it need not be there."""
    return state_path() / "api_keys.toml"


def read_records(path: Path) -> dict[str, KeyRecord]:
    """Return all keys in the file, in its order.

    Raises
    ------
    ValueError
        It is no file of keys, or others can write it; the message quotes nothing of it.
    OSError
        It cannot be read.
    """
    with _opened(path) as file:
        _require_trusted(path, os.fstat(file.fileno()))
        _require_trusted_directory(path.resolve().parent)
        try:
            document = tomllib.loads(file.read().decode())
        except UnicodeDecodeError:
            raise ValueError(f"{path}: is not UTF-8, so no file of API keys") from None
        except (ValueError, RecursionError) as error:  # the latter of lists in lists in lists
            place = re.search(r"at line \d+, column \d+", str(error))
            raise ValueError(f"{path}: is not TOML{f' {place[0]}' if place else ''}") from None
    tables = document.get("keys")
    if set(document) > {"keys"} or not isinstance(tables, dict):
        raise ValueError(f"{path}: is no file of API keys, which has tables [keys.ID] only")
    return {identity: _record(path, identity, table) for identity, table in tables.items()}


def _opened(path: Path) -> IO[bytes]:
    def at_once(name: str, flags: int) -> int:
        return os.open(name, flags | os.O_NONBLOCK)  # a pipe would wait for somebody to write

    try:
        return open(path, "rb", opener=at_once)
    except FileNotFoundError:
        if path.name.startswith(PREFIX):  # which is not to be repeated
            raise ValueError(
                "an API key stands where the name of the file of keys belongs"
            ) from None
        raise FileNotFoundError(
            f"{path}: there is no such file; 'dynaserve keys create NAME --file {path}' makes it"
        ) from None
    except OSError as error:
        raise OSError(f"{path}: cannot be read ({error.strerror})") from None


def _record(path: Path, identity: str, table: Any) -> KeyRecord:
    if not ID.fullmatch(identity):
        raise ValueError(f"{path}: holds an id that is not 12 hexadecimal digits")
    try:
        return KeyRecord.model_validate(table)
    except ValidationError as error:
        problem = error.errors(include_input=False, include_url=False)[0]
        field = str(problem["loc"][0]) if problem["loc"] else ""
        known = field if field in KeyRecord.model_fields else "a field that is not known"
        raise ValueError(f"{path}: [keys.{identity}] {known}: {problem['msg']}") from None


def _require_trusted(path: Path, info: os.stat_result) -> None:
    """Refuse a file that somebody else can write."""
    if not stat.S_ISREG(info.st_mode):
        raise ValueError(f"{path}: is not a regular file")
    if info.st_uid not in (0, os.geteuid()):
        raise ValueError(
            f"{path}: belongs to user {info.st_uid}, not to user {os.geteuid()} who runs this, nor "
            "to root; run this as its owner, or name another file"
        )
    if info.st_mode & 0o022:
        raise ValueError(
            f"{path}: others can write it (mode {stat.S_IMODE(info.st_mode):04o}), and so let "
            "themselves in; look through its keys, then run chmod 600 on it"
        )


def _require_trusted_directory(directory: Path) -> None:
    """Refuse a directory in which somebody else could put a file of their own in place of ours."""
    info = directory.stat()
    others_write = info.st_mode & 0o022 and not info.st_mode & stat.S_ISVTX
    if others_write or info.st_uid not in (0, os.geteuid()):
        raise ValueError(
            f"{directory}: others could replace the API keys in it; run chmod go-w on it as its "
            "owner, or keep them elsewhere"
        )


@contextmanager
def changing(path: Path) -> Iterator[dict[str, KeyRecord]]:
    """Hand out the keys to be changed, and write them back; nobody else changes them meanwhile.

    A file that is not there is made, with mode 0600; one that is there keeps its owner, its group
    and who may read it. The lock is on the directory, for a file that is replaced cannot be locked.

    Raises
    ------
    ValueError, OSError
        As ``read_records``, or it cannot be written.
    """
    path = path.resolve()
    if not path.parent.is_dir():
        raise NotADirectoryError(f"{path.parent}: is not a directory")
    lock = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        records = read_records(path) if path.exists() else {}
        _require_trusted_directory(path.parent)
        yield records
        tables = {
            identity: record.model_dump(exclude_none=True) for identity, record in records.items()
        }
        content = HEAD + tomli_w.dumps({"keys": tables})
        _replace(path, content.encode())
    finally:
        os.close(lock)


def _replace(path: Path, content: bytes) -> None:
    """Put a new file in the place of the old one, for the same readers, from its first moment."""
    staged = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    create_file(staged, content, mode=0o600)
    try:
        if path.exists():
            _give_alike(staged, path.stat())
        staged.replace(path)
    finally:
        staged.unlink(missing_ok=True)


def _give_alike(path: Path, info: os.stat_result) -> None:
    """Let read a file of ours who could read another, as far as this user may say so."""
    shared = stat.S_IROTH
    with suppress(OSError):
        os.chown(path, -1, info.st_gid)
        shared |= stat.S_IRGRP  # else it would be for another group
    path.chmod(0o600 | info.st_mode & shared)
    with suppress(OSError):
        os.chown(path, info.st_uid, -1)


def now() -> datetime:
    """Return this second, in UTC."""
    return datetime.now(timezone.utc).replace(microsecond=0)
