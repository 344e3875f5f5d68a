"""Postal addresses of many countries: an anchor that only addresses have, and the lines below.

Anchors are a street with its number, a flat, a box. What follows one in the same block, up to a
code or a country, belongs to it: a town means little in a sentence, and much below a street.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dynaserve.rlaa.embedded.finding import Finding
from dynaserve.rlaa.records import IDENTIFIER, Level

_START = r"(?<![\w$€£.,])"
_NUMBER = r"\d{1,6}[A-RT-Za-rt-z]?\b(?!-\d|\.\d)\.?"
_NO_ITEM = r"(?!\d{1,3}[A-Za-z]?\.\s(?<!\w[ ]\d\.\s)(?<!\w[ ]\d\d\.\s)(?<!\w[ ]\d\d\d\.\s))"
"""With a stop, and no word before it, a number is that of an item in a list."""
_CAPITAL = r"(?=[^\W\d_])(?![a-zß-öø-ÿ])"
_NAME = rf"{_CAPITAL}[^\s\d,;:!?()\[\]{{}}<>\"@#/\\]{{1,30}}"
_SMALL = (
    r"(?:d[aeo]s?|del|della|dei|dell'[^\s\d]{2,20}|l[ae]s?|van|von|de[nrst]|du"
    r"|of|the|[yiea]|u\.|ul\."
    r"|tér|út|útja|rkp\.|nad|pri|na|zum?|zur|am|an|n\.|fejedelem)"
)
_TYPE = (
    r"(?i:Street|St|Avenue|Ave|Lane|Ln|Road|Rd|Drive|Dr|Court|Ct|Boulevard"
    r"|Blvd|Way|Place|Pl|Str"
    r"|Terrace|Square|Sq|Highway|Hwy|Parkway|Pkwy|Close|Crescent|Row|Mews"
    r"|Circle|Trail|Loop)\b\.?"
)
_TYPE_ALONE = (
    r"(?:Street|Avenue|Road|Lane|Boulevard|Str\.|STREET|AVENUE|ROAD|LANE"
    r"|BOULEVARD)(?!\w)"
)
_ENDING = (
    r"(?i:straße|strasse|str\.|weg|gasse|platz|allee|damm|ufer|laan|straat|plein|dreef|kade"
    r"|gracht|pad|vej|gade|vænget|stræde|vägen|väg|gränd|stig|vegen|veien|vei|veg|gaten|straete"
    r"|gate|katu|tie|kuja|polku|braut|stígur|götu|gata|gatan|utca|körút|cesta|aan)"
)
_LEADING = (
    r"(?i:Rue|Via|Viale|Corso|Piazza|Calle|C/|Avenida|Avda|Paseo|Plaza|Rua|Rúa|Travessa|Largo"
    r"|Praça|Estrada|Ulica|ul|Vicolo|Strada|Chemin|Allée|Quai|Carrer|Camino|Ctra|Ronda)\b\.?"
)
_PREFIX = rf"(?:{_NUMBER},?[ \t]){{0,2}}"
_NAMES = rf"(?:(?:{_NAME}|{_SMALL})[ \t]){{0,4}}"
_UNIT = r"(?i:apt|apartment|suite|ste|flat)\b\.?[ \t]{0,2}#?\d{1,6}[A-Za-z]?\b"
_DATE = r"(?!\d{1,2}\.?[ ](?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec))"
_CODE = r"(?:[A-Z]{1,2}-?)?\d{3,6}(?:[ -]\d{2,4}|[ ][A-Z]{2})?\b"
_BLOCK = (
    # Short numbers around names are many a thing ("2 Tesla Model 3"), with more below an address.
    rf"(?=[\s,.>?*|]{{1,12}}{_UNIT}|[,.]?[\s>?*|]{{0,12}}\n[\s,>?*|]{{0,12}}[^\W_]"
    rf"|,[ \t]?(?:{_CAPITAL}|{_CODE}))"
)
_STREET = (
    # 12 Linden Nova 45
    rf"{_DATE}(?:{_NUMBER},?[ \t]){{1,2}}{_NAMES}(?:{_NAME}|{_SMALL})[ \t]{_NUMBER}{_BLOCK}"
    rf"|{_DATE}(?=\d\d)(?:{_NUMBER},?[ \t]){{1,2}}{_NAMES}(?:{_NAME}|{_SMALL})[ \t](?=\d\d)"
    rf"{_NUMBER}"
    rf"|(?:{_NUMBER},?[ \t]){{1,2}}(?:[^\s\d,;:!?]{{1,30}}[ \t]){{1,5}}{_NUMBER}"
    rf"(?=[\s,.>?*]{{1,12}}{_UNIT})"
    # 12 Linden Street West
    rf"|(?:{_NUMBER},?[ \t]){{1,2}}(?:(?:{_NAME}|{_SMALL})[ \t]){{1,4}}{_TYPE}"
    r"(?:[ \t](?:North|South|East|West|Street)\b)?"
    rf"|(?:{_NAME}[ \t]){{1,3}}{_TYPE_ALONE}(?:[ \t](?:North|South|East|West)\b)?"
    # Lindenweg 12
    rf"|{_PREFIX}(?:{_NAME}[ \t]){{0,2}}[^\W\d_]{{3,24}}?{_ENDING}[ \t]{_NUMBER}"
    # Calle de la Rosa 12
    rf"|{_PREFIX}{_LEADING}[ \t](?:(?:{_NAME}"
    rf"|{_SMALL})[ \t]){{0,4}}{_NAME}(?:,?[ \t]{_NUMBER})?"
    # two numbers before any names
    r"|\d{1,5}[ \t]\d{1,5}[ \t](?!I['\u2019 ])"
    rf"(?:{_NAME}|{_SMALL})(?:[ \t](?:{_NAME}|{_SMALL})){{0,3}}(?![^\W\d_])"
)
_CORNER = rf"(?:(?i:the[ ]corner[ ]of)[ ])?(?:{_PREFIX}{_NAMES}{_NAME}[ ](?:{_NUMBER}[ ])?and[ ])?"
_BOX = (
    rf"(?:{_NUMBER}[ \t])?(?i:p\.?[ ]?o\.?[ ]?box)[ \t]\d{{1,6}}"
    r"|(?i:psc|unit)[ \t]\d{1,6},?[ \t](?i:box)[ \t]\d{1,6}"
    r"|(?i:USCGC|USNV|USNS|USS)[ \t][^\W\d_]{2,20}(?=\s{1,3}(?i:[fad]po)\b)"
    r"|(?i:[fad]po)[ \t](?i:a[aep])\b(?:[ \t]\d{5})?"
)
_ANCHOR = re.compile(rf"{_START}(?:{_UNIT}|{_BOX}|{_NO_ITEM}{_CORNER}(?:{_STREET}))")
_GAP = re.compile(r"[\s,.>?*|]{1,16}")
_PLACE = rf"(?:{_NAME}|\([^\s)]{{2,20}}\))"
_TAIL = re.compile(
    # a place name, or in the lines of a block anything short, then perhaps a code
    rf"(?:[ \t]|[ \t]?,[ \t]?|[,.]?[\s,>?*|]{{0,12}}\n[\s,>?*|]{{0,12}}){_PLACE}"
    rf"(?:[ \t'](?:{_PLACE}"
    rf"|{_SMALL})){{0,6}}(?:[ \t,]{{1,3}}(?!\d{{1,2}}:){_CODE})?(?!\s?[:@\w])"
    rf"|[\s,>?*|]{{0,12}}\n[\s,>?*|]{{0,12}}[^\W\d_][^\s\d,;:!?@]{{1,24}}"
    rf"(?:[ ][^\s\d,;:!?@]{{2,24}}){{0,3}}(?:[ ]{_CODE}|(?=[.?]?(?:[\s,>?*|]{{0,12}}\n|,|$)))"
    rf"|[ \t\n,>?*|]{{1,12}}{_CODE}(?![-\w]|\.\d)"
)
_MOST_PARTS = 4
"""Town, region, country, code."""


def postal(text: str) -> Iterator[Finding]:
    """Find addresses: streets with numbers, flats, boxes, and the town and code below them."""
    start = end = -1
    for anchor in _ANCHOR.finditer(text):
        if start >= 0 and (anchor.start() <= end or _GAP.fullmatch(text, end, anchor.start())):
            end = max(end, anchor.end())
            continue
        if start >= 0:
            yield _found(text, start, end)
        start, end = anchor.span()
    if start >= 0:
        yield _found(text, start, end)


def _found(text: str, start: int, end: int) -> Finding:
    for _ in range(_MOST_PARTS):
        part = _TAIL.match(text, end)
        if not part:
            break
        end = part.end()
    return Finding(start, end, IDENTIFIER, "address", "[ADDRESS]", Level.HIGH)
