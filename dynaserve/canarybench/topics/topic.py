"""What a topic of the corpus consists of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Topic:
    """A grammar of conversations: one situation, some details, one request.

    Every part is a tuple of sentences; ``{name}`` in one stands for a word out of
    ``words[name]``.
    """

    name: str
    words: Mapping[str, tuple[str, ...]]
    situations: tuple[str, ...]
    details: tuple[str, ...]
    requests: tuple[str, ...]
