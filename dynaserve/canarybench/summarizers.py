"""What a cluster's published text says: keywords, exemplars, or whatever a callable makes of it.

Summarizers get texts that are already redacted if redaction is on, and what they return is
redacted again. None of them may keep a text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

KEYWORDS = 8
EXEMPLARS = 3
"""Per cluster; about what the figures of the CanaryBench paper fit."""
_WORD = r"(?u)\b\w{3,}\b"
_LABEL = re.compile(r"\[[A-Z]+\]")


@dataclass(frozen=True)
class Group:
    """What a summarizer knows of one cluster."""

    texts: tuple[str, ...] = field(repr=False)
    """Its conversations, those first that say most of what the cluster is about."""
    keywords: tuple[str, ...] = ()
    """Its typical words, best first."""


Summarizer = Callable[[Group], str]
"""One cluster to its summary: any function will do, such as one that asks a local LLM."""


def keyword_summary(group: Group) -> str:
    """Return a sentence made of the cluster's keywords alone.

    Examples
    --------
    >>> keyword_summary(Group(texts=("...",), keywords=("parcel", "courier", "refund")))
    'Conversations about parcel, courier, refund.'
    """
    return f"Conversations about {', '.join(group.keywords) or 'various things'}."


@dataclass(frozen=True)
class Exemplars:
    r"""Quotes the texts that say most of what a cluster is about: leaky without redaction.

    Examples
    --------
    >>> Exemplars(count=2)(Group(texts=("Is it late?", "Where is it?", "Hi.")))
    'Is it late?\nWhere is it?'
    """

    count: int = EXEMPLARS

    def __post_init__(self) -> None:
        if self.count < 1:
            raise ValueError(f"count: must be at least 1, got {self.count}")

    def __call__(self, group: Group) -> str:
        """Return the first texts of the group, a line each."""
        return "\n".join(group.texts[: self.count])


SUMMARIZERS: Mapping[str, Summarizer] = {"keyword": keyword_summary, "extractive": Exemplars()}
"""The paper's two, by name."""


def class_keywords(
    groups: Sequence[Sequence[str]],
    users: Sequence[Sequence[str]],
    *,
    k_min: int,
    count: int = KEYWORDS,
) -> list[tuple[str, ...]]:
    """Return the typical words of each group of texts by class-based TF-IDF, best first.

    A word's weight in a group is its share of the group's words times log(1 + A / f), with f its
    occurrences in all groups and A the average number of words of a group (Grootendorst 2022,
    BERTopic). Words that fewer than ``k_min`` users said in all do not count: they would say
    something of a few people.

    Parameters
    ----------
    groups
        Texts of each group.
    users
        Who wrote each of them.
    k_min
        Fewest distinct users of a word.
    count
        Most words per group.
    """
    from sklearn.feature_extraction.text import CountVectorizer  # noqa: PLC0415 - canary extra

    texts = [_LABEL.sub(" ", text) for group in groups for text in group]
    vectorizer = CountVectorizer(stop_words="english", token_pattern=_WORD)
    analyze = vectorizer.build_analyzer()
    if not any(map(analyze, texts)):
        return [()] * len(groups)
    counts = vectorizer.fit_transform(texts)
    group_of = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    user_of = np.unique([user for group in users for user in group], return_inverse=True)[1]
    allowed = np.asarray((_summed(counts, user_of) > 0).sum(axis=0)).ravel() >= k_min
    per_group = _summed(counts, group_of)[:, allowed]
    words = vectorizer.get_feature_names_out()[allowed]
    total = np.asarray(per_group.sum(axis=0)).ravel()
    rarity = np.log1p(per_group.sum() / len(groups) / total)
    return [_best(per_group[[index]], rarity, words, count) for index in range(len(groups))]


def _summed(counts: Any, label_of: NDArray[np.intp]) -> Any:
    """Return the sums of the rows of each label, sparse (labels, words)."""
    from scipy.sparse import csr_matrix  # noqa: PLC0415 - the canary extra

    rows = np.arange(len(label_of))
    return csr_matrix((np.ones(len(rows)), (label_of, rows))) @ counts


def _best(row: Any, rarity: NDArray[np.float64], words: Any, count: int) -> tuple[str, ...]:
    weights = row.data * rarity[row.indices]
    best = np.lexsort((row.indices, -weights))[:count]
    return tuple(str(words[row.indices[at]]) for at in best)
