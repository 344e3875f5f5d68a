"""The conversations of a request, or a refusal that names the place and quotes nothing."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from dynaserve.canarybench import Conversation
from dynaserve.canarybench.conversations import require_distinct
from dynaserve.serving.refused import RefusedError, TooLargeError
from dynaserve.serving.requests import named, parse
from dynaserve.serving.settings import SummariesSettings

FIELDS = ("id", "user", "text")
EXAMPLE = '{"conversations": [{"id": "...", "user": "...", "text": "..."}, ...]}'
MOST_NAME_CHARACTERS = 200
"""Of an id or a user."""


class TooFewError(RefusedError):
    """Too few people stand behind the request for anything to be published."""

    status = HTTPStatus.UNPROCESSABLE_ENTITY


def read_conversations(
    body: bytes | bytearray, settings: SummariesSettings
) -> tuple[Conversation, ...]:
    """Return the conversations in the body of a request.

    Raises
    ------
    TooLargeError
        There are more of them, or longer ones, than the settings allow.
    TooFewError
        They come from fewer users than the settings demand.
    RefusedError
        The body is not what was asked for; the message names the first place.
    """
    document = parse(body, f"(and lone surrogates are no text); send {EXAMPLE}")
    if not isinstance(document, dict) or set(document) != {"conversations"}:
        raise RefusedError(f'send one object with the one field "conversations": {EXAMPLE}')
    items = document["conversations"]
    if not isinstance(items, list):
        raise RefusedError(f'"conversations" must be a list, not {named(items)}')
    if len(items) > settings.max_conversations:
        raise TooLargeError(
            f'"conversations" holds {len(items)}; send at most {settings.max_conversations} at once'
        )
    conversations = tuple(
        _conversation(item, number, settings.max_characters) for number, item in enumerate(items)
    )
    try:
        require_distinct(conversations)
    except ValueError as error:
        raise RefusedError(str(error)) from None
    require_users(conversations, settings.k_min)
    return conversations


def require_users(conversations: tuple[Conversation, ...], k_min: int) -> None:
    """Refuse conversations of fewer different users than a published cluster must have."""
    users = len({conversation.user for conversation in conversations})
    if users < k_min:
        raise TooFewError(
            f"too few people to publish anything about them: conversations of at least {k_min} "
            f"different users are needed, these are of {users}; send those of {k_min - users} more"
        )


def _conversation(item: Any, number: int, max_characters: int) -> Conversation:
    """Return what stands at a position, counted from 0 as in JSON."""
    where = f"conversation {number}"
    if not isinstance(item, dict):
        raise RefusedError(f"{where} is {named(item)}, not an object; send {EXAMPLE}")
    if set(item) != set(FIELDS):
        lacking = [name for name in FIELDS if name not in item]
        what = f'lacks "{lacking[0]}"' if lacking else "has other fields too"
        raise RefusedError(f'{where} {what}; it needs "id", "user" and "text", and nothing else')
    for name, most in zip(
        FIELDS, (MOST_NAME_CHARACTERS, MOST_NAME_CHARACTERS, max_characters), strict=True
    ):
        value = item[name]
        if not isinstance(value, str):
            raise RefusedError(f'{where}: its "{name}" is {named(value)}; send a string')
        if not value and name != "text":
            raise RefusedError(f'{where}: its "{name}" is empty')
        if len(value) > most:
            raise TooLargeError(
                f'{where}: its "{name}" has {len(value)} characters; send at most {most}'
            )
    return Conversation(**item)
