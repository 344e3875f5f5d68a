"""JSON objects in which every key stands once.

Parsers keep the last of several and say nothing, so which one a reader means is a guess: a text
that was never looked at could pass for the one that was. Errors hold no key: it could be anything.
"""

from __future__ import annotations

from typing import Any


class TwiceError(Exception):
    """A key stands twice in one object; ``key`` says which."""

    def __init__(self, key: str) -> None:
        super().__init__("a key stands twice in one object")
        self.key = key


def single_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object's members as a dictionary: an ``object_pairs_hook`` of `json.loads`.

    Raises
    ------
    TwiceError
        Of two pairs with the same key.

    Examples
    --------
    >>> import json
    >>> json.loads('{"text": "a", "text": "b"}', object_pairs_hook=single_keys)
    Traceback (most recent call last):
    dynaserve.serving.single_keys.TwiceError: a key stands twice in one object
    """
    members: dict[str, Any] = {}
    for key, value in pairs:
        if key in members:
            raise TwiceError(key)
        members[key] = value
    return members
