"""Whether the writer is a man or a woman: said outright, by body, by role, by relation."""

from __future__ import annotations

from collections.abc import Iterator

from dynaserve.rlaa.embedded.finding import Finding
from dynaserve.rlaa.embedded.recognizers.phrases import DENIAL, Phrase, Phrases
from dynaserve.rlaa.records import Level

_HIGH, _MED, _LOW = Level.HIGH, Level.MED, Level.LOW
_BE = r"(?P<be>I'm|I am|I'm just|I was|being|I'm only|we're|we are|as)"
_ADJECTIVES = rf"(?:(?:(?!{DENIAL})[a-z-]{{2,14}}|\d\d),? ){{0,3}}?"
_MALE = r"man|guy|dude|male|bloke|lad|gentleman|boy|chap|fella|fellow"
_FEMALE = r"woman|female|lady|gal|girl|lass|chick"
_MALE_KIN = (
    r"dad|father|daddy|grandpa|grandfather|grandad|granddad|husband|uncle|son"
    r"|widower|groom|bachelor"
)
_FEMALE_KIN = (
    r"mom|mum|mother|mommy|mummy|mama|grandma|grandmother|wife|aunt|daughter"
    r"|widow|bride|housewife|momma"
)


def _both(pattern: str, instead: str, level: Level, male: str, female: str) -> tuple[Phrase, ...]:
    return (
        Phrase(pattern.replace("WHO", male), "male", instead, level),
        Phrase(pattern.replace("WHO", female), "female", instead, level),
    )


_PHRASES = Phrases(
    "sex",
    (
        *_both(_BE + r" an? " + _ADJECTIVES + "(?:WHO)", r"\g<be> a person", _HIGH, _MALE, _FEMALE),
        *_both(
            _BE + r" (?:an?|the|their|his|her) " + _ADJECTIVES + "(?:WHO)",
            r"\g<be> a family member",
            _HIGH,
            _MALE_KIN,
            _FEMALE_KIN,
        ),
        *_both(
            r"(?P<be>more of|just|bit of|kind of|being|sort of) an? " + _ADJECTIVES + "(?:WHO)",
            r"\g<be> a person",
            _MED,
            _MALE,
            _FEMALE,
        ),
        *_both(
            r"(?:speaking )?as an? " + _ADJECTIVES + "(?:WHO)", "as a person", _HIGH, _MALE, _FEMALE
        ),
        *_both(
            r"(?P<be>we|us) (?:WHO)",
            r"\g<be> people",
            _HIGH,
            "men|guys|blokes|lads|dads|fathers",
            "women|girls|ladies|gals|moms|mums|mothers",
        ),
        *_both(
            r"(?:a |the )?(?:WHO) like (?P<me>me|myself)",
            r"somebody like \g<me>",
            _HIGH,
            _MALE,
            _FEMALE,
        ),
        *_both(r"(?P<me>I'm|I am) (?:WHO)", r"\g<me> a person", _HIGH, "male|masculine", "female"),
        *_both(
            r"my days as an? (?:young |little )?(?:WHO)",
            "my younger days",
            _HIGH,
            "boy|lad",
            "girl|lass",
        ),
        *_both(
            r"(?P<when>when|while|since) I was (?:just |only )?an? (?:young |little "
            r"|small |wee )?(?:WHO)",
            r"\g<when> I was a child",
            _HIGH,
            "boy|lad",
            "girl|lass",
        ),
        *_both(r"average (?:WHO)", "average person", _LOW, "joe|guy|bloke", "gal|jane"),
        *_both(
            r"call(?:s|ed|ing)? me (?:WHO)",
            "call me by name",
            _MED,
            "sir|dad|daddy|bro|mister",
            r"ma'am|miss|mom|mum|mommy|madam",
        ),
        *_both(
            r"my (?:WHO)",
            "my health",
            _MED,
            r"prostate(?: (?:cancer|exam|check-?up|surgery|health|problems?))?"
            r"|vasectomy|beard|mustache|moustache|testosterone",
            r"pregnancy|periods?|menstrual \w{2,10}|menopause|uterus|pap smear"
            r"|mammogram|hysterectomy|c-section|ob-?gyn|gyn(?:a)?ecologist"
            r"|period cramps|endometriosis",
        ),
        *_both(
            r"(?P<me>I'm|I am|I was|when I was|being) (?:\w{2,10} ){0,3}?(?:WHO)",
            r"\g<me> in that condition",
            _HIGH,
            "circumcised",
            "pregnant|breastfeeding|menstruating|menopausal|postpartum",
        ),
        *_both(
            r"(?P<on>on|took|take|during|after|before) (?:my )?(?:WHO) leave",
            r"\g<on> parental leave",
            _MED,
            "paternity",
            "maternity",
        ),
        *_both(
            r"(?:WHO)",
            "personal care",
            _LOW,
            r"shav(?:e|ed|ing) my (?:face|beard|head)|my barber|trim(?:ming)? my beard",
            r"my (?:makeup|make-up|lipstick|mascara|bra|tampons?|heels|purse|handbag"
            r"|hairdo|nails done|sorority|skirt|dress(?:es)?|bridesmaids?)",
        ),
        *_both(
            r"my (?:WHO)",
            "my college group",
            _MED,
            "fraternity(?: brothers?)?|frat",
            r"sorority(?: sisters?)?",
        ),
        *_both(
            r"(?:my )?(?:WHO)",
            "my partner",
            _MED,
            r"my (?:lovely |dear |late |ex[- ]?|beautiful |future |sweet "
            r"|dear old )?(?:wife|girlfriend|gf|missus|fianc[eé]e|gal)|the missus"
            r"|ex-wife|the wife|wifey",
            r"my (?:lovely |dear |late |ex[- ]?|future |sweet )?(?:husband|boyfriend"
            r"|bf|hubby|fianc[eé])|hubby|ex-husband|the hubby",
        ),
        *_both(
            r"(?:WHO)",
            "fan",
            _LOW,
            r"fanboy|bachelor pad|man cave|boys' night",
            r"fangirl|girls' night|girls' trip|girl's night|gal pals?|girls night",
        ),
    ),
)


def sex(text: str) -> Iterator[Finding]:
    """Find what says that the writer is a man or a woman."""
    return _PHRASES.find(text)
