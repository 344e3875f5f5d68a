"""What grants access: keys and tokens, pass phrases, and canaries of other benchmarks."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from dynaserve.redaction.span import Span

_TOKEN = re.compile(r"[A-Za-z0-9_+/=.\-]{12,}")
_PIECE = re.compile(r"[A-Za-z0-9+/]{16,}")
_PREFIXED = re.compile(
    r"(?:sk|pk|rk|gh[opsu]|glpat|xox[a-z]|api|key|tok|token|sec|secret|pat)[-_](?=.*\d)\S{8,}",
    re.IGNORECASE,
)
_MIXED = re.compile(r"(?=[^\d]*\d)(?=[\d+/]*[A-Za-z])")
_HUMPS = re.compile(r"[a-z][A-Z]")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_DISTINCT = 10
"""Different characters from which on a piece with letters and digits is no word: more than three
bits of Hartley entropy."""

_WORD = r"[^\W\d_]"
_NOT_IN_WORD = rf"(?<!{_WORD})"
_PHRASE = re.compile(
    # three words or more and a number, or four longer words, as pass phrases are made
    rf"(?<![-_]){_NOT_IN_WORD}{_WORD}{{2,40}}(?:[-_]{_WORD}{{2,40}}){{2,7}}[-_]?\d{{2,12}}"
    rf"|(?<![-_]){_NOT_IN_WORD}{_WORD}{{4,40}}(?:[-_]{_WORD}{{4,40}}){{3,7}}"
    r"|(?<!\w)canary[-_][\w-]{3,64}",
    re.IGNORECASE,
)

_CUES = ("pass", "pin", "code", "phrase", "word", "answer", "secret", "token", "key")
_CUE = re.compile(
    r"(?<![^\W\d_])(?<!\[)(?:pass\s?(?:word|phrase|code)|pin|code\s?word|recovery\s(?:code|phrase)"
    r"|secret|token"
    r"|security\s(?:word|phrase|answer|code)|api\skey)\b",
    re.IGNORECASE,
)
_AFTER_CUE = re.compile(r"[^.!?\n\"']{0,27}")
_SIGN = re.compile(r"(?:\b(?:is|was)\b|[:=])\s{0,3}", re.IGNORECASE)
_MOST_SIGNS = 2
"""After a cue, as in "my pin is: 4821"; more would make every cue costly."""
_CUED = re.compile(
    r"[\"'\u201c\u2018](?P<quoted>[^\"'\u201d\u2019\n\[\]]{3,80})"
    r"|(?P<bare>(?=[^\s\d_!@#$%^&*=-]{0,30}[\d_!@#$%^&*=-])[^\s\[\]\"']{3,64})"
)


def tokens(text: str) -> Iterator[Span]:
    """Find strings too random to be words: keys, tokens, hashes, encoded data."""
    for match in _TOKEN.finditer(text):
        found = match.group()
        token = found.rstrip(".-")
        if _PREFIXED.fullmatch(token) or _UUID.search(token) or _is_random(token):
            yield Span(match.start(), match.start() + len(token), "SECRET")


def _is_random(token: str) -> bool:
    return any(
        len(set(piece)) >= _DISTINCT and (_MIXED.match(piece) or len(_HUMPS.findall(piece)) >= 3)
        for piece in _PIECE.findall(token)
    )


def phrases(text: str) -> Iterator[Span]:
    """Find joined words of the kind that pass phrases and canaries are."""
    if "-" not in text and "_" not in text:
        return
    for match in _PHRASE.finditer(text):
        yield Span(match.start(), match.end(), "SECRET")


def cued_secrets(text: str) -> Iterator[Span]:
    """Find what follows "my password is" and the like, if it is quoted or no plain word."""
    lowered = text.lower()
    if not any(cue in lowered for cue in _CUES):
        return
    for cue in _CUE.finditer(text):
        after = _AFTER_CUE.match(text, cue.end())
        signs = _SIGN.finditer(text, cue.end(), after.end() if after else cue.end())
        for sign in itertools.islice(signs, _MOST_SIGNS):
            if found := _CUED.match(text, sign.end()):
                group = "quoted" if found["quoted"] is not None else "bare"
                secret = found[group].rstrip(".,;:!?)")
                yield Span(found.start(group), found.start(group) + len(secret), "SECRET")
                break
