"""Names of persons, where a title or an introduction announces them.

There is no list of names here: a name without such a cue is not found. Reported apart from other
identifiers wherever recall is measured.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dynaserve.rlaa.embedded.finding import Finding
from dynaserve.rlaa.records import IDENTIFIER, Level

_PART = r"(?=[^\W\d_])(?![a-zß-öø-ÿ])[^\W\d_][^\W\d_'-]{0,20}(?:['-][^\W\d_]{1,20})?"
_NAME = rf"{_PART}(?: (?:[A-Z]\.? ?|(?:de|da|van|von|der|bin|al|la|di|del) )?{_PART}){{0,3}}"
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
_SENTENCES_BEGIN = (
    "the a an this that i it my we he she they you in on and but or if so "
    "not good great hello hi thanks"
    " maybe sir mister miss yes no please what when where why how old crazy back later"
)
_NOT_NAMES = frozenset(_SENTENCES_BEGIN.split())


def persons(text: str) -> Iterator[Finding]:
    """Find names after a title ("Dr. ...") or an introduction ("my name is ...")."""
    for match in _ANNOUNCED.finditer(text):
        group = "titled" if match["titled"] else "introduced"
        first = match[group].split()[0].lower()
        if first not in _NOT_NAMES:
            yield Finding(*match.span(group), IDENTIFIER, "name", "[NAME]", Level.HIGH)
