"""Names of persons, where a title or an introduction announces them.

There is no list of names here: a name without such a cue is not found. Reported apart from other
identifiers wherever recall is measured. In capitals throughout, words do not show whether they are
names: there only the surest cues count, for two words at most.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dynaserve.rlaa.embedded.finding import Finding
from dynaserve.rlaa.embedded.regions import DEMONYMS
from dynaserve.rlaa.records import IDENTIFIER, Level

_PART = r"(?=[^\W\d_])(?![a-zß-öø-ÿ])[^\W\d_][^\W\d_'-]{0,20}(?:['-][^\W\d_]{1,20})?"
_NAME = rf"{_PART}(?: (?:[A-Z]\.? ?|(?:de|da|van|von|der|bin|al|la|di|del) )?{_PART}){{0,3}}"
_WORD = r"[A-Z\u00c0-\u00de][a-z\u00df-\u00ff]{1,20}(?:['-][A-Z][a-z\u00df-\u00ff]{1,20})?"
_WORDS = re.compile(r"\S+")
_TITLE = (
    r"(?i:mr|mrs|ms|miss|dr|prof|professor|doctor|sir|madam|herr|frau|monsieur"
    r"|madame|se[nñ]or(?:a|ita)?|signora?)"
)
_ANNOUNCED = re.compile(
    rf"(?<!\w){_TITLE}\b\.?[ \t]{{1,2}}(?P<titled>{_NAME})"
    r"|(?<!\w)(?i:my (?:full |first |last |real |maiden |middle "
    r"|sur)?name(?:'s| is)|i am called|i'm called|call me|name:|signed,?"
    r"|(?:his|her|their) (?:full |first |last |maiden |sur)?name (?:is|was)"
    r"|named|this is|what's your name\?|best regards,|kind regards,|sincerely,"
    r"|cheers,\n|regards,\n)\s{1,4}"
    rf"(?P<introduced>{_NAME})",
)
_SPEAKER = re.compile(
    r"(?P<hello>(?<!\w)(?i:hi|hello|hey|hiya|greetings|good (?:morning|afternoon|evening|day))"
    r"(?: (?i:there|all|everyone|everybody|folks|guys|team|sir|madam))?[,.!]{0,2}\s{1,2})?"
    r"(?<!\w)(?i:i'm|i am|im)\s"
    rf"(?P<name>{_WORD}(?:\s(?:(?:[A-Z]\.?|de|da|van|von|der|bin|al|la|di|del)\s)?{_WORD}){{0,2}})"
    r"(?=\s?(?:[,.!?;:)(\n-]|$)|\s(?:and|from|here|with|at|in|calling|writing|speaking|i|I)\b)"
)
_STOP_WORDS = """
the an this that these those i it my we he she they you your his her our their its me him us in on
at by to of off up out from with for and or but if so as than then not no yes yeah good great bad
nice hello hi hey thanks thank maybe sir miss mister ma'am please what when where why who how
which old new crazy back later again now today tonight tomorrow yesterday soon always never ever
just only also even still already really very too more most all any some every both is are was
were be been being am do does did done has have had will would can could shall should may might
must go goes going gone get got come comes came see sees saw say says said tell tells told ask
call calls called know think want need like love live lives lived work works make take here there
well ok okay sorry happy sad tired sure ready late early free busy fine glad afraid interested
excited looking trying feeling having getting doing making wondering reading writing about into
over under after before because while during until team type gen generation home house day week
year time people man woman guy girl mom dad mother father wife husband monday tuesday wednesday
thursday friday saturday sunday january february march july september october november december
christmas easter santa batman superman groot god catholic christian jewish muslim hindu buddhist
sikh mormon protestant orthodox lutheran baptist atheist republican democrat liberal conservative
black white asian african european american latino latina hispanic arab native bisexual gay
straight queer trans autistic bipolar vegan deaf dyslexic aries taurus gemini cancer leo virgo
libra scorpio sagittarius capricorn aquarius pisces professor ceo cto captain president manager
director king queen north south east west northern southern eastern western central mid upper
lower
"""
_STOPS = frozenset(_STOP_WORDS.split())
"""Words that end a name, or show that none is there."""
_STRONG_CUE = re.compile(r"(?i:dr|mr|mrs|ms|prof|name(?:'s| is| was)|name:)")
_WORDS_IN_CAPITALS = 2


def persons(text: str) -> Iterator[Finding]:
    """Find names after a title ("Dr. ..."), an introduction ("my name is ...") or "I'm"."""
    for match in _ANNOUNCED.finditer(text):
        group = "titled" if match["titled"] else "introduced"
        end = _end(text, *match.span(group), cue=text[match.start() : match.start(group)])
        if end > match.start(group):
            yield _found(match.start(group), end)
    for match in _SPEAKER.finditer(text):
        words = re.findall(r"[^\W_]+", match["name"].lower())
        introduced = len(words) > 1 or match["hello"]
        if introduced and not any(word in _STOPS or word in DEMONYMS for word in words):
            yield _found(*match.span("name"))


def _end(text: str, start: int, end: int, *, cue: str) -> int:
    """Return where a name ends, at its beginning if there is none."""
    shouted = text[start:end].isupper() and cue.isupper()
    if shouted and not _STRONG_CUE.search(cue):
        return start
    last = start
    for count, word in enumerate(_WORDS.finditer(text, start, end)):
        if word.group().lower() in _STOPS or (shouted and count == _WORDS_IN_CAPITALS):
            break
        last = word.end()
    return last


def _found(start: int, end: int) -> Finding:
    return Finding(start, end, IDENTIFIER, "name", "[NAME]", Level.HIGH)
