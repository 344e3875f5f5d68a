"""Whether the writer is single, in a relationship, engaged, married, divorced or widowed."""

from __future__ import annotations

from collections.abc import Iterator

from dynaserve.rlaa.embedded.finding import Finding
from dynaserve.rlaa.embedded.recognizers.phrases import Phrase, Phrases
from dynaserve.rlaa.records import Level

_HIGH, _MED, _LOW = Level.HIGH, Level.MED, Level.LOW
_BE = (
    r"(?P<be>I'm|I am|Im|we're|we are|I'm now|I was|being|now that I'm"
    r"|since I'm|as I'm|I'm still)"
)
_HOW = (
    r"(?: (?:a|an|just|now|still|also|happily|newly|recently|freshly|finally"
    r"|currently|very|so|been|both|pretty|quite|only)){0,2}"
)
_DEAR = (
    r"(?:(?:lovely|dear|beautiful|amazing|sweet|wonderful|dearest|darling"
    r"|better|future|current|own|new|first|second) )?"
)
_TO_A_THING = (
    r"(?! to (?:(?:my|the|our|this|that|an?) (?:job|work|career|business|company|craft|sea|game"
    r"|phone|idea|bottle|cause)|work|music|science|god)(?!\w))"
)
_FROM_A_THING = (
    r"(?! from (?:(?:the |all )?(?:real(?:ity|ities| life| world)|facts?|truth|outside world)"
    r"|politics|it all)(?!\w))"
)

_PHRASES = Phrases(
    "relationship",
    (
        Phrase(
            rf"my (?:late|dearly departed|deceased|departed) {_DEAR}(?:wife|husband"
            r"|spouse|hubby|partner)",
            "widowed",
            "a person dear to me",
            _HIGH,
        ),
        Phrase(
            r"(?:lost|buried) my (?:wife|husband|spouse|hubby)",
            "widowed",
            "lost a person dear to me",
            _HIGH,
        ),
        Phrase(
            r"since my (?:wife|husband|hubby|spouse) (?:passed(?: away| on)?|died)",
            "widowed",
            "since a hard loss",
            _HIGH,
        ),
        Phrase(
            r"my (?:wife|husband|spouse|hubby) (?:passed(?: away| on)?|died)",
            "widowed",
            "I had a loss",
            _HIGH,
        ),
        Phrase(rf"{_BE}{_HOW} (?:widowed|widower|widow)", "widowed", r"\g<be> an adult", _HIGH),
        Phrase(r"(?:my )?widow(?:hood|er's|'s)?(?:er)?", "widowed", "person on their own", _LOW),
        Phrase(
            r"my (?:soon-to-be )?ex(?:-| )?(?:wife|husband)|my ex(?:-| )spouse"
            r"|ex-(?:wife|husband|hubby)",
            "divorced",
            "somebody from my past",
            _HIGH,
        ),
        Phrase(
            rf"{_BE}{_HOW} (?:divorced{_FROM_A_THING}|divorcee|divorcé|divorcée)",
            "divorced",
            r"\g<be> an adult",
            _HIGH,
        ),
        Phrase(
            r"(?:my|our|the|post|after the|after my) ?-?divorce", "divorced", "a hard time", _HIGH
        ),
        Phrase(
            r"(?:I|we)(?: just| finally| recently)? (?:got|get) divorced",
            "divorced",
            "I moved on",
            _HIGH,
        ),
        Phrase(rf"(?:got |getting |been )?divorced{_FROM_A_THING}", "divorced", "changed", _LOW),
        Phrase(r"(?:my|our) separation|co-?parent(?:ing)?", "divorced", "our arrangement", _LOW),
        Phrase(
            r"(?:pays?|paying) (?:child support|alimony)|(?:child support|alimony)",
            "divorced",
            "regular payments",
            _MED,
        ),
        Phrase(
            rf"my {_DEAR}(?:wife|husband|hubby|spouse|missus|better half|wifey)",
            "married",
            "my partner",
            _HIGH,
        ),
        Phrase(
            r"the (?:missus|hubby|wife|wifey|old ball and chain)", "married", "my partner", _HIGH
        ),
        Phrase(
            rf"{_BE}{_HOW} married{_TO_A_THING}(?: (?:man|woman|couple|guy))?",
            "married",
            r"\g<be> an adult",
            _HIGH,
        ),
        Phrase(
            r"(?:(?P<i>I|we)(?:'ve|'d)?)(?: both| just| been| finally| have)?(?: been"
            r"| got| get)? (?:married|hitched|wed|tied the knot)"
            rf"{_TO_A_THING}(?: for)?",
            "married",
            r"\g<i> made a commitment",
            _HIGH,
        ),
        Phrase(
            r"(?:my|our) (?:wedding(?: day| anniversary| ring| night)?|marriage"
            r"|honeymoon|anniversary|mother-in-law|father-in-law|in-laws|sister-in-law"
            r"|brother-in-law)",
            "married",
            "a personal matter",
            _MED,
        ),
        Phrase(
            r"(?:years|decades) of marriage|married life|marital bliss|tied the knot"
            r"|got hitched|our kids(?:' school)?",
            "married",
            "family life",
            _MED,
        ),
        Phrase(r"my fianc[eé]e?", "engaged", "my partner", _HIGH),
        Phrase(
            rf"{_BE}{_HOW} (?:engaged|getting married)(?! (?:in|with)\b)",
            "engaged",
            r"\g<be> an adult",
            _HIGH,
        ),
        Phrase(
            r"(?:my|our) (?:engagement(?: ring| party)?|(?:upcoming|future) wedding)"
            r"|(?:planning|plan) (?:our|my) wedding|(?:wedding|bride) planning"
            r"|popped the question",
            "engaged",
            "a personal matter",
            _MED,
        ),
        Phrase(
            rf"my {_DEAR}(?:girlfriend|boyfriend|gf|bf|lover)",
            "in a relationship",
            "my partner",
            _HIGH,
        ),
        Phrase(
            r"(?P<be>I'm|I am|I've been"
            r"|being) (?:\w{2,9} ){0,2}in a (?:\w{2,14} ){0,2}relationship",
            "in a relationship",
            r"\g<be> with somebody",
            _HIGH,
        ),
        Phrase(
            r"(?P<be>I'm|I am|we're|we've been|been) (?:\w{2,9} )?(?:dating"
            r"|seeing (?:someone|somebody))",
            "in a relationship",
            r"\g<be> with people",
            _HIGH,
        ),
        Phrase(r"my (?:significant other|other half)", "in a relationship", "my partner", _MED),
        Phrase(
            rf"my {_DEAR}partner(?! in\b)|date nights?|moved in together",
            "in a relationship",
            "my partner",
            _LOW,
        ),
        Phrase(
            rf"{_BE}{_HOW} single(?! (?:child|one|day|time|source|use))(?: (?:guy|man"
            r"|woman|girl|gal|lady|dude|lad|person))?",
            "single",
            r"\g<be> an adult",
            _HIGH,
        ),
        Phrase(
            r"as an? single (?:\w{2,10} )?(?:guy|man|woman|girl|gal|lady|dude|lad|person)",
            "single",
            "as an adult",
            _HIGH,
        ),
        Phrase(
            r"(?:as an? |being an? )?single (?:mom|mum|mother|dad|father|parent)",
            "single",
            "as a parent",
            _HIGH,
        ),
        Phrase(
            r"(?:the )?single life|singledom|flying solo|bachelor(?:ette)?(?: life"
            r"| pad)?|forever alone|single and (?:ready to mingle|loving it)"
            r"|stay(?:ing)? single|still single|happily single|been single",
            "single",
            "my way of life",
            _MED,
        ),
        Phrase(
            r"(?:my|the|a|on|using|tried|trying) (?:tinder|bumble|hinge"
            r"|dating (?:apps?|life|scene|pool|profile))(?: dates?| profile)?|swip(?:e"
            r"|ing) (?:left|right)|first dates?|blind dates?|my last date|dating scene"
            r"|online dating",
            "single",
            "meeting people",
            _MED,
        ),
        Phrase(
            r"no (?:wife|husband|girlfriend|boyfriend|partner|spouse)(?: or kids"
            r"| and kids)?|cook(?:ing)? for one|table for one|live alone|living alone"
            r"|live by myself|living solo|living by myself|just me, myself and i"
            r"|me, myself and i|my (?:cat|dog) and (?:me|I)|just me and my (?:cat|dog"
            r"|thoughts)",
            "single",
            "my way of life",
            _MED,
        ),
        Phrase(
            r"my (?:ex|ex(?:-| )?(?:girlfriend|boyfriend|gf|bf))|(?:my"
            r"|our) (?:break-?up)|broke up with",
            "single",
            "my past",
            _MED,
        ),
        Phrase(
            r"my (?:kids?|children|son|daughter|little ones?|toddler|grandkids"
            r"|grandchildren|better halves)",
            "married",
            "my family",
            _LOW,
        ),
    ),
)


def relationship(text: str) -> Iterator[Finding]:
    """Find what says whom the writer lives with, or does not."""
    return _PHRASES.find(text)
