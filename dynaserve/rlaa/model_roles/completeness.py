"""Whether a rewrite is the whole text, and nothing but the text.

A model that writes a text anew may leave out half of it, or talk about what it did. Neither is
seen by an attacker, who looks for what is given away.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from dynaserve.rlaa.chunks import sentences
from dynaserve.rlaa.records import Span
from dynaserve.rlaa.roles import RoleError
from dynaserve.rlaa.spans import merged

_SENTENCE = 3
"""Words of a sentence: fewer are a heading or a greeting."""
_ABBREVIATION = re.compile(r"\b(?:dr|mrs?|ms|st|prof|[js]r|vs|e\.g|i\.e)\.", re.IGNORECASE)
"""It ends no sentence, whatever it looks like."""
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|\w+")
"""Each sign of a script without blanks counts as one."""
_TEXT = r"(?:document|text|version|rewrite|rewriting|rewording|paraphrase)"
_MADE = r"(?:rewritten|reworded|revised|edited|modified|updated|anonymi[sz]ed|generali[sz]ed)"
_LEAD = re.compile(
    r"\W*(?:(?:sure|certainly|of course|okay|ok|absolutely)\b\W*)?"
    r"(?:(?:here(?:['’]?s| is)|below is|this is|the following is)\b"
    rf"[^.!?:\n]{{0,60}}\b{_TEXT}\b[^.!?:\n]{{0,60}}[.!:\n]"
    rf"|(?:the |my )?{_MADE} {_TEXT}\W*[:\n])",
    re.IGNORECASE,
)
_REMARK = re.compile(
    r"(?:^|[.!?…:)\]\"'”*_-]\s+|\(\s*|\n\s*)[*_\[(]*"
    r"(?:(?:please )?note|n\.?b\.?|explanation|disclaimer|remarks?|changes(?: made)?)"
    r"\b[*_]*(?: that\b|[^.!?:\n]{0,20}:)"
    r"|\b(?:anonymi[sz]ed|generali[sz]ed|redacted|rewritten|reworded)\b",
    re.IGNORECASE,
)
"""What a model says of its own work; whoever wrote the text seldom has words for that."""


def require_whole(rewritten: str, text: str, evidence: Iterable[Span]) -> None:
    """Refuse a rewrite that lost sentences of the text.

    More general words are about as long as those they stand for, so that a rewrite has at least
    half as many characters as the text has beside the evidence, which may shrink to a word; blanks
    do not count. Sentences may be joined: of three at least two are left.

    Raises
    ------
    RoleError
        Without words of either.
    """
    shown = sum(_size(text[span.start : span.end]) for span in merged(evidence))
    if 2 * _size(rewritten) < _size(text) - shown or 3 * _count(rewritten) < 2 * _count(text):
        raise RoleError("a rewrite that leaves out much of the text")


def require_no_remark(rewritten: str, text: str) -> None:
    """Refuse a rewrite that begins or goes on with words about itself which the text has not.

    Raises
    ------
    RoleError
        Without words of either.
    """
    begins = _LEAD.match(rewritten) and not _LEAD.match(text)
    if begins or len(_REMARK.findall(rewritten)) > len(_REMARK.findall(text)):
        raise RoleError("a rewrite with a remark of the model")


def _size(text: str) -> int:
    return sum(not character.isspace() for character in text)


def _count(text: str) -> int:
    text = _ABBREVIATION.sub("x", text)
    parts = (text[span.start : span.end] for span in sentences(text))
    return sum(len(_WORD.findall(part)) >= _SENTENCE for part in parts)
