"""Names of persons, where a title, an introduction or a signature announces them.

There is no list of names here: a name without such a cue is not found. Reported apart from other
identifiers wherever recall is measured. Which words are no names depends on the cue
(`not_names`); in capitals throughout, words do not show whether they are names: there only the
surest cues count, for two words at most.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dynaserve.rlaa.embedded.finding import Finding
from dynaserve.rlaa.embedded.gazetteer import is_ordinary, mentions
from dynaserve.rlaa.embedded.recognizers.not_names import (
    FAMILY,
    GIVEN,
    GRAMMAR,
    NO_NAMES,
    OPENERS,
    REMARKS,
)
from dynaserve.rlaa.embedded.regions import DEMONYMS
from dynaserve.rlaa.records import IDENTIFIER, Level

_CAPITAL = r"(?=[^\W\d_])(?![a-zß-öø-ÿ])"
_JOINED = r"(?:-[^\W\d_]{1,20}|'(?!(?i:s|d|ll|m|ve|re)(?!\w))[^\W\d_]{1,20}){0,3}"
"""A second half ("Anne-Lise", "O'Quill"), but neither a possessive nor a verb in short."""
_INITIALS = r"(?:[A-ZÀ-Þ]\.(?:[ -]?[A-ZÀ-Þ]\.){0,3} {0,2})"
_PARTICLE = (
    r"(?:de[nrl]?|della|d[aiou]|dos|das|van|von|vom|ter|ten|zu[rm]?|bin|ibn|bint|al|el|la|le|lo"
    r"|san|y|e|und|af|av)"
)
_PREFIX = r"(?:[Ss]te?\. ?|[dl]'|(?:al|el|ad|as|ben)-)?"
_TITLE = (
    r"(?:(?i:mr|mrs|ms|mx|miss|dr|prof|professor|doctor|rev|reverend|sgt|sergeant|sir|madam|herr"
    r"|frau|monsieur|madame|se[nñ]or(?:a|ita)?|signora?)\b\.?"
    r"|(?i:capt|lt|col|maj|gen|cpl|pvt|fr|hon|msgr)\."
    r"|(?:Captain|Colonel|Lieutenant|Reverend|Sergeant)\b)(?:[ \t]{1,2}|(?<=\.))"
)
_FIRST = rf"{_INITIALS}?(?:{_PARTICLE} {{1,2}}){{0,3}}{_PREFIX}{_CAPITAL}[^\W\d_]"
_NO_TITLE = rf"(?!{_TITLE}(?:{_FIRST}|\[))"
"""No title before a name, nor before the label that stands for one."""
_PART = rf"{_NO_TITLE}{_FIRST}[^\W\d_'-]{{0,20}}{_JOINED}"
_NAME = rf"(?P<name>{_PART}(?: {{1,2}}{_PART}){{0,3}})"
_WORD = (
    rf"{_NO_TITLE}"
    r"[A-Z\u00c0-\u00de][a-z\u00df-\u00ff]{1,20}(?:['-][A-Z][a-z\u00df-\u00ff]{1,20})?"
)
_WORDS = re.compile(r"\S+")
_INTRODUCTION = (
    r"(?:my (?:full |first |last |real |maiden |middle |sur)?name(?:'s| is)|name(?=:)"
    r"|(?:his|her|their) (?:full |first |last |maiden |sur)?name (?:is|was)"
    r"|(?:i am|i'm) called|named|what's your name\?)"
)
_LINE_ENDS = r"(?=[ \t\r]{0,3}\n)"
_CLOSING = (
    r"(?:signed,?|sincerely(?: yours)?,|regards,"
    r"|(?:sincerely|regards|cheers|best wishes|all the best|respectfully"
    rf"|yours (?:truly|faithfully|sincerely)),?{_LINE_ENDS}"
    rf"|(?:thanks(?: again| a lot| so much)?|thank you|best|love|yours|take care),{_LINE_ENDS}"
    r"(?=\s{1,4}[^\n,;:!?]{2,40}(?:\n|\Z)))"
)
"""What ends a letter; of words that also begin a sentence only before a short line."""
_ANNOUNCED = re.compile(
    rf"(?<!\w)(?:(?P<title>{_TITLE})"
    rf"|(?P<sure>(?i:{_INTRODUCTION}|{_CLOSING}))[\s:\"'*_(-]{{1,8}}"
    rf"|(?i:call me|this is)\s{{1,4}}){_NAME}"
)
_SOFT_TITLE = re.compile(r"(?:miss|sir|madam|doctor|professor)\b")
"""In lower case these are words as well: "I miss Christmas"."""
_SPEAKER = re.compile(
    r"(?P<hello>(?<!\w)(?i:hi|hello|hey|hiya|greetings|good (?:morning|afternoon|evening|day))"
    r"(?: (?i:there|all|everyone|everybody|folks|guys|team|sir|madam))?[,.!]{0,2}\s{1,2})?"
    r"(?<!\w)(?i:i'm|i am|im)\s"
    rf"(?P<name>{_INITIALS}?{_WORD}"
    rf"(?:\s(?:{_INITIALS}|[A-Z]\s|(?:{_PARTICLE}\s){{1,3}})?{_WORD}){{0,2}})"
    r"(?=\s?(?:[,.!?;:)(\n-]|$)|\s(?:and|from|here|with|at|in|calling|writing|speaking|i|I)\b)"
)
_IN_CAPITALS = re.compile(r"DR|MRS?|MS|PROF|REV|SGT|NAME|REGARDS|SINCERELY|CHEERS|SIGNED|YOURS")
"""Of the cues in capitals, those that show a name even so."""
_WORDS_IN_CAPITALS = 2


def persons(text: str) -> Iterator[Finding]:
    """Find names after a title ("Dr. ..."), an introduction ("my name is ...") or "I'm"."""
    for match in _ANNOUNCED.finditer(text):
        end = _end(match)
        if end > match.start("name"):
            yield _found(match.start("name"), end)
    for match in _SPEAKER.finditer(text):
        words = re.findall(r"[^\W_]+", match["name"].lower())
        introduced = len(words) > 1 or match["hello"]
        if introduced and not _describes(words):
            yield _found(*match.span("name"))


def _end(match: re.Match[str]) -> int:
    """Return where an announced name ends, at its beginning if there is none."""
    text, (start, end) = match.string, match.span("name")
    cue = text[match.start() : start]
    shouted = text[start:end].isupper() and cue.isupper()
    if shouted and not _IN_CAPITALS.search(cue):
        return start
    title = match["title"] and not _SOFT_TITLE.match(cue)
    sure = title or match["sure"]
    if not sure and _is_country(text, start, end):
        return start
    if sure:
        stops = GRAMMAR if shouted else OPENERS
    else:
        stops = NO_NAMES - GIVEN - (FAMILY if match["title"] else frozenset())
    last, count = start, 0
    for found in _WORDS.finditer(text, start, end):
        word = found.group()
        if re.fullmatch(_PARTICLE, word.lower() if shouted else word):
            continue
        if word.lower().split("'")[0] in stops or (shouted and count == _WORDS_IN_CAPITALS):
            break
        stops = REMARKS if shouted else GRAMMAR
        last, count = found.end(), count + (not word.endswith("."))
    # The stop of a last initial is that of the sentence.
    return start + len(text[start:last].rstrip("."))


def _describes(words: list[str]) -> bool:
    """Whether words after "I'm" say what somebody is, and not who."""
    first, *others = words
    return (
        first in NO_NAMES - GIVEN
        or any(word in NO_NAMES - FAMILY for word in others)
        or not DEMONYMS.keys().isdisjoint(words)
    )


def _is_country(text: str, start: int, end: int) -> bool:
    return any(
        found.start == 0 and found.place.kind == "country" and not is_ordinary(text[start:end])
        for found in mentions(text[start:end])
    )


def _found(start: int, end: int) -> Finding:
    return Finding(start, end, IDENTIFIER, "name", "[NAME]", Level.HIGH)
