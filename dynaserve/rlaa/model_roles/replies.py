"""What a model may reply, and the only way to read it.

A reply is one whole JSON document of the shape that was asked for, or it is nothing: no search
for brackets, no repair, no part of a list. Whatever could make a reply say less than it does (a
list cut short, a key given twice, an attribute under another name) is an error, never "no leak".
Errors name the place and the kind of fault, never words of the reply.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NoReturn, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from dynaserve.rlaa.model_roles.attributes import canonical
from dynaserve.rlaa.records import Leak, Level
from dynaserve.rlaa.roles import RoleError, TooMuchError
from dynaserve.rlaa.spans import fold

MAX_LEAKS = 24
"""A longer list is not allowed by the schema, so one as long may have been cut off."""


def _text(text: str) -> str:
    text.encode()  # a lone surrogate, which JSON can spell, is a ValueError
    return text


def _said(text: str) -> str:
    if not fold(text):
        raise ValueError("says nothing")
    return text


_Text = Annotated[str, AfterValidator(_text)]
_Said = Annotated[_Text, AfterValidator(_said)]
"""Text with something in it that can be seen."""
_Number = Annotated[int, Field(ge=1)]


class Reply(BaseModel):
    """A shape of replies: no field but its own, and no value that is nearly of the right type."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True)


class _Leak(Reply):
    attribute: Annotated[str, AfterValidator(canonical)]
    reasoning: _Text
    evidence: _Said
    guess: _Said
    certainty: Annotated[int, Field(ge=1, le=5)]


class _Attack(Reply):
    reasoning: _Text
    leaks: list[_Leak]


class _Grade(Reply):
    number: _Number
    reason: _Text
    # Strict models take no strings for the members of an enumeration.
    level: Annotated[Level, Field(strict=False)]


class _Grades(Reply):
    grades: list[_Grade]


class _Replacement(Reply):
    number: _Number
    replacement: _Text


class _Replacements(Reply):
    replacements: list[_Replacement]


class _Rewrite(Reply):
    text: _Said


def attack_schema(attributes: Sequence[str]) -> dict[str, Any]:
    """Return the JSON schema of an attack on these attributes."""
    leak = _object(
        attribute={"enum": list(attributes)},
        reasoning=_string(240),
        evidence=_string(160, least=1),
        guess=_string(80, least=1),
        certainty={"enum": [1, 2, 3, 4, 5]},
    )
    return _object(
        reasoning=_string(480), leaks={"type": "array", "items": leak, "maxItems": MAX_LEAKS}
    )


def grades_schema(count: int) -> dict[str, Any]:
    """Return the JSON schema of that many grades."""
    grade = _object(
        number={"enum": list(range(1, count + 1))},
        reason=_string(80),
        level={"enum": [level.value for level in Level]},
    )
    return _object(grades=_exactly(count, grade))


def replacements_schema(count: int) -> dict[str, Any]:
    """Return the JSON schema of that many replacements."""
    replacement = _object(
        number={"enum": list(range(1, count + 1))}, replacement=_string(160, least=1)
    )
    return _object(replacements=_exactly(count, replacement))


def rewrite_schema() -> dict[str, Any]:
    """Return the JSON schema of a text; what bounds it is the limit of tokens."""
    return _object(text={"type": "string", "minLength": 1})


def read_attack(reply: str, attributes: Sequence[str]) -> tuple[Leak, ...]:
    """Return the leaks of an attack on these attributes.

    Raises
    ------
    RoleError
        If it is unreadable, or speaks of an attribute that was not asked for.
    TooMuchError
        If it has `MAX_LEAKS` leaks or more: then some may be missing.
    """
    leaks = read_reply(_Attack, reply).leaks
    if len(leaks) >= MAX_LEAKS:
        raise TooMuchError(f"a list of {MAX_LEAKS} leaks or more, which may have been cut off")
    if any(leak.attribute not in attributes for leak in leaks):
        raise RoleError("a leak of an attribute that was not asked for")
    return tuple(Leak(**leak.model_dump()) for leak in leaks)


def read_grades(reply: str, count: int) -> list[tuple[Level, str]]:
    """Return that many grades, with their reasons, in the order of their numbers.

    Raises
    ------
    RoleError
        If it is unreadable, or a grade is missing, given twice, or of something else.
    """
    grades = _in_order(read_reply(_Grades, reply).grades, count)
    return [(grade.level, grade.reason) for grade in grades]


def read_replacements(reply: str, count: int) -> list[str]:
    """Return that many replacements, in the order of their numbers.

    Raises
    ------
    RoleError
        If it is unreadable, or a replacement is missing, given twice, or of something else.
    """
    replacements = _in_order(read_reply(_Replacements, reply).replacements, count)
    return [replacement.replacement for replacement in replacements]


def read_rewrite(reply: str) -> str:
    """Return the text of a rewrite; RoleError if it is unreadable or blank."""
    return read_reply(_Rewrite, reply).text


_Shape = TypeVar("_Shape", bound=Reply)
_Entry = TypeVar("_Entry", _Grade, _Replacement)


def read_reply(shape: type[_Shape], reply: str) -> _Shape:
    """Return a reply, which is one whole JSON document of a shape.

    Raises
    ------
    RoleError
        If it is not. It has no word of the reply.
    """
    try:
        return shape.model_validate(
            json.loads(
                reply,
                object_pairs_hook=_object_of_unique_keys,
                parse_constant=_refuse,
                strict=False,  # line breaks as they are: some grammars let them into strings
            )
        )
    except ValidationError as error:
        fault = _first_fault(error)
    except (ValueError, RecursionError):
        fault = "not one whole JSON document"
    # Out here the error carries no trace of the one above, which holds the reply.
    raise RoleError(fault)


def _object_of_unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    read = dict(pairs)
    if len(read) < len(pairs):
        raise ValueError("a key given twice")
    return read


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def _first_fault(error: ValidationError) -> str:
    fault = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place, kind = list(fault["loc"]), fault["type"]
    if kind == "extra_forbidden":
        place.pop()  # the model's word
    at = ".".join(str(step) for step in place)
    return f"JSON of the wrong shape ({kind}{' at ' + at if at else ''})"


def _in_order(entries: list[_Entry], count: int) -> list[_Entry]:
    ordered = sorted(entries, key=lambda entry: entry.number)
    if [entry.number for entry in ordered] != list(range(1, count + 1)):
        raise RoleError(f"a list whose numbers are not 1 to {count}, each once")
    return ordered


def _object(**properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _exactly(count: int, items: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": count, "maxItems": count}


def _string(most: int, *, least: int = 0) -> dict[str, Any]:
    return {"type": "string", "minLength": least, "maxLength": most}
