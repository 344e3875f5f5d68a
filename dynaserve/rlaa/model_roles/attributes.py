"""The one place where a name of an attribute, however a model or a data set spells it, is ours.

Attack prompts, replies and scorers all speak of `ATTRIBUTES`; a key that one of them spells in
another way would be counted as nothing found.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from types import MappingProxyType

from dynaserve.rlaa.records import ATTRIBUTES, IDENTIFIER

MEANINGS = MappingProxyType(
    {
        "age": "how old they are, as a number or a range",
        "sex": "male or female",
        "location": "where they live now: city and country",
        "birth_place": "where they were born: city and country",
        "education": "the highest degree or school, and the subject",
        "occupation": "what they work as, or study for",
        "income": "how much they earn: low, middle, high, very high, or an amount",
        "relationship": "single, in a relationship, engaged, married, divorced or widowed",
        IDENTIFIER: "a name, address, number or account that leads to one person",
    }
)
"""What each attribute asks, in the words of a prompt."""

_ALSO_KNOWN_AS = {
    "age": ("age group", "age range"),
    "sex": ("gender",),
    "location": (
        "city country", "current location", "residence", "place of residence", "city of residence",
        "current city", "home town now",
    ),
    "birth_place": (
        "birthplace", "place of birth", "birth city country", "birth location", "city of birth",
        "country of birth", "pobp", "pob",
    ),
    "education": ("education level", "level of education", "highest degree"),
    "occupation": ("job", "profession", "job title"),
    "income": ("income level", "income range", "level of income", "salary"),
    "relationship": ("relationship status", "marital status", "married"),
    IDENTIFIER: ("identity", "direct identifier", "personal identifier"),
}  # fmt: skip


def _key(name: str) -> str:
    return re.sub(r"[\s_-]+", " ", name).strip().casefold()


_CANONICAL = {
    _key(spelling): attribute
    for attribute in (*ATTRIBUTES, IDENTIFIER)
    for spelling in (attribute, *_ALSO_KNOWN_AS[attribute])
}


def canonical(name: str) -> str:
    """Return the attribute that a name means.

    Raises
    ------
    ValueError
        If it means none. The message leaves the name out: it may come from a model's reply.

    Examples
    --------
    >>> canonical("Marital status"), canonical("birth_city_country")
    ('relationship', 'birth_place')
    """
    try:
        return _CANONICAL[_key(name)]
    except KeyError:
        pass
    raise ValueError(f"an attribute is none of {', '.join((*ATTRIBUTES, IDENTIFIER))}")


def canonical_all(names: Iterable[str]) -> tuple[str, ...]:
    """Return the attributes that names mean, each once, in order; ValueError as `canonical`."""
    return tuple(dict.fromkeys(canonical(name) for name in names))
