"""What the writer earns: amounts, wages, and what money is like."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dynaserve.rlaa.embedded.finding import Finding
from dynaserve.rlaa.embedded.recognizers.phrases import Phrase, Phrases
from dynaserve.rlaa.embedded.wording import lowered
from dynaserve.rlaa.records import Level

_HIGH, _MED, _LOW = Level.HIGH, Level.MED, Level.LOW
_CURRENCY = (
    r"(?:us\$|c\$|a\$|nz\$|r\$|usd|eur|gbp|cad|aud|nzd|chf|sek|nok|dkk|jpy|inr"
    r"|zar|mxn|brl|cop|try|\$|"
    "€|£|¥|₹|r )"
)
_UNIT = (
    r"(?:k|grand|thousand|mil|million|lakhs?|m)?(?: ?(?:dollars|bucks|euros?"
    r"|pounds|quid|yen|rupees|"
    r"francs|swiss francs|kron(?:a|or|er)|pesos|rand|reais|lira|yuan|rmb"
    r"|kwacha|usd|eur|gbp|chf|cad|aud))?"
)
_PERIOD = (
    r"(?: ?(?:a|an|per|each|every|/) ?(?:year|yr|month|mo|week|hour|hr|annum)"
    r"| annually| yearly| monthly| before taxes?| after taxes?)?"
)
_AMOUNT = re.compile(
    r"(?<!\w)(?P<cue>(?:(?:i|we)(?:'m|'ve|'d| am)?(?: (?:only|just|now"
    r"|currently|barely|about|do|still|used to|was|been)){0,2}"
    r" (?:make|made|making|earn|earned|earning|get paid|got paid"
    r"|bring(?:ing)? in|clear|cleared|pull(?:ing)? in|gross)"
    r"|(?:my|our|the|a|with a|with an) (?:\w{2,12} ){0,2}(?:salary|income"
    r"|wages?|pay|paycheck|earnings|pension|stipend)"
    r"(?: (?:is|was|of|at|from|sits|around|about))?"
    r"|(?:pays|paid|paying|pay) me|(?:salary|income|wages?|pension|stipend"
    r"|earnings?) (?:of|is|was|at|:)"
    r"|(?:making|earning|make|earn)|on)"
    r"(?: (?:about|around|roughly|over|under|nearly|almost|close to"
    r"|approximately|only|just|like|some|up to|at|well over)){0,2}) "
    rf"(?P<amount>(?P<sign>{_CURRENCY})?\s?(?P<number>\d{{1,3}}(?:[,.' ]\d{{3}}){{1,3}}"
    rf"|\d{{1,7}}(?:\.\d{{1,2}})?)"
    rf"\s?(?P<unit>{_UNIT}))(?!\w)(?P<period>{_PERIOD})"
)
_BANDS = (1, 10, 25, 50, 100, 200, 500, 1_000, 10_000)
"""In thousands: what an amount is said to lie between."""

_PHRASES = Phrases(
    "income",
    (
        Phrase(
            r"(?:six(?:-| )figures?(?: salary| income)?|seven(?:-| )figures?)(?! out of)",
            "high",
            "a salary",
            _HIGH,
        ),
        Phrase(
            r"(?:middle|average|medium|modest|decent|median)(?:-| )(?:income|earnings"
            r"|salary|wages?|paycheck)(?: (?:life|lifestyle|family|earner|household"
            r"|bracket|folks?|guy|person))?",
            "middle",
            "everyday life",
            _HIGH,
        ),
        Phrase(r"(?:upper |lower )?middle(?:-| )class", "middle", "ordinary", _MED),
        Phrase(
            r"(?:low|minimum|lower)(?:-| )(?:income|wage|paid|earnings"
            r"|paying)(?: (?:job|family|earner|household|bracket|worker|gig))?",
            "low",
            "everyday life",
            _HIGH,
        ),
        Phrase(
            r"(?:high|upper|good|great|hefty|handsome|fat|comfortable)(?:-| )(?:income"
            r"|earner|salary|paycheck|wages?|paying job|earnings)(?: (?:life|lifestyle"
            r"|family|earner|household|bracket))?",
            "high",
            "everyday life",
            _HIGH,
        ),
        Phrase(
            r"(?:I'm|I am|we're) (?:\w{2,9} )?(?:broke|poor|skint"
            r"|struggling financially|short on cash|strapped for cash)|(?:live"
            r"|living) (?:paycheck to paycheck|hand to mouth|off ramen|on ramen)"
            r"|making ends meet|make ends meet|every (?:penny|cent|dollar|rupee"
            r"|euro) counts|food stamps|can't afford|cannot afford|couldn't afford"
            r"|on welfare|student loans?|student budget",
            "low",
            "watching what I spend",
            _MED,
        ),
        Phrase(
            r"(?:tight|modest|limited|shoestring|small|strict|student"
            r"|reasonable) budget|on a budget|(?:my|our) (?:modest |tight "
            r"|limited )?(?:budget|means)|budget(?:-| )friendly|break(?:ing)? the bank"
            r"|penny pinch\w*|saving up|save up|thrift(?:y|ing| stores?| shops?)"
            r"|second(?:-| )?hand|wallet-friendly|coupons?|bargains?|on the cheap"
            r"|pinch(?:ing)? pennies|affordable|good deals?|budgeting|cost-effective"
            r"|financially responsible|economical",
            "middle",
            "plans",
            _LOW,
        ),
        Phrase(
            r"my (?:\w{2,12} )?(?:salary|income|paycheck|wages?|pension)",
            "middle",
            "what I get",
            _LOW,
        ),
        Phrase(
            r"splurg(?:e|ed|ing)|(?:business|first)(?:-| )class|penthouse|yacht"
            r"|private jet|(?:michelin|fine dining)[\w -]{0,20}|luxur(?:y|ious|ies)"
            r"|(?:my|our|a|the) (?:tesla|porsche|ferrari|mercedes(?: benz)?|bmw|audi"
            r"|rolex|lexus)|high-end|top of the line|money (?:isn't|is not"
            r"|ain't) (?:an issue|a problem)|don't have to worry about money"
            r"|without breaking a sweat|my (?:financial advisor|portfolio|investments)"
            r"|vacation home|holiday home|second home|pricey|fancy restaurants?"
            r"|treat myself|deep pockets|well(?:-| )off|financially (?:comfortable"
            r"|stable|secure)|comfortable (?:life|living|lifestyle)|designer (?:bags?"
            r"|clothes|brands?)|premium",
            "high",
            "nice things",
            _LOW,
        ),
    ),
)


def income(text: str) -> Iterator[Finding]:
    """Find what the writer earns, and how tight or easy money is."""
    yield from _PHRASES.find(text)
    # The words that stay come back in their own capitals: see `wording.fit`.
    text = lowered(text)
    for match in _AMOUNT.finditer(text):
        yearly = _yearly(match)
        if yearly is None:
            continue
        kept = text[match.start() : match.start("amount")]
        instead = f"{kept}{_range(match)}{match['period']}"
        yield Finding(*match.span(), "income", yearly, instead, _HIGH)


def _value(match: re.Match[str]) -> float:
    number = match["number"]
    value = float(re.sub(r"[,' ]|\.(?=\d{3})", "", number))
    unit = (match["unit"] or "").lower()
    if unit.startswith(("k", "grand", "thousand")) and not unit.startswith(("kr", "kw")):
        value *= 1e3
    elif unit.startswith(("m", "lakh")):
        value *= 1e6 if unit.startswith("m") else 1e5
    return value


def _yearly(match: re.Match[str]) -> str | None:
    """Return the level of an income that is said to be one: a currency, a period or thousands."""
    value, period = _value(match), match["period"].lower()
    cue = match["cue"].lower()
    is_money = bool(match["sign"] or match["unit"] or period) or value >= 10_000
    if not is_money or (cue.split()[0] == "on" and not period):
        return None
    value *= (
        12
        if "mo" in period
        else 52
        if "week" in period
        else 2_000
        if "h" in period and "mont" not in period
        else 1
    )
    return (
        "low"
        if value < 30_000
        else "middle"
        if value < 60_000
        else "high"
        if value < 150_000
        else "very high"
    )


def _range(match: re.Match[str]) -> str:
    thousands = _value(match) / 1e3
    sign = match["sign"] or ""
    above = next((band for band in _BANDS if thousands < band), None)
    if above is None:
        return "a lot"
    below = _BANDS[_BANDS.index(above) - 1] if above > 1 else 0
    if not below:
        return "a small amount"
    return f"between {sign}{below}k and {sign}{above}k"
