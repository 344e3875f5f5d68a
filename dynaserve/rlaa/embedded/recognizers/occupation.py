"""What the writer does for a living, said outright or by the things of the trade."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from dynaserve.rlaa.embedded.finding import Finding
from dynaserve.rlaa.embedded.recognizers.phrases import DENIAL, Phrase, Phrases
from dynaserve.rlaa.embedded.wording import lowered
from dynaserve.rlaa.embedded.work import JOBS, TRADES, kind_of
from dynaserve.rlaa.records import Level

_JOB = "|".join(sorted((re.escape(job) for job in JOBS), key=len, reverse=True)).replace(
    r"\ ", r"[ -]"
)
_ADJECTIVES = (
    rf"(?:(?!{DENIAL}|(?:fan|friend|lover|son|daughter|bit|lot)\b)"
    r"[a-z\d][\w/'-]{1,16},?\s{1,2}){0,3}?"
)
_AS = (
    r"(?P<lead>(?:(?:i'm|i am|im|i was|i've been|i used to be|i became"
    r"|i'd become|being|as|becoming|become|work(?:ed|ing)? as|job as|career as"
    r"|gig as|life as|days as"
    r"|employed as|trained as|qualified as|been|me|life of|living as|work of"
    r"|role as|position as|stint as|hours as|shifts? as|fellow)"
    r"(?:\s(?:just|only|actually|also|currently|now|still|basically|both"
    r"|technically))?)|my (?:day )?job is|day job:|profession:|occupation:"
    r"|job:|speaking as)"
)
_CALLED = re.compile(
    rf"(?<!\w){_AS}\s(?P<what>(?:(?P<article>an?|the|your|one of the"
    rf"|our)\s)?{_ADJECTIVES}(?P<job>{_JOB})s?)(?!\w)"
)
_NEED_ARTICLE = {"been", "me", "being", "as"}
_TRADE_CUE = re.compile(
    r"\s(?:by (?:trade|profession|day)|for a living|here(?=[!,.;:])|myself"
    r"|turned \w{3,15})(?!\w)",
    re.IGNORECASE,
)
_LIFE = re.compile(
    r"(?<!\w)(?P<lead>(?:my|this|the|our|living the|a) (?:current |whole |old "
    r"|new |little |day |busy )?)"
    rf"(?P<what>(?P<job>{_JOB})'?s? (?:job|gigs?|life|career|role|position"
    r"|duties|lifestyle|salary|schedule))(?!\w)"
)
_BEFORE_CUE = re.compile(
    r"(?<!\w)(?P<what>(?:(?P<article>an?)\s)?(?:(?:part-time|full-time"
    r"|freelance|professional|junior"
    rf"|senior|retired|former|ex)[ -]){{0,2}}(?P<job>{_JOB}))$",
    re.IGNORECASE,
)
_LONGEST_JOB = 50
_PHRASES = Phrases(
    "occupation",
    [Phrase(pattern, job, instead, Level(level)) for pattern, job, instead, level in TRADES],
)


def occupation(text: str) -> Iterator[Finding]:
    """Find the writer's occupation."""
    for hit in _CALLED.finditer(lowered(text)):
        if hit["lead"] not in _NEED_ARTICLE or hit["article"]:
            yield _found(hit, text[hit.start() : hit.start("what")])
    for hit in _LIFE.finditer(lowered(text)):
        job = re.sub(r"[\s-]+", " ", hit["job"])
        instead = f"{text[hit.start() : hit.start('what')]}work"
        yield Finding(*hit.span(), "occupation", job, instead, Level.MED)
    for cue in _TRADE_CUE.finditer(text):
        before = text[max(cue.start() - _LONGEST_JOB, 0) : cue.start()]
        if match := _BEFORE_CUE.search(before):
            yield replace(
                _found(match, ""), start=cue.start() - len(before) + match.start(), end=cue.end()
            )
    yield from _PHRASES.find(text)


def _found(match: re.Match[str], lead: str) -> Finding:
    job = re.sub(r"[\s-]+", " ", match["job"].lower())
    who = "somebody" if match["article"] or not lead else "people"
    instead = f"{lead}{who} {kind_of(job)}"
    return Finding(match.start(), match.end("what"), "occupation", job, instead, Level.HIGH)
