"""Ways to reach somebody in words: links, street addresses."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dynaserve.redaction.mail import TLD
from dynaserve.redaction.span import Span

_URL = re.compile(
    r"(?:(?:https?|ftps?|wss?)://|\bwww\."
    # without a scheme: a host and a path
    rf"|(?<![\w@.-])(?:[\w-]{{1,40}}\.){{1,4}}{TLD}(?::\d{{2,5}})?/(?=\w)"
    r"|(?<![\w@.-])(?:t|wa|about)\.me/(?=\w)|(?<![\w@.-])(?:youtu\.be|instagr\.am|linktr\.ee"
    r"|discord\.gg|lnkd\.in)/(?=\w))[^\s<>\"]+",
    re.IGNORECASE,
)

_OWN_SITE = re.compile(
    r"(?i:\b(?:my|our)\s(?:[a-z]{2,20}\s)?(?:(?:web)?site|web\s?page|home\s?page|blog|page|portfolio"
    r"|domain|shop|store)(?:\s(?:is(?:\sat)?|at|here|on))?(?:\s?[:,]?\s|\s\())"
    r"(?P<domain>(?:[A-Za-z0-9-]{1,63}\.){1,3}[a-z]{2,12})(?![\w-])"
)
_HOSTED = re.compile(
    r"(?<![\w@./-])(?P<domain>[\w-]{2,40}\.(?:blogspot\.[a-z]{2,3}(?:\.[a-z]{2})?|wordpress\.com"
    r"|git(?:hub|lab)\.io|tumblr\.com|wixsite\.com|weebly\.com|substack\.com|carrd\.co|bandcamp\.com"
    r"|netlify\.app|vercel\.app|livejournal\.com|neocities\.org|squarespace\.com))(?![\w-])",
    re.IGNORECASE,
)
"""Names at hosts that give each of their users one."""
_STREET_TYPE = (
    r"(?:street|st|avenue|ave|lane|ln|road|rd|drive|dr|court|ct|boulevard|blvd|way|place|pl"
    r"|terrace|square|sq|highway|hwy|parkway|pkwy|close|crescent|row|mews|circle|trail|loop)"
)
_SMALL_WORD = r"(?:a|an|and|at|by|for|from|in|my|of|off|on|or|our|per|the|to|up|with)\b"
_NO_LETTER = r"(?![^\W\d_])"
_IN_NAME = r"[^\s\d,;:!?()\[\]{}<>\"@#/\\]{0,30}"  # of a street, which holds no digits
_PLACE = r"[A-Z][\w'\u2019.-]{1,30}"
_ADDRESS = re.compile(
    r"\d(?<!\d\d)\d{0,5}[A-Za-z]?,?\s{1,3}(?:"
    rf"(?:(?:[A-Z]{_IN_NAME}|\d{{1,3}}(?:st|nd|rd|th)\b)\s{{1,3}}){{1,4}}(?i:{_STREET_TYPE}){_NO_LETTER}\.?"
    rf"|(?:(?!{_SMALL_WORD})[a-z][a-z'.-]{{2,30}}\s{{1,3}}){{1,2}}{_STREET_TYPE}{_NO_LETTER}\.?"
    rf"|(?i:rue|avenue|boulevard|place|via|calle|rua)\s{{1,3}}(?:[\w'\u2019.-]{{1,30}}\s?){{1,4}}"
    r")"
    r"(?:,?\s{1,3}(?i:apt|apartment|unit|suite|ste|floor|fl|no)\b\.?\s{0,2}#?[\w-]{1,8}"
    r"|,?\s{1,3}#\s?[\w-]{1,8})?"
    rf"(?:,\s{{0,3}}{_PLACE}(?:\s{_PLACE}){{0,2}})?"
    r"(?:,?\s{1,3}[A-Z]{2}\b)?"
    r"(?:,?\s{0,3}\d{5}(?:-\d{4})?(?!\d))?"
)
_MEASURE = re.compile(
    r"(?:\d+\s+(?:minute|min|hour|hr|day|week|month|year|mile|km|kilomet(?:er|re)|met(?:er|re)|feet"
    r"|foot|inch|yard|block|gig|gb|tb|mb|star|wheel|lane|way|car|person|dollar|euro|percent)s?"
    r"|\d\s+(?:right|wrong|best|better|good|great|short|new|straight|other|different|more|easy|quick"
    r"|favou?rite|nice|single|hard|whole))\s[^,\d]*$"
)
"""What counts and is no house number: a 20 minute drive, 1 right way, without a town behind."""
_GERMAN_STREET = re.compile(
    r"\s(?:(?<=stra\u00dfe\s)|(?<=strasse\s)|(?<=str\.\s)|(?<=weg\s)|(?<=platz\s)|(?<=allee\s)"
    r"|(?<=gasse\s)|(?<=damm\s))"
    r"\d{1,4}[a-z]?\b(?:,?\s{1,3}\d{5}(?:\s[^\W\d_][\w.-]{1,30})?)?",
    re.IGNORECASE,
)
_GERMAN_PLACE = re.compile(
    r"(?<!\w)(?:Am|An de[rnm]|Auf de[rmn]|Im|In de[rn]|Unter den|Zum|Zur|Hinter de[rm]|Vor de[rm])"
    r"\s(?:(?:Alte|Neue|Gro\u00dfe|Kleine|Obere|Untere|Hohe|Lange)[nrs]?\s)?"
    r"(?=[A-Z\u00c4\u00d6\u00dc])[^\W\d_]{0,20}(?i:markt|bahnhof|park|berg|hang|see|bach|kirche"
    r"|m\u00fchle|heide|grund|winkel|aue?|wald|feld|rain|hof|tor|dom|rathaus|schlo(?:ss|\u00df)|burg"
    r"|hafen|ufer|anger|graben|wall|garten|g\u00e4rten|brunnen|linden|eichen|buchen|wiesen?|teich"
    r"|br\u00fccke|turm|friedhof|kreuz|stein|acker|h\u00fcgel|weiher|kanal|leiten?|schanze)"
    r"\s\d{1,3}(?:\s?[a-z])?(?![^\W_])(?![.:]\d|\s(?i:uhr|minuten?|stunden?|meter|km|euro|personen|leute|jahre"
    r"|tage|mal))(?:,?\s{1,3}\d{5}(?:\s[^\W\d_][\w.-]{1,30})?)?"
)
_LONGEST_STREET = 40
_PO_BOX = re.compile(r"\bP\.?\s?O\.?\s?Box\s{1,2}\d{1,8}", re.IGNORECASE)
_UK_POSTCODE = re.compile(r"[A-Z](?<!\w.)[A-Z]?\d[A-Z\d]?\s?\d[A-Z]{2}(?!\w)")
_UK_AREA = (
    r"(?:a[bl]|b[abdhlnrst]?|c[abfhmortvrw]|d[adeghlnty]|e[chnx]?|f[ky]|g[luy]?|h[adgprsux]|i[gmpv]"
    r"|je|k[atwy]|l[adelnsu]?|m[ekl]?|n[egnprw]?|o[lx]|p[aehlor]|r[ghm]|s[aegklmnoprstwy]?"
    r"|t[adfnqrsw]|ub|w[acdfnrsv]?|yo|ze)"
)
_UK_POSTCODE_LOWER = re.compile(
    rf"(?<!\w){_UK_AREA}\d[a-z\d]?\s?\d(?!st|nd|rd|th|gb|tb|px|hr|ft|lb|yr|ds)"
    r"[abd-hjlnp-uw-z]{2}(?!\w)",
    re.IGNORECASE,
)


def urls(text: str) -> Iterator[Span]:
    """Find links, without the punctuation after them, and bare domains that are somebody's own."""
    if "/" in text or "www." in text.lower():
        for match in _URL.finditer(text):
            link = match.group().rstrip(".,;:!?)]}'")
            yield Span(match.start(), match.start() + len(link), "URL")
    if "." in text:
        for match in (*_OWN_SITE.finditer(text), *_HOSTED.finditer(text)):
            yield Span(match.start("domain"), match.end("domain"), "URL")


def addresses(text: str) -> Iterator[Span]:
    """Find street addresses with what follows of unit, town, state and code."""
    for match in _ADDRESS.finditer(text):
        if not _MEASURE.match(match.group()):
            yield Span(match.start(), match.end(), "ADDRESS")
    for match in _PO_BOX.finditer(text) if "box" in text.lower() else ():
        yield Span(match.start(), match.end(), "ADDRESS")
    for match in _GERMAN_STREET.finditer(text):
        before = text[max(match.start() - _LONGEST_STREET, 0) : match.start()]
        name = before.rsplit(maxsplit=1)[-1]
        yield Span(match.start() - len(name), match.end(), "ADDRESS")
    for match in _GERMAN_PLACE.finditer(text):
        yield Span(match.start(), match.end(), "ADDRESS")
    for pattern in (_UK_POSTCODE, _UK_POSTCODE_LOWER):
        for match in pattern.finditer(text):
            yield Span(match.start(), match.end(), "ZIP")
