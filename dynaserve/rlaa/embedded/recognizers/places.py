"""Where somebody lives, and where somebody is from, by the words around the names of places."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dynaserve.rlaa.embedded.finding import Finding
from dynaserve.rlaa.embedded.gazetteer import Mention, is_ordinary, mentions
from dynaserve.rlaa.embedded.grading import clause
from dynaserve.rlaa.records import Level

LOCATION, BIRTH_PLACE = "location", "birth_place"

_AFTER = (
    r"(?:,? (?:a|an|the|my|our|good|dear|sunny|rainy|cold|old|ol'|beautiful"
    r"|downtown|central|north|south|east|west|northern|southern|eastern"
    r"|western|upstate|suburban|rural|city|town|of|in)){0,4} ?"
)
_BORN = re.compile(
    r"(?:\bborn\b(?:,? (?:and|n|&|'n') (?:raised|bred))?|\bgr[eo]w(?:n|ing)? up|\braised"
    r"|\bbrought up|\bbred"
    r"|\bchildhood(?: days| memories| summers)?|\boriginally|\bhail|\bhailing|\bnative|\broots"
    r"|\bmy hometown(?: is|,| of)?|\bwhere i(?:'m| am)|\bi(?:'m"
    r"| am)(?: originally)?|\bi(?:'m| am) an? (?:[\w'-]{1,15} ){0,3}(?:guy|man"
    r"|girl|woman|boy|kid)|\bi come"
    r"|\bcoming|\bwe come|\bmy family (?:is|comes)|\bimmigrated|\bemigrated"
    r"|\bkid|\bwhen i was (?:young|little))"
    r"(?: here| there| back)?(?: (?:from|in|of|to|near|around|outside)|,)" + _AFTER + "$",
    re.IGNORECASE,
)
_BACK = re.compile(
    r"\b(?:back(?: home)?|home|homesick for|miss(?:ing)?|home (?:town|city|country) of)"
    r"(?: (?:in|to|at))?" + _AFTER + "$",
    re.IGNORECASE,
)
_LIVES = re.compile(
    r"\b(?:(?:i|we)(?:'m|'re|'ve| am| are| have)?(?: (?:currently|now|still"
    r"|been|just|only|also|actually|happily)){0,2}"
    r" (?:live|lived|living|reside|work|working|based|stay|staying|settled"
    r"|moved|relocated|located|studying|study)"
    r"(?: (?:here|right|out|over|up|down|smack|just|back)){0,2} (?:in|near"
    r"|outside|around|to|at|by|close to)"
    r"|(?:i'm|i am|im|we're|we are)(?: (?:currently|now|here|out|over|up|down"
    r"|based|living)){0,3} (?:in|near|outside)"
    r"|(?:i'm|i am|we're|i work as|being|as) an? (?:[\w'-]{1,15} ){1,4}(?:in|near)"
    r"|(?:^|and |but |, )(?:live|reside|work) in"
    r"|based (?:in|out of)|living (?:here |up here |over here |down here "
    r"|out here )?(?:in|near)|life (?:here )?(?:in|as)"
    r"|(?:here|home|place|apartment|flat|house|neighbou?rhood|office|job"
    r"|commute|shop|city)(?: here)? (?:in|is|near|of)"
    r"|(?:greetings|cheers|hi|hello|hey|regards|love|over|all the way) from"
    r"|my (?:city|town)(?:,| is| of)?"
    r"|around here in|(?:corner|neck|part|side) of the (?:world|woods|globe"
    r"|country|pond),?|local(?:s)? (?:in|of|from)|fellow|moved to"
    r"|relocat\w+ to|settled in)" + _AFTER + "$",
    re.IGNORECASE,
)
_PREPOSITION = re.compile(
    r"\b(?:in|near|around|outside|across|of|at|from|through|downtown|central|by|on|to|here,?)"
    + _AFTER
    + "$",
    re.IGNORECASE,
)
_ASIDE = re.compile(
    # travel, and what people ask assistants: neither says where somebody lives
    r"\b(?:trip|travel\w*|visit\w*|vacation\w*|holiday\w*|fl(?:y|ew|ying|ight"
    r"|ights)|tour\w*|been to"
    r"|went|going|go|head(?:ed|ing)?|book\w*|hotels?|weather|time zone|visa"
    r"|set in|film|movie|wish"
    r"|dream\w*|someday|bucket list|honeymoon|transfer|used in|accepted in"
    r"|shipped|tell me|show me"
    r"|find|need|want|how (?:long|far|much|many|do|is)|what(?:'s| is| are"
    r"| time)|directions?|tickets?"
    r"|plane|reservations?|restaurants?|spent|bought|charged?|shots?|meals?"
    r"|recipes?|get to|from [\w ]{2,20} to)\b",
    re.IGNORECASE,
)
_OWN = re.compile(
    r"(?:-born|(?:'s)? (?:roots|born|native|kid|boy|girl|boi|accent|heritage"
    r"|upbringing|origins?|childhood))\b",
    re.IGNORECASE,
)
_SELF = re.compile(r"\b(?:i|i'\w{1,2}|im|my|mine|we|we're|we've|us|our|here|me)\b", re.IGNORECASE)
_WE_ARE = re.compile(
    r"(?:\b(?:i'm|i am|im|we're|we are|being|am)(?: (?:a|an|the|proud|half"
    r"|born|originally|just|true|part)){0,3}"
    r"|\b(?:as|as a|as an|fellow|us|we|proud|typical|good ol'|good old)) ?$",
    re.IGNORECASE,
)
_LANGUAGE = re.compile(r" (?:food|cuisine|restaurant|movie|film|class|language|teacher|lit)", re.I)
_FAITH = re.compile(
    r"[ -](?:catholic|protestant|orthodox|christian|jew(?:ish)?|muslim|hindu|sikh|buddhist)\b", re.I
)
"""Goes with a people: nobody is "from northern Europe Catholic"."""
_THING = re.compile(
    r"[ -](?:(?i:(?:style )?(?:cheesecake|pizza|steak|strip|chowder|cream pie|bagels?)|terriers?"
    r"|wall|marathon|stock exchange)|Times|Post|Globe|Herald)(?!\w)"
)
"""What is named after a place, wherever it is."""
_WINDOW = 80
_ARTICLE = re.compile(r"\ban? $", re.IGNORECASE)
_BEING = re.compile(r"(?:'m|\bam|'re|\bare|\bbeing|\bborn|\bhalf)\s", re.IGNORECASE)
_IN = re.compile(r"\b(?:in|from|near|to) $", re.IGNORECASE)
_THE = re.compile(r"\bthe $", re.IGNORECASE)
_LEAD = re.compile(r"(?:\b[\w']{1,20}[ ,]{1,2})?(?:the )?$", re.IGNORECASE)


def places(text: str) -> Iterator[Finding]:
    """Find places and peoples; how sure depends on the words that lead to them."""
    for mention in mentions(text):
        before = clause(text, mention.start)[-_WINDOW:]
        yield from (
            _people(text, mention, before)
            if mention.place.kind == "people"
            else _place(text, mention, before)
        )


def _is_meant(mention: Mention, name: str, before: str, *, cued: bool) -> bool:
    """Whether a name stands for its place.

    Well-known ones do anywhere, others after a preposition; a word that is also a name only where
    the words before it say that somebody lives there or is from there.
    """
    country = mention.place.kind == "country"
    if not is_ordinary(name):
        return cued or mention.place.known or (name[0].isupper() and _follows(_PREPOSITION, before))
    return cued and (
        country or (name[0].isupper() and (mention.place.known or _follows(_IN, before)))
    )


def _follows(words: re.Pattern[str], before: str) -> bool:
    return words.search(before) is not None


def _lead(name: str, before: str) -> str:
    """Return the words that belong to the evidence, with an article that has to go.

    An ordinary word names a place only after its preposition, so that is part of the evidence:
    every other "nice" of a text that says "in Nice" stays.
    """
    lead = (_LEAD if is_ordinary(name) else _THE).search(before)
    return lead.group() if lead else ""


def _people(text: str, mention: Mention, before: str) -> Iterator[Finding]:
    if not _WE_ARE.search(before) or _LANGUAGE.match(text, mention.end):
        return
    # With its article, which may have to change.
    article = _ARTICLE.search(before)
    start = article.start() if article else len(before)
    region = mention.place.region.removeprefix("the ")
    if article:
        instead = f"somebody from {region}"
    else:
        instead = f"from {region}" if _BEING.search(before) else f"people from {region}"
    start = mention.start - (len(before) - start)
    faith = _FAITH.match(text, mention.end)
    end = faith.end() if faith else mention.end
    for attribute in (BIRTH_PLACE, LOCATION):
        level = Level.HIGH if attribute == BIRTH_PLACE else Level.LOW
        yield Finding(start, end, attribute, mention.place.name, instead, level)


def _place(text: str, mention: Mention, before: str) -> Iterator[Finding]:
    name, place = text[mention.start : mention.end], mention.place
    after = text[mention.end : mention.end + _WINDOW]
    born = bool(_BORN.search(before) or _OWN.match(after))
    lives = _LIVES.search(before)
    if _THING.match(after) and not (born or lives):
        return
    if not _is_meant(mention, name, before, cued=born or lives is not None):
        return
    lead = _lead(name, before)
    instead = _THE.sub("", lead) + place.region
    near = place.kind != "landmark" or _follows(_PREPOSITION, before)
    personal = near and (_SELF.search(before) or _SELF.search(after))
    if born:
        readings = {BIRTH_PLACE: Level.HIGH}
    elif lives and not _ASIDE.search(before[: lives.start()]):
        readings = {LOCATION: Level.HIGH}
    elif _BACK.search(before):
        readings = {BIRTH_PLACE: Level.MED}
    elif personal and place.known and not _ASIDE.search(before):
        readings = {LOCATION: Level.MED, BIRTH_PLACE: Level.LOW}
    else:
        readings = (
            {LOCATION: Level.LOW, BIRTH_PLACE: Level.LOW} if personal else {LOCATION: Level.LOW}
        )
    for attribute, level in readings.items():
        start = mention.start - len(lead)
        yield Finding(start, mention.end, attribute, place.name, instead, level)
