"""From messages to the tokens of a prompt, in the format that the model was trained on.

No text of a message can become a control token, so that nobody ends a turn by writing how a turn
ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dynaserve.rlaa.llm.protocol import LLMError, Message

Tokenize = Callable[[str, bool], list[int]]
"""Text, and whether what is spelt like a control token is one -> tokens."""


class ChatFormat:
    """The chat template of a model.

    Parameters
    ----------
    render
        A list of messages (dictionaries ``role``, ``content``) -> the prompt, control tokens
        spelt out, up to where the answer begins. Raises what it likes at messages it refuses.
    tokenize
        Of the model; adds nothing by itself.
    """

    def __init__(self, render: Callable[[list[dict[str, str]]], str], tokenize: Tokenize) -> None:
        self._render, self._tokenize = render, tokenize

    def prompt(self, messages: Sequence[Message]) -> list[int]:
        """Return the tokens of a conversation, up to where the answer begins.

        Raises
        ------
        LLMError
            If the template refuses the messages.
        """
        if not any(self._spells_control(message.content) for message in messages):
            return self._tokenize(self._text(messages), True)
        return self._piecewise(messages)

    def first_token(self, messages: Sequence[Message], answer: str) -> int:
        """Return the token that an answer begins with, where it stands after the prompt."""
        prompt = self._tokenize(self._text(messages), True)
        whole = self._tokenize(self._text(messages) + answer, True)
        if whole[: len(prompt)] == prompt and len(whole) > len(prompt):
            return whole[len(prompt)]
        return self._tokenize(answer, False)[0]

    def _spells_control(self, text: str) -> bool:
        return self._tokenize(text, True) != self._tokenize(text, False)

    def _piecewise(self, messages: Sequence[Message]) -> list[int]:
        """Let only the template's own words hold control tokens.

        Words no longer join into tokens across a seam, which is why this is not always done.
        """
        marks = [f"\ufdd0{number}\ufdd1" for number in range(len(messages))]  # in no text
        blank = [Message(m.role, mark) for m, mark in zip(messages, marks, strict=True)]
        rest, tokens = self._text(blank), list[int]()
        for message, mark in zip(messages, marks, strict=True):
            before, found, rest = rest.partition(mark)
            if not found:
                raise LLMError("the model's chat template leaves a message out")
            tokens += self._tokenize(before, True) + self._tokenize(message.content, False)
        return tokens + self._tokenize(rest, True)

    def _text(self, messages: Sequence[Message]) -> str:
        try:
            return self._render(_turns(messages))
        except Exception:  # a template raises what it likes
            folded = _without_system(messages)
        try:
            return self._render(_turns(folded))
        except Exception as error:  # what it says may quote a prompt
            raise LLMError(f"the model's chat template failed: {type(error).__name__}") from None


def _turns(messages: Sequence[Message]) -> list[dict[str, str]]:
    return [{"role": message.role, "content": message.content} for message in messages]


def _without_system(messages: Sequence[Message]) -> list[Message]:
    """For templates that know no system turn: its words open the turn after it."""
    if len(messages) < 2 or messages[0].role != "system":
        return list(messages)
    system, first, *others = messages
    return [Message(first.role, f"{system.content}\n\n{first.content}"), *others]
