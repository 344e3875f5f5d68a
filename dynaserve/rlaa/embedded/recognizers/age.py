"""How old the writer is: in years, by a birthday, by a year, by a stage of life or school."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dynaserve.rlaa.embedded.finding import Finding
from dynaserve.rlaa.embedded.recognizers.phrases import Phrase, Phrases
from dynaserve.rlaa.embedded.wording import lowered
from dynaserve.rlaa.records import Level

_HIGH, _MED, _LOW = Level.HIGH, Level.MED, Level.LOW

_DECADES = "childhood teens twenties thirties forties fifties sixties seventies eighties nineties"
_TENS = "twenty thirty forty fifty sixty seventy eighty"
_ONES = "one two three four five six seven eight nine"
_TEENS = "thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
_NUMBERS = {
    **{word: 13 + rank for rank, word in enumerate(_TEENS.split())},
    **{word: 20 + 10 * rank for rank, word in enumerate(_TENS.split())},
    **{
        f"{ten} {one}": 21 + 10 * rank + more
        for rank, ten in enumerate(_TENS.split())
        for more, one in enumerate(_ONES.split())
    },
}
_WORD = "|".join(word.replace(" ", "[ -]") for word in sorted(_NUMBERS, reverse=True))
_AGE = rf"(?P<age>1[01]\d|[1-9]\d|{_WORD})"
_NOT_AGE = (
    r"(?!\s?(?:%|percent|minutes?|mins?|hours?|hrs?|days?|weeks?|months?|km"
    r"|kms|miles?|k\b|am\b|pm\b|pounds?"
    r"|lbs?|kg|kilos?|dollars?|bucks|euros?|cents?|times?|people|feet|ft"
    r"|inch\w*|cm|meters?|metres?|years? (?!old|young|of age)\w"
    r"|degrees|points?|steps?|pages?|floors?|blocks?|th\b|cards?|[,.:/-]\d"
    r"|more|and a half (?:miles|hours)|out of\b|(?:[a-z]{2,8}-|push|pull|press|sit|chin)ups?\b"
    r"|(?:reps?|squats|lunges|burpees|laps|goals|sales|likes|followers|subscribers)\b|/)"
    r"|['’\"]|\$|€|£)"
)
_TIME = (
    r"(?P<when>(?: just)? (?:(?:last|this|next|the other) (?:week|month|year|weekend|day|spring"
    r"|summer|fall|autumn|winter|(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6})"
    r"|yesterday|today|tomorrow|recently|soon|(?:a|an|one|two|three|four|five|six|\d{1,2}"
    r"|a few|a couple(?: of)?) (?:days?|weeks?|months?) ago"
    r"|in (?:a|an|one|two|three|four|five|six|\d{1,2}|a few|a couple(?: of)?)"
    r" (?:days?|weeks?|months?)"
    r"|on (?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|(?:in|on)(?: the)? (?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}"
    r"(?: \d{1,2}(?:st|nd|rd|th)?)?(?:,? 20\d\d)?)(?!\w))?"
)
"""When somebody turned an age; it goes with the age, which it would make a date of birth."""
_STATED = re.compile(
    r"(?<!\w)(?:"
    r"(?P<be>(?:i'm|i am|im|i'll be|i will be|i'd be|being)(?: (?:just|only"
    r"|now|already|almost|nearly|about|around|like|still|currently|over|a|an"
    rf"|ripe|old|of|turning|aged|age)){{0,3}}) {_AGE}(?![\w-]){_NOT_AGE}"
    r"(?P<years>(?:,? ?-?years?[ -](?:old|young)| ?y[/.]?o\b\.?| yrs? old)?)"
    r")"
)
_FORMS = (
    (
        re.compile(
            r"(?<!\w)(?P<be>(?:i|i'll|i'm|i've|i have|i'd)(?: (?:just|recently|finally|am|will"
            r"|already|about to|going to|soon|only|turned|turn|turning|hit|reached|hitting)){0,2}"
            r" (?:turned|turn|turning|hit|hitting|reached"
            rf"|pushing)(?: the big)?) {_AGE}(?!\w){_NOT_AGE}{_TIME}"
        ),
        "I'm {}",
        Level.HIGH,
    ),
    (
        re.compile(
            r"(?<!\w)(?P<be>(?:at (?:the )?(?:ripe )?(?:old )?age of|at age|aged|age:?"
            rf"|as of age|at))? ?{_AGE}[ -]?(?:years?[ -]old|years young|y/o|y\.o\.|yo\b"
            r"|yrs? old|years of age)"
            r"(?! (?:guys|men|women|girls|boys|kids?|child(?:ren)?|sons?|daughters?|brothers?"
            r"|sisters?|nephews?|nieces?|dogs?|cats?|cars?|house|building|whisk\w{1,2}|scotch)\b)"
        ),
        "{}",
        Level.MED,
    ),
    (
        re.compile(
            r"(?<!\w)(?P<be>(?:at the (?:ripe )?(?:old |young |tender )?age of|at age"
            rf"|aged|age:)) {_AGE}(?!\w){_NOT_AGE}"
        ),
        "being {}",
        Level.MED,
    ),
    (
        re.compile(
            r"(?<!\w)(?P<be>my) (?P<age>1[6-9]|[2-9]\d)(?:th|st|nd|rd)(?= (?:birthday|bday|b-day))"
        ),
        "my next",
        Level.HIGH,
    ),
    *(
        (
            re.compile(rf"(?<!\w)(?P<be>{verb})(?: the big)? {_AGE}(?!\w){_NOT_AGE}{_TIME}"),
            instead,
            Level.MED,
        )
        for verb, instead in (
            ("turned|hit", "was {}"),
            ("turning|hitting|pushing|approaching", "being {}"),
            ("turn|push|approach", "be {}"),
        )
    ),
)
"""Pattern, what to write instead around the decade, level."""
_DECADE = re.compile(
    r"(?<!\w)(?P<lead>(?:in|into|through|hit|hitting|entered|entering|reached"
    r"|out of|well into|of) my)"
    r" (?P<part>early|mid|late|middle)?[ -]?(?P<decade>teens|twenties|thirties"
    r"|forties|fifties|sixties|seventies|eighties|[2-8]0'?s)(?!\w)"
)
_HEDGES = re.compile(
    r"\s(?:just|only|now|already|almost|nearly|about|around|like|over|a|an|ripe|old|of|turning"
    r"|aged|age)(?=\s|$)"
)
_PAST = re.compile(r"\b(?:was|were|when|back|had)\b")
_BEFORE = 30
_PART = {"early": 2, "mid": 5, "middle": 5, "late": 8, None: 5}
_STAGES = Phrases(
    "age",
    (
        Phrase(
            r"my learner's permit|sophomore year(?: of high school)?"
            r"|(?:in|starting|finished) (?:9th|10th|11th|12th|ninth|tenth|eleventh"
            r"|twelfth) grade|high school (?:freshman|sophomore|junior|senior)|gcses?"
            r"|a-levels",
            "17",
            "school days",
            _MED,
        ),
        Phrase(
            r"(?:i'm|i am|im) an? (?:\w{2,10} )?(?:teen|teenager|minor|zoomer"
            r"|gen z(?:er)?)|my teens",
            "18",
            "being young",
            _HIGH,
        ),
        Phrase(
            r"(?:i'm|i am|as|being|im) (?:just )?(?:an?|in my) (?:\w{2,12} )?"
            r"(?:(?:college|uni|university|undergrad(?:uate)?|first[- ]year|second[- ]year"
            r"|third[- ]year|final[- ]year) (?:student|kid|year)|freshman|sophomore|undergrad"
            r"|junior year|senior year)|my dorm(?: room)?|freshman year|my professors?"
            r"|campus life|my classes|my finals|(?:just|recently) graduated"
            r"|fresh out of (?:college|uni|university)|since i started (?:uni|college)",
            "22",
            "student days",
            _MED,
        ),
        Phrase(
            r"(?:i'm|i am|as|being) an? (?:\w{2,10} )?millennial",
            "34",
            "part of a generation",
            _HIGH,
        ),
        Phrase(
            r"gen x(?:er)?|my mid-?life crisis|midlife|middle[- ]aged|over the hill"
            r"|half a century|menopause|empty nest(?:er)?|turned the big five-oh"
            r"|my (?:teenage|college-age|grown|adult) (?:kids?|sons?|daughters?"
            r"|children)|(?:my|our) kids (?:are|went|left|moved) (?:off|in|to|out"
            r"|for) (?:college|uni|university)",
            "50",
            "this stage of life",
            _MED,
        ),
        Phrase(
            r"(?:i'm|i am|we're|since i|now that i'm|am) (?:\w{2,10} )?retired"
            r"|since (?:i retired|retiring|retirement)|my retirement|my (?:grandkids?"
            r"|grandchildren|grandson|granddaughter)|baby boomer|senior (?:citizen"
            r"|discount)|my pension|golden years|(?:in|at) my age|old fart|old timer"
            r"|social security checks?|my hip replacement|arthritis",
            "63",
            "this stage of life",
            _MED,
        ),
        Phrase(
            r"these youngsters|kids these days|youngsters these days|(?:the"
            r"|you) young(?:ins|uns|'uns|sters| folks| people)|back in my day"
            r"|in my heydays?|in my day|my younger days|when i was young(?:er)?"
            r"|my creaky \w{3,8}|my old bones|my knees",
            "55",
            "some time ago",
            _LOW,
        ),
    ),
)


def age(text: str) -> Iterator[Finding]:
    """Find ages in years and decades, and what people of an age say."""
    yield from _STAGES.find(text)
    # The words that stay come back in their own capitals: see `wording.fit`.
    text = lowered(text)
    for match in _STATED.finditer(text):
        years = _number(match["age"])
        instead = f"{_HEDGES.sub('', match['be'])} {decade(years)}"
        yield Finding(*match.span(), "age", str(years), instead, Level.HIGH)
    for pattern, instead, level in _FORMS:
        for match in pattern.finditer(text):
            years = _number(match["age"])
            yield Finding(*match.span(), "age", str(years), instead.format(decade(years)), level)
    for match in _DECADE.finditer(text):
        past = _PAST.search(text, max(match.start() - _BEFORE, 0), match.start())
        guess = _start(match["decade"]) + _PART[match["part"]]
        level = Level.MED if match["part"] and not past else Level.LOW
        yield Finding(*match.span(), "age", str(guess), f"{match['lead']} {match['decade']}", level)


def decade(years: int) -> str:
    """Return the decade of an age: 31 is "in my thirties"."""
    return f"in my {_DECADES.split()[years // 10]}" if years < 100 else "of a great age"


def _number(written: str) -> int:
    return int(written) if written.isdecimal() else _NUMBERS[written.replace("-", " ")]


def _start(written: str) -> int:
    if written[0].isdecimal():
        return int(written[:2])
    return 10 * _DECADES.split().index(written)
