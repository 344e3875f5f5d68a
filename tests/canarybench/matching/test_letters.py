from __future__ import annotations

import unicodedata

import pytest

from dynaserve.canarybench.matching.letters import letters, plain


@pytest.mark.parametrize(
    ("character", "expected"),
    [
        ("A", "a"),
        ("İ", "i"),  # capital dotted I: two characters when lowered
        ("ı", "i"),
        ("ß", "ss"),
        ("ﬃ", "ffi"),
        ("Ａ", "a"),
        ("＠", ""),
        ("é", "e"),
        ("\u0301", ""),
        ("\u200b", ""),
        ("\u00ad", ""),
        ("\u3164", ""),  # the Hangul filler is a letter to Unicode, blank to the eye
        ("𝐳", "z"),
        ("٣", "3"),
        ("³", "3"),
        ("Ⅷ", "viii"),
        ("а", "a"),  # Cyrillic
        ("Ρ", "p"),  # Greek
        ("ø", "o"),
        ("🅱", "b"),
        ("日", "日"),
        ("🦊", "🦊"),
        ("_", ""),
        ("\0", ""),
        ("\ud800", ""),
    ],
)
def test_a_character_is_told_by_its_letters_and_digits(character: str, expected: str) -> None:
    assert letters(character) == expected


def test_plain_characters_keep_their_case_and_punctuation() -> None:
    assert "".join(map(plain, "ＡｂС％＠\u200b—ﬁ٤")) == "AbC%@-fi4"


def test_folding_again_changes_nothing() -> None:
    for code in range(0x20000):  # what lies above are ideographs and signs without case
        folded = letters(chr(code))
        assert "".join(map(letters, folded)) == folded, hex(code)


@pytest.mark.parametrize("word", ["ᾴ", "Å", "ǆ", "가", "각"])
def test_the_form_of_normalization_makes_no_difference(word: str) -> None:
    forms = {unicodedata.normalize(form, word) for form in ("NFC", "NFD", "NFKC", "NFKD")}
    assert len({"".join(map(letters, form)) for form in forms}) == 1
