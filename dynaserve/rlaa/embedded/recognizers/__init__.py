"""What the embedded engine looks for: one function per family, each in a module of its own.

To add a recognizer, write a function from text to ``Finding``s, take care that it needs time linear
in the text (bounded repetitions), and add it to `recognizers`. Tests hold every one of them to
that, and to replacements that are not found again.
"""

from __future__ import annotations

from functools import partial

from dynaserve.rlaa.embedded.finding import Recognizer
from dynaserve.rlaa.embedded.recognizers.age import age
from dynaserve.rlaa.embedded.recognizers.calendar import calendar
from dynaserve.rlaa.embedded.recognizers.education import education
from dynaserve.rlaa.embedded.recognizers.identifiers import (
    codes,
    cued_handles,
    cued_numbers,
    handles,
    identifiers,
)
from dynaserve.rlaa.embedded.recognizers.income import income
from dynaserve.rlaa.embedded.recognizers.occupation import occupation
from dynaserve.rlaa.embedded.recognizers.persons import persons
from dynaserve.rlaa.embedded.recognizers.places import places
from dynaserve.rlaa.embedded.recognizers.postal import postal
from dynaserve.rlaa.embedded.recognizers.relationship import relationship
from dynaserve.rlaa.embedded.recognizers.sex import sex
from dynaserve.rlaa.embedded.recognizers.tags import tags


def recognizers(year: int | None = None) -> tuple[Recognizer, ...]:
    """Return all of them; ``year`` is that of `EmbeddedEngine`.

    Of findings at the same place, the one of the earlier recognizer is edited.
    """
    return (
        identifiers,
        postal,
        cued_numbers,
        codes,
        handles,
        cued_handles,
        persons,
        places,
        tags,
        age,
        partial(calendar, year=year),
        sex,
        relationship,
        occupation,
        education,
        income,
    )
