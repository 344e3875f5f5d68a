"""The same value gets the same replacement over a whole corpus, without a list of the values.

A value is known only by a keyed hash. Key and table together let their owner test guesses at
what was replaced, so both are secrets: never printed, pickled or echoed in an error.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NoReturn

from dynaserve.atomic import create_file
from dynaserve.keyfile import KeyFile, require_strong
from dynaserve.rlaa.records import IDENTIFIER
from dynaserve.rlaa.spans import fold
from dynaserve.state import state_directory

_KEY, _KEY_FILE = "pseudonym key", "pseudonyms.key"
_TABLES = ".sqlite"
_TAG, _LETTERS = 5, "bcdfghjklmnpqrst"
"""Letters of a tag: two values share one by a chance of one in a million. No digits, which would
look like another number, and no vowels, which would make words."""
_WAIT = 30.0
"""Seconds that a process waits for another one's entry."""
_NUMBER = 6
"""Digits of a number that means the same however they are grouped, as in `spans`."""
_GROUPED_ON_PURPOSE = re.compile(
    r"\d{1,3}(?:\.\d{1,3}){3}|\d{1,2}([-./])\d{1,2}\1\d{2,4}|\d{4}([-./])\d{1,2}\2\d{1,2}"
)
"""IPv4 addresses and dates: 10.1.12.3 is not 10.11.2.3."""
_POSSESSIVE = "'s"


class Pseudonyms:
    """A keyed table from values to replacements.

    The first replacement proposed for a value is the one it keeps, whichever process, text or
    spelling it comes up in: a number however its digits are grouped, a name with its ``'s`` or
    without. An identifier's also carries a tag made from key and value, so that
    a reader can tell two accounts apart and cannot tell whose they are; under another key it is
    another tag, and nothing links the two. Other attributes have no tag: their replacements are
    generalizations, and many values share one on purpose.

    Parameters
    ----------
    key
        32 secret bytes.
    table
        SQLite file that outlives the process, created with mode 0600; None keeps the table in
        memory. Several processes may share it.

    Raises
    ------
    TypeError, ValueError
        If the key is not 32 bytes or is all zeros.

    Examples
    --------
    >>> pseudonyms = Pseudonyms(bytes(range(32)))
    >>> pseudonyms.replacement("location", "Porto", "Portugal")
    'Portugal'
    >>> pseudonyms.replacement("location", "PORTO", "a city in the south")
    'Portugal'
    """

    def __init__(self, key: bytes, table: Path | None = None) -> None:
        require_strong(key, _KEY)
        self._key = bytes(key)
        self._table = table
        self._known: dict[bytes, str] = {}

    @classmethod
    def resolve(cls) -> Pseudonyms:
        """Return the table of this user, kept in the state directory; made at first use.

        Raises
        ------
        ValueError, OSError
            As `from_file`.
        """
        key = state_directory() / _KEY_FILE
        elsewhere = "choose another place by DYNASERVE_STATE_DIR"
        return cls(KeyFile(key, _KEY, elsewhere).read(), key.with_suffix(_TABLES))

    @classmethod
    def from_file(cls, path: Path) -> Pseudonyms:
        """Return the table beside a file with a key, ``<its name>.sqlite``; both made if missing.

        Raises
        ------
        ValueError
            If the key is not 32 bytes or is trivial, or others can read it, own it or replace it.
        OSError
            If the files cannot be made.
        """
        elsewhere = "name a file in a directory of your own"
        return cls(KeyFile(path, _KEY, elsewhere).read(), path.with_name(path.name + _TABLES))

    def replacement(self, attribute: str, value: str, proposal: str) -> str:
        """Return what stands for a value: what did before, else the proposal from now on.

        Raises
        ------
        OSError
            If the table cannot be read or written.
        """
        digest = self._digest(attribute, value)
        proposal, ending = _parted(proposal)
        if digest not in self._known:
            if attribute == IDENTIFIER:
                proposal = _tagged(proposal, digest)
            self._known.setdefault(digest, self._stored(digest, proposal))
        return self._known[digest] + ending

    def _digest(self, attribute: str, value: str) -> bytes:
        message = f"{attribute}\0{_identity(value)}".encode("utf-8", "surrogatepass")
        return hmac.digest(self._key, message, hashlib.sha256)

    def _stored(self, digest: bytes, proposal: str) -> str:
        if self._table is None:
            return proposal
        create_file(self._table, b"", mode=0o600)  # SQLite would let others read it
        try:
            with closing(sqlite3.connect(self._table, timeout=_WAIT)) as database, database:
                database.execute(
                    "CREATE TABLE IF NOT EXISTS pseudonyms "
                    "(digest BLOB PRIMARY KEY, replacement TEXT NOT NULL) WITHOUT ROWID"
                )
                # The first of several processes wins, and all of them read what it wrote.
                put = "INSERT OR IGNORE INTO pseudonyms VALUES (?, ?)"
                database.execute(put, (digest, proposal))
                get = "SELECT replacement FROM pseudonyms WHERE digest = ?"
                return str(database.execute(get, (digest,)).fetchone()[0])
        except sqlite3.Error as error:
            raise OSError(f"pseudonym table {self._table}: {error}") from None

    def __repr__(self) -> str:
        return "Pseudonyms(hidden)"

    def __reduce_ex__(self, _protocol: object) -> NoReturn:
        raise TypeError("pseudonyms cannot be pickled or copied: their key would leave the process")


def _identity(value: str) -> str:
    """Return what all spellings of a value have in common."""
    folded = fold(value)
    signs = "".join(filter(str.isalnum, folded))
    digits = sum(map(str.isdecimal, signs))
    grouped = digits >= _NUMBER and 2 * digits > len(signs)
    if grouped and not _GROUPED_ON_PURPOSE.fullmatch(folded):
        return signs
    return folded.removesuffix(_POSSESSIVE)


def _parted(words: str) -> tuple[str, str]:
    """Return words and the ``'s`` behind them, as it is written there, or nothing."""
    stem = words[:-2] if fold(words[-2:]) == _POSSESSIVE else words
    return stem, words[len(stem) :]


def _tagged(proposal: str, digest: bytes) -> str:
    tag = "".join(_LETTERS[byte % len(_LETTERS)] for byte in digest[:_TAG])
    inside = proposal.endswith("]")
    return f"{proposal[:-1]} {tag}]" if inside else f"{proposal} ({tag})"
