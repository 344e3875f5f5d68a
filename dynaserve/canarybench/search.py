"""Run the matcher over a whole release, and say where it found what without repeating it.

Every leaf is searched, and then values and keys each by themselves, so that what was split over
several fields, or over several names, is found too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from dynaserve.canarybench.matching import Matcher, Tier
from dynaserve.canarybench.serialized import Leaf, Path, Serialized

_PLAIN_NAME = re.compile(r"[A-Za-z0-9_.-]{1,40}")


@dataclass(frozen=True, slots=True)
class Find:
    """One match: from ``start`` in the first of ``leaves`` up to ``end`` in the last of them."""

    canary_id: str
    tier: Tier
    leaves: tuple[Leaf, ...]
    start: int
    end: int

    @property
    def first(self) -> Leaf:
        """The leaf in which it begins."""
        return self.leaves[0]

    @property
    def last(self) -> Leaf:
        """The leaf in which it ends."""
        return self.leaves[-1]

    def stretches(self) -> Iterator[tuple[Leaf, int, int]]:
        """Give what it covers of each leaf."""
        for place, leaf in enumerate(self.leaves):
            is_last = place == len(self.leaves) - 1
            yield leaf, 0 if place else self.start, self.end if is_last else len(leaf.text)


def search(matcher: Matcher, release: Serialized) -> list[Find]:
    """Return what the matcher finds in a release, each once."""
    finds = dict.fromkeys(search_leaves(matcher, release.leaves))
    keys = [leaf for leaf in release.leaves if leaf.is_key]
    values = [leaf for leaf in release.leaves if not leaf.is_key]
    for alone in (values, keys) if keys else ():
        split = [find for find in search_leaves(matcher, alone) if len(find.leaves) > 1]
        _drop_parts(finds, split)
        finds.update(dict.fromkeys(split))
    return list(finds)


def search_leaves(matcher: Matcher, leaves: Sequence[Leaf]) -> Iterator[Find]:
    """Give what the matcher finds in leaves, and across neighbouring ones."""
    for match in matcher.find_in_fields([leaf.text for leaf in leaves]):
        spanned = tuple(leaves[match.first : match.last + 1])
        yield Find(match.canary_id, match.tier, spanned, match.start, match.end)


def _drop_parts(finds: dict[Find, None], split: Iterable[Find]) -> None:
    """Drop the less sure finds that are a part of a value that was found whole, over leaves."""
    parts = {(find.canary_id, leaf): find.tier.rank for find in split for leaf in find.leaves}
    for find in list(finds):
        if len(find.leaves) == 1:
            whole = parts.get((find.canary_id, find.first))
            if whole is not None and whole < find.tier.rank:
                del finds[find]


class Places:
    """Names places of a release: JSON pointers, or line:column of a text.

    A key may be the leak itself. One in which something was found, or that is no plain name, is
    shown as ``*`` and its position.
    """

    def __init__(self, release: Serialized, finds: Iterable[Find]) -> None:
        self._is_text = release.is_text
        self._hidden = {leaf.text for find in finds for leaf in find.leaves}

    def of(self, find: Find) -> str:
        """Return where a find stands."""
        if position := self.in_text(find):
            return f"{position[0]}:{position[1]}"
        first, last = self._of_leaf(find.first), self._of_leaf(find.last)
        return first if first == last else f"{first} to {last}"

    def in_text(self, find: Find) -> tuple[int, int] | None:
        """Return line and column of a find, both from 1, in code points; None in a document."""
        return (find.first.path[0].position + 1, find.start + 1) if self._is_text else None

    def pointer(self, path: Path) -> str:
        """Return the JSON pointer (RFC 6901) of a path."""
        return "".join(
            f"/{step.position if step.name is None else self.name(step.name, step.position)}"
            for step in path
        )

    def name(self, name: str, position: int) -> str:
        """Return a name that may be shown."""
        plain = _PLAIN_NAME.fullmatch(name) and name not in self._hidden
        return name if plain else f"*{position}"

    def _of_leaf(self, leaf: Leaf) -> str:
        return self.pointer(leaf.path) + (" (key)" if leaf.is_key else "")
