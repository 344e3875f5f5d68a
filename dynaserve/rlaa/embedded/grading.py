"""Grades a finding by the words before it: stated, denied, imagined, or said of somebody else.

The engine's Arbitrator. It looks at the sentence up to the finding only, a bounded stretch, so
that time stays linear.
"""

from __future__ import annotations

import re

from dynaserve.rlaa.embedded.finding import Finding
from dynaserve.rlaa.records import IDENTIFIER, Level

_SENTENCE = 120
"""Code points before a finding that are looked at."""
_BREAK = re.compile(r"(?<!\bMr)(?<!\bMs)(?<!\bDr)(?<!\bMrs)[.!?\n;]\s")
_DENIED = re.compile(
    r"\b(?:(?:not|never)(?! (?:only|just|merely|simply)\b)|neither|nor|no longer|hardly|barely"
    r"|cannot|nobody|none|instead of|rather than|by no means|anything but"
    r"|(?:is|are|was|were|do|does|did|have|has|had|wo|ca|would|could|should|ai)n'?t"
    r"|(?:as )?if (?:i|you|we) (?:were|was)|i wish|imagine|pretend\w*|supposing)\b"
    r"(?:(?!\b(?:but|and i|and we|because|though|so i)\b)[^,;:]){0,25}$",
    re.IGNORECASE,
)
"""A denial reaches up to the next clause: "not married, but I'm a nurse"."""
_NEW_CLAUSE = re.compile(r"\b(?:and|but|so|because|though|while|yet)\s$", re.IGNORECASE)
_PRESUMED = re.compile(r"(?:my|our)\b", re.IGNORECASE)
"""Who does not like "my wife" has one all the same."""
_HAVING = re.compile(
    r"\b(?:have|had|has|got|get|finish\w*|is|isn't|it's|was|wasn't|be|not|if|wish|imagine)\s$",
    re.IGNORECASE,
)
_KIN = (
    r"(?:mom|mum|mother|dad|father|sister|brother|son|daughter|aunt|uncle|cousin|grand\w{2,8}"
    r"|friend|buddy|boss|neighbou?r|colleague|co-?worker|roommate|niece|nephew|parents|kids?"
    r"|teacher|landlord|character|hero(?:ine)?|wife|husband|boyfriend|girlfriend|partner)"
)
_OTHER = re.compile(
    rf"\b(?P<who>(?:my|our|your|his|her|their|the|a) (?:\w{{2,12}} )?{_KIN}|he|she|they|you"
    r"|(?:mr|mrs|ms|miss|dr)\.? \w{2,30})\b(?!'s)",
    re.IGNORECASE,
)
_SELF = re.compile(r"\b(?:i|i'\w{1,2}|im|ive|me|my|mine|we|we're|we've|us|our)\b", re.IGNORECASE)
_QUOTED = re.compile(
    r"\b(?:said|says|say|told|asked|wrote|replied|shouted|yelled"
    r"|goes)\b[^\"]{0,25}\"[^\"]{0,60}$",
    re.IGNORECASE,
)


def grade(text: str, finding: Finding) -> tuple[Level, str]:
    """Return the level of a finding in its text (after ``wording.plain``), and why.

    A direct identifier names somebody whoever it belongs to: it keeps its level.
    """
    if finding.attribute == IDENTIFIER:
        return finding.level, "names a person directly"
    if finding.level is Level.LOW:
        return Level.LOW, "weak, or general already"
    before, said = clause(text, finding.start), text[finding.start : finding.end]
    lowered = _lowered(before, said)
    if lowered:
        return lowered
    after = text[finding.end : finding.end + _SENTENCE]
    if finding.level is Level.HIGH:
        return Level.HIGH, "stated about the writer"
    if any(_SELF.search(words) for words in (before, said, after)):
        return Level.MED, "implied about the writer"
    return Level.LOW, "not about the writer"


def _lowered(before: str, said: str) -> tuple[Level, str] | None:
    own_clause = _SELF.match(said) and _NEW_CLAUSE.search(before)
    presumed = _PRESUMED.match(said) and not _HAVING.search(before)
    if _DENIED.search(before) and not (own_clause or presumed):
        return Level.INVALID, "denied or imagined"
    if _QUOTED.search(before):
        return Level.LOW, "somebody else's words"
    if not _SELF.match(said) and _is_of_others(before):
        return Level.LOW, "about somebody else"
    return None


def _is_of_others(before: str) -> bool:
    """Whether the last person named in a clause is somebody else than the writer."""
    others = list(_OTHER.finditer(before))
    return bool(others) and not _SELF.search(before, others[-1].end("who"))


def clause(text: str, at: int) -> str:
    """Return the sentence that leads to a place, at most `_SENTENCE` code points of it."""
    before = text[max(at - _SENTENCE, 0) : at]
    ends = [match.end() for match in _BREAK.finditer(before)]
    return before[ends[-1] :] if ends else before
