"""A model as the Editor: what to write in place of the evidence, and nowhere else.

The rest of the text never passes through the model. What it proposes is refused if it repeats
the value or what an attacker made of it, in whatever disguise, is blank or a placeholder, far too
long, breaks a line or declines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from dynaserve.rlaa.embedded.wording import recased
from dynaserve.rlaa.llm.protocol import LLM
from dynaserve.rlaa.model_roles.checks import is_placeholder, is_refusal, repeats, require_writable
from dynaserve.rlaa.model_roles.prompts import Quote, for_editor, rearm
from dynaserve.rlaa.model_roles.replies import read_replacements, replacements_schema
from dynaserve.rlaa.model_roles.sampling import Sampling
from dynaserve.rlaa.records import Edit, Judgement, Span
from dynaserve.rlaa.roles import RoleError
from dynaserve.rlaa.spans import fold, merged

_SHORTEST_LIMIT, _LENGTH_FACTOR = 80, 2
_ROOM, _TOKENS_PER_REPLACEMENT = 32, 64


@dataclass(frozen=True)
class _Place:
    """A stretch of the text to replace, and the judgements that want it so."""

    span: Span
    judged: tuple[Judgement, ...]


@dataclass(frozen=True)
class _Value:
    """Places that say the same: one question, one replacement.

    Attributes
    ----------
    forbidden
        What the replacement may not repeat.
    shared
        Characters that stand in every place: what all may hold that nobody types.
    """

    quote: Quote
    places: tuple[_Place, ...] = field(repr=False)
    forbidden: tuple[str, ...] = field(repr=False)
    shared: str = field(repr=False)


class ModelEditor:
    """Asks a model for a more general wording of each piece of evidence.

    Equal values, in whatever case, get one replacement. Pieces of evidence that overlap
    or touch are one.

    Parameters
    ----------
    llm
        Which model.
    temperature, top_p, retries, seed
        As in `ModelAttacker`. A retry asks again only for what was refused.
    """

    def __init__(
        self,
        llm: LLM,
        *,
        temperature: float = 0.5,
        top_p: float = 0.9,
        retries: int = 2,
        seed: int = 0,
    ) -> None:
        self._llm = llm
        self._sampling = Sampling(temperature, top_p, retries, seed)

    def edit(self, text: str, actionable: Sequence[Judgement]) -> list[Edit]:
        """Return replacements for the spans of these judgements, in the order of the text.

        Raises
        ------
        RoleError
            If a span got no replacement that may stand there.
        TooLongError, CancelledError, UnavailableError
            As the model raises them.
        """
        values = _values(text, _places(actionable))
        edits = [
            _edit(text, place, value.quote.words, replacement)
            for value, replacement in zip(values, self._replacements(text, values), strict=True)
            for place in value.places
        ]
        return sorted(edits, key=lambda edit: edit.span)

    def _replacements(self, text: str, values: Sequence[_Value]) -> list[str]:
        accepted: dict[_Value, str] = {}

        def attempt(number: int) -> None:
            asked = [value for value in values if value not in accepted]
            replacements = self._ask(text, [value.quote for value in asked], number)
            faults = []
            for value, replacement in zip(asked, replacements, strict=True):
                if fault := _fault(replacement, value):
                    faults.append(fault)
                else:
                    accepted[value] = replacement
            if faults:
                raise RoleError(faults[0])

        if values:
            self._sampling.tries(attempt)
        return [accepted[value] for value in values]

    def _ask(self, text: str, quotes: Sequence[Quote], attempt: int) -> list[str]:
        reply = self._sampling.complete(
            self._llm,
            for_editor(text, quotes),
            attempt,
            schema=replacements_schema(len(quotes)),
            max_tokens=_ROOM + _TOKENS_PER_REPLACEMENT * len(quotes),
        )
        return [rearm(replacement).strip() for replacement in read_replacements(reply, len(quotes))]


def _places(actionable: Sequence[Judgement]) -> list[_Place]:
    """Return the spans to replace, those that overlap or touch as one, in the order of the text."""
    return [
        _Place(whole, tuple(judged for judged in actionable if _reaches(judged, whole)))
        for whole in merged(span for judged in actionable for span in judged.spans)
    ]


def _reaches(judged: Judgement, whole: Span) -> bool:
    return any(whole.start <= span.start and span.end <= whole.end for span in judged.spans)


def _values(text: str, places: Sequence[_Place]) -> list[_Value]:
    alike: dict[str, list[_Place]] = {}
    for place in places:
        alike.setdefault(fold(text[place.span.start : place.span.end]), []).append(place)
    return [_value(text, group) for group in alike.values()]


def _value(text: str, places: Sequence[_Place]) -> _Value:
    judged = [one for place in places for one in place.judged]
    attributes = tuple(dict.fromkeys(one.leak.attribute for one in judged))
    guesses = tuple(dict.fromkeys(one.leak.guess for one in judged))
    words = text[places[0].span.start : places[0].span.end]
    within = {text[s.start : s.end] for one in judged for s in one.spans}
    standing = [set(text[place.span.start : place.span.end]) for place in places]
    return _Value(
        Quote(words, attributes, guesses),
        tuple(places),
        (*within, words, *guesses),
        "".join(sorted(set.intersection(*standing))),
    )


def _fault(replacement: str, value: _Value) -> str | None:
    """Return why a replacement may not stand in the text; None if it may."""
    words = value.quote.words
    try:
        require_writable(replacement, instead_of=value.shared)
    except RoleError as error:
        return str(error)
    if any(repeats(replacement, forbidden) for forbidden in value.forbidden):
        return "a replacement that repeats what it is to replace"
    if is_placeholder(replacement, instead_of=words):
        return "a placeholder instead of a replacement"
    if len(replacement.splitlines()) > len(words.splitlines()):
        return "a replacement with more lines than what it is to replace"
    if len(replacement) > max(_SHORTEST_LIMIT, _LENGTH_FACTOR * len(words)):
        return "a replacement that is far too long"
    return "the model declined" if is_refusal(replacement) else None


def _edit(text: str, place: _Place, quoted: str, replacement: str) -> Edit:
    before = text[place.span.start : place.span.end]
    after = recased(replacement, before, quoted)
    return Edit(place.span, before, after, place.judged[0].leak.attribute)
