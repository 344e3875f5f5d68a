"""Redaction in layers: what looks personal or secret in a text becomes a label.

Every layer reads the original text, and whatever any of them finds goes: where finds overlap, all
they cover becomes one label. In doubt something is taken out. Time grows linearly with the
text, whatever it holds: patterns are bounded, or begin where no other match of theirs can.
The benchmark's paper (arXiv 2601.18834) does not publish its patterns; these are our choice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from dynaserve.redaction.contact import addresses, urls
from dynaserve.redaction.graphemes import whole_clusters
from dynaserve.redaction.mail import emails
from dynaserve.redaction.numbers import ibans, ip_addresses, mac_addresses, numbers
from dynaserve.redaction.secrets import cued_secrets, phrases, tokens
from dynaserve.redaction.span import Span, merged

LAYERS: tuple[Callable[[str], Iterator[Span]], ...] = (
    emails,
    urls,
    ip_addresses,
    mac_addresses,
    ibans,
    addresses,
    phrases,
    tokens,
    numbers,
    cued_secrets,
)
"""Where finds of several layers overlap, the first one names them."""
_NEED_DIGITS = {ip_addresses, ibans, addresses, numbers}
_WITHOUT_DIGITS = tuple(layer for layer in LAYERS if layer not in _NEED_DIGITS)
_DIGIT = re.compile(r"\d")

__all__ = ["LAYERS", "Span", "find_personal", "redact"]


def find_personal(text: str) -> list[Span]:
    """Return where a text looks personal or secret, from left to right, without overlaps.

    Examples
    --------
    >>> find_personal("Ask ada.quill@example.com.")
    [Span(start=4, end=25, label='EMAIL')]
    """
    layers = LAYERS if _DIGIT.search(text) else _WITHOUT_DIGITS
    return merged(_whole(text, span) for layer in layers for span in layer(text))


def _whole(text: str, span: Span) -> Span:
    start, end = whole_clusters(text, span.start, span.end)
    return Span(start, end, span.label)


def redact(text: str) -> str:
    """Return the text with a label in place of all that looks personal or secret.

    Examples
    --------
    >>> redact("Ask ada.quill@example.com or +44 20 7946 0123.")
    'Ask [EMAIL] or [PHONE].'
    """
    pieces: list[str] = []
    at = 0
    for span in find_personal(text):
        pieces += (text[at : span.start], f"[{span.label}]")
        at = span.end
    return "".join((*pieces, text[at:]))
