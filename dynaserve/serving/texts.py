"""The texts of a request to the anonymizer, or a refusal that names the place, not the text."""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from dynaserve.rlaa.records import ATTRIBUTES
from dynaserve.serving.refused import RefusedError, TooLargeError
from dynaserve.serving.requests import named, parse
from dynaserve.serving.settings import AnonymizerSettings
from dynaserve.serving.single_keys import TwiceError, single_keys

FIELDS = {"text", "attributes", "mode"}
MODES = ("edit", "rewrite")
EXAMPLE = '{"text": "...", "attributes": ["age", ...], "mode": "edit"}'
ITEMS_EXAMPLE = '{"items": [{"text": "..."}, ...]}'


@dataclass(frozen=True)
class Asked:
    """One text to anonymize, and how; None is as the service does it unless told."""

    text: str = field(repr=False)
    attributes: tuple[str, ...] | None = None
    mode: str | None = None


def read_text(body: bytes | bytearray, settings: AnonymizerSettings) -> Asked:
    """Return what the body of a request asks for.

    Raises
    ------
    TooLargeError
        The text is longer than the settings allow.
    RefusedError
        The body is not what was asked for.
    """
    return asked(document(body, EXAMPLE), "the body", settings)


def read_items(
    body: bytes | bytearray, settings: AnonymizerSettings
) -> tuple[Asked | RefusedError, ...]:
    """Return what each item of a batch asks for, or why it is refused.

    Raises
    ------
    TooLargeError
        There are more of them than the settings allow.
    RefusedError
        The body is not a batch at all.
    """
    batch = document(body, ITEMS_EXAMPLE)
    if not isinstance(batch, dict) or {*batch} != {"items"}:
        raise RefusedError(f'send one object with the one field "items": {ITEMS_EXAMPLE}')
    items = batch["items"]
    if not isinstance(items, list):
        raise RefusedError(f'"items" must be a list, not {named(items)}')
    if not items:
        raise RefusedError('"items" holds nothing; send at least one')
    if len(items) > settings.max_items:
        raise TooLargeError(
            f'"items" holds {len(items)}; send at most {settings.max_items} at once'
        )
    return tuple(asked_or_refused(item, f"item {n}", settings) for n, item in enumerate(items))


def document(body: bytes | bytearray, example: str) -> Any:
    """Return the JSON document of a body; a byte order mark before it is none of it."""
    body = body.removeprefix(BOM_UTF8)
    parsed = parse(body, f"(and lone surrogates are no text); send {example}")
    try:  # the parser above is strict about all but this
        json.loads(body, object_pairs_hook=single_keys)
    except TwiceError as error:
        key = f'"{error.key}"' if error.key in {*FIELDS, "items"} else "a key"
        raise RefusedError(f"{key} stands twice in one object; send it once") from None
    except RecursionError:
        raise RefusedError(f"the JSON is nested too deep; send {example}") from None
    except ValueError:  # such as a number of 5,000 digits
        raise RefusedError(f"the JSON holds what no field takes; send {example}") from None
    return parsed


def asked_or_refused(value: Any, where: str, settings: AnonymizerSettings) -> Asked | RefusedError:
    """Return one item, or its refusal, which fails no other."""
    try:
        return asked(value, where, settings)
    except RefusedError as refused:
        return refused


def asked(value: Any, where: str, settings: AnonymizerSettings) -> Asked:
    """Return what a JSON value asks for."""
    if not isinstance(value, dict):
        raise RefusedError(f"{where} is {named(value)}, not an object; send {EXAMPLE}")
    if {*value} - FIELDS:
        raise RefusedError(
            f'{where} has other fields than "text", "attributes" and "mode"; send {EXAMPLE}'
        )
    text = value.get("text")
    if not isinstance(text, str):
        what = f'its "text" is {named(text)}' if "text" in value else 'it lacks "text"'
        raise RefusedError(f"{where}: {what}; send a string")
    if len(text) > settings.max_characters:
        raise TooLargeError(
            f'{where}: its "text" has {len(text)} characters; '
            f"send at most {settings.max_characters}"
        )
    attributes = value.get("attributes")
    return Asked(
        text,
        None if attributes is None else names_of(attributes, where),
        None if value.get("mode") is None else one_of(value["mode"], MODES, f'{where}: its "mode"'),
    )


def names_of(values: Any, where: str) -> tuple[str, ...]:
    """Return names of attributes."""
    if not isinstance(values, list):
        raise RefusedError(f'{where}: its "attributes" is {named(values)}; send a list of names')
    return tuple(
        one_of(value, ATTRIBUTES, f'{where}: attribute {number} of "attributes"')
        for number, value in enumerate(values)
    )


def one_of(value: Any, names: Collection[str], what: str) -> str:
    """Return a value that must be one of some names; a refusal does not repeat it."""
    if not isinstance(value, str) or value not in names:
        raise RefusedError(f"{what} is none of {', '.join(names)}")
    return value
