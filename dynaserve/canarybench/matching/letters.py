"""What a single character is to the eye: the facts about Unicode that matching rests on.

Both functions work character by character, so that folding a text is folding its characters one
after the other: no neighbour matters, and every character of the result has one origin.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

_LOOKALIKES = """
    AАΑᎪ BВΒᏴ CСϹᏟ DᎠĐ EЕΕᎬ FϜ GԌᏀ HНΗᎻ IІΙӀ JЈͿᎫ KКΚᏦ LᏞŁ MМΜᎷ NΝ OОΟՕØ PРΡᏢ QԚ RᎡᏒ SЅՏᏚ TТΤᎢ
    UՍՙ VѴᏙ WԜᎳ XХΧ YУҮΥ ZΖᏃ aаαɑᴀ bвβƅʙЬ cсϲᴄ dԁđᴅ eеεҽᴇ fϝғ gɡցԍ hһнհħʜ iіιıɪ jјϳᴊ kкκᴋ lӏłʟ
    mмᴍ nոηɴ oоοօøᴏ pрρᴘ qԛզ rгʀ sѕꜱ tтτŧᴛ uսυμᴜ vѵνᴠ wԝᴡ xхχ yуүʏ zζᴢ -‐‑‒–—− .。․ /⁄∕ :∶ %٪
"""
"""A plain character, then those that look like it.

Cyrillic, Greek, Armenian, Cherokee, small capitals, letters with strokes; and the punctuation that
escapes and encodings are written with. A capital and its small letter stand for the same Latin
letter, unless the small one looks like another.
"""
_PLAIN = {ord(twin): group[0] for group in _LOOKALIKES.split() for twin in group[1:]}
_ENCLOSED = {
    first + offset: chr(ord("A") + offset)
    for first in (0x1F150, 0x1F170, 0x1F1E6)  # white on black, and regional indicators
    for offset in range(26)
}
_FILLERS = "\u115f\u1160\u2800\u3164\uffa0"
"""Letters and symbols by category, blank to the eye."""
_UNSEEN = {"Mn", "Me", "Cf"}


@lru_cache(maxsize=1 << 14)
def plain(character: str) -> str:
    """Return the plainest characters that look alike, in the same case; none for invisible ones.

    Compatibility forms (NFKD), lookalikes of Latin letters, decimal digits of any script.
    """
    decomposed = unicodedata.normalize("NFKD", character)
    return "".join(
        _plainest(c)
        for c in decomposed
        if c not in _FILLERS and unicodedata.category(c) not in _UNSEEN
    )


@lru_cache(maxsize=1 << 14)
def letters(character: str) -> str:
    """Return what of a character tells words apart: letters and digits without case, emoji."""
    # Some scripts fold to capitals, which may look like Latin ones.
    folded = "".join(plain(c) for c in plain(character).casefold()).casefold()
    return "".join(c for c in folded if c.isalnum() or unicodedata.category(c) == "So")


def _plainest(character: str) -> str:
    digit = unicodedata.decimal(character, None)
    if digit is not None:
        return str(digit)
    code = ord(character)
    return _PLAIN.get(code) or _ENCLOSED.get(code, character)
