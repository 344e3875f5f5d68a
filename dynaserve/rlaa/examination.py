"""What a text gives away: the attacker finds leaks, the arbitrator grades those that are real.

A leak whose evidence does not stand in the text is INVALID, and no model is asked about it. A
reply counts only as a whole: one part of it that breaks the contract fails the run.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from dynaserve.redaction import find_personal
from dynaserve.rlaa.asking import asking, require
from dynaserve.rlaa.chunks import Chunks
from dynaserve.rlaa.llm.cancellation import check_cancelled
from dynaserve.rlaa.records import ATTRIBUTES, IDENTIFIER, Judgement, Leak, Level, Span
from dynaserve.rlaa.roles import Arbitrator, Attacker
from dynaserve.rlaa.spans import Folded, fold, parts

_ATTACKER, _ARBITRATOR = "attacker", "arbitrator"
_LEAST_PART, _MOST_WORDS = 2, 20
"""Letters and digits that evidence within words needs; words that it may be a part of."""


def severity(judged: Judgement) -> tuple[int, int]:
    """Return a sort key: what matters most comes first."""
    return -judged.level.gravity, -judged.leak.certainty


def examine(
    text: str,
    attributes: Collection[str],
    attacker: Attacker,
    arbitrator: Arbitrator,
    chunks: Chunks,
) -> tuple[Judgement, ...]:
    """Return all leaks of these attributes, judged, with their spans in the text.

    Raises
    ------
    RunFailedError
        If a role raises, or answers with anything but what its protocol says.
    TooLongError, TooMuchError
        If a sentence alone is too long, or too much, for a role.
    """

    def ask(piece: Span) -> list[Judgement]:
        part = text[piece.start : piece.end]
        return _judged(part, _leaks(part, attributes, attacker), arbitrator)

    # Rules that read a piece only would not know an identifier that is cut in two.
    whole = [Span(found.start, found.end) for found in find_personal(text)]
    parts = chunks.each(text, ask, whole=whole)
    return located(text, (judged for part in parts for judged in part))


def located(text: str, judgements: Iterable[Judgement]) -> tuple[Judgement, ...]:
    """Return judgements with the spans of their evidence in a text.

    Those of one attribute that rest on the same spans become one, the gravest.
    """
    folded = Folded(text)
    distinct: dict[tuple[str, object], Judgement] = {}
    for judged in judgements:
        check_cancelled()
        spans = folded.mentions(judged.leak.evidence)
        key = (judged.leak.attribute, spans or fold(judged.leak.evidence))
        here = replace(judged, spans=spans)
        distinct[key] = min(distinct.get(key, here), here, key=severity)
    return tuple(distinct.values())


def _leaks(text: str, attributes: Collection[str], attacker: Attacker) -> list[Leak]:
    with asking(_ATTACKER):
        reply = attacker.attack(text, tuple(attributes))
        require(isinstance(reply, (list, tuple)), _ATTACKER, "answered with no list of leaks")
        for leak in reply:
            _require_leak(leak)
    # What was not asked for is no fault, but nobody wants to know.
    return [leak for leak in dict.fromkeys(reply) if leak.attribute in attributes]


def _require_leak(leak: object) -> None:
    require(isinstance(leak, Leak), _ATTACKER, "a leak of an unexpected type")
    assert isinstance(leak, Leak)  # noqa: S101 - for the type checker
    texts = (leak.attribute, leak.guess, leak.evidence, leak.reasoning)
    require(all(type(text) is str for text in texts), _ATTACKER, "a leak that is no text")
    known = leak.attribute in {*ATTRIBUTES, IDENTIFIER}
    require(known, _ATTACKER, "a leak of an attribute that does not exist")
    sure = type(leak.certainty) is int and 1 <= leak.certainty <= 5
    require(sure, _ATTACKER, "a certainty that is not 1 to 5")


def _judged(text: str, leaks: Sequence[Leak], arbitrator: Arbitrator) -> list[Judgement]:
    folded = Folded(text)
    quoted = list(dict.fromkeys(each for leak in leaks for each in _quoted(folded, leak)))
    standing = [leak for leak in quoted if folded.mentions(leak.evidence)]
    grades = dict(zip(standing, _grades(text, standing, arbitrator), strict=True))
    return [grades.get(leak) or _ghost(leak) for leak in quoted]


def _quoted(folded: Folded, leak: Leak) -> Iterator[Leak]:
    """Yield the leak as often as its evidence has parts that an ellipsis joins.

    Each part has to stand in the text for itself, and is graded for itself.
    """
    joined = () if folded.mentions(leak.evidence) else parts(leak.evidence)
    if len(joined) < 2:
        yield from _completed(folded, leak)
    else:
        for part in joined:
            yield from _completed(folded, replace(leak, evidence=part))


def _completed(folded: Folded, leak: Leak) -> list[Leak]:
    """Return the leak once for each word that its evidence is only a part of, with that word.

    ``25`` of ``25M`` stands in the text, and so does a quotation cut off within a word: neither
    may count as made up.
    """
    if folded.mentions(leak.evidence) or sum(map(str.isalnum, leak.evidence)) < _LEAST_PART:
        return [leak]
    words = folded.words_around(leak.evidence)
    require(len(words) <= _MOST_WORDS, _ATTACKER, "evidence that is a part of too many words")
    return [replace(leak, evidence=word) for word in words] or [leak]


def _ghost(leak: Leak) -> Judgement:
    return Judgement(leak, Level.INVALID, "the evidence does not stand in the text", validity=0.0)


def _grades(text: str, leaks: Sequence[Leak], arbitrator: Arbitrator) -> Sequence[Judgement]:
    if not leaks:
        return ()
    with asking(_ARBITRATOR):
        reply = arbitrator.judge(text, tuple(leaks))
        whole = isinstance(reply, (list, tuple)) and len(reply) == len(leaks)
        require(whole, _ARBITRATOR, "did not answer with one judgement for each leak")
        for leak, judged in zip(leaks, reply, strict=True):
            _require_judgement(judged, leak)
    return reply


def _require_judgement(judged: object, leak: Leak) -> None:
    require(isinstance(judged, Judgement), _ARBITRATOR, "a judgement of an unexpected type")
    assert isinstance(judged, Judgement)  # noqa: S101 - for the type checker
    require(judged.leak == leak, _ARBITRATOR, "judged another leak than it was asked about")
    require(isinstance(judged.level, Level), _ARBITRATOR, "a grade that does not exist")
    require(type(judged.reason) is str, _ARBITRATOR, "a reason that is no text")
    number = isinstance(judged.validity, (int, float)) and not isinstance(judged.validity, bool)
    probable = number and math.isfinite(judged.validity) and 0 <= judged.validity <= 1
    require(probable, _ARBITRATOR, "a validity that is no probability")
