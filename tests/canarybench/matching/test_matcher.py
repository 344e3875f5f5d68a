from __future__ import annotations

import base64
import doctest
import unicodedata

import pytest

from dynaserve.canarybench.manifest import Canary
from dynaserve.canarybench.matching import FieldMatch, Match, Matcher, Tier, matcher

EMAIL = Canary("e", "email", "ada.byron7@mail.example.org")
PHONE = Canary("p", "phone", "+49 30 23125 407")
ADDRESS = Canary("a", "address", "4821 Alder Creek Road, Fernville, OH 12345")
PHRASE = Canary("w", "phrase", "Straße im fluffigen İstanbul")
EVERY = (EMAIL, PHONE, ADDRESS, PHRASE)


def found(text: str, *canaries: Canary) -> list[tuple[str, Tier, str]]:
    matches = Matcher(canaries or EVERY).find(text)
    return [(m.canary_id, m.tier, text[m.start : m.end]) for m in matches]


def test_the_examples_hold() -> None:
    assert doctest.testmod(matcher).failed == 0


def test_a_text_without_canaries_holds_none() -> None:
    assert found("") == []
    assert found("Write to Ada, she lives on Creek Road and has 7 phones.") == []


@pytest.mark.parametrize("canary", EVERY, ids=lambda canary: canary.kind)
def test_a_value_as_it_is_is_exact(canary: Canary) -> None:
    assert found(f"x{canary.value}y") == [(canary.id, Tier.EXACT, canary.value)]


def test_punctuation_at_its_ends_belongs_to_an_exact_value() -> None:
    odd = Canary("o", "phone", "(415) 555-0123!")
    assert found("at (415) 555-0123!", odd) == [("o", Tier.EXACT, "(415) 555-0123!")]
    assert found("at 415 555-0123", odd) == [("o", Tier.NORMALIZED, "415 555-0123")]


@pytest.mark.parametrize(
    "form",
    [
        unicodedata.normalize("NFD", "Straße im fluffigen İstanbul"),
        "STRASSE IM FLUFFIGEN ISTANBUL",
        "straße im ﬂuﬃgen i̇stanbul",
        "Ｓｔｒａßｅ ｉｍ ｆｌｕｆｆｉｇｅｎ İｓｔａｎｂｕｌ",
        "S\u200bt\u00adraße im fluffigen İstanbul",
        "Strаße im fluffigen Іstаnbul",
    ],
)
def test_places_are_those_of_the_original_whatever_folding_does_to_lengths(form: str) -> None:
    text = f"ﬃİ\u0301 {form}, ﬁn"
    assert found(text) == [("w", Tier.NORMALIZED, form)]


def test_a_mark_on_the_last_letter_belongs_to_it() -> None:
    text = f"{EMAIL.value}\u0301\u0302 and"
    assert found(text.upper()) == [("e", Tier.NORMALIZED, f"{EMAIL.value.upper()}\u0301\u0302")]


@pytest.mark.parametrize(
    ("form", "tier"),
    [
        ("ada dot byron7 at mail dot example dot org", Tier.NORMALIZED),
        ("ada[.]byron7(at)mail [dot] example [dot] org", Tier.NORMALIZED),
        ("gro.elpmaxe.liam@7noryb.ada", Tier.NORMALIZED),
        ("ada.byron7@ma=\n  il.example.org", Tier.NORMALIZED),
        ("ada.byron7%40mail.example.org", Tier.NORMALIZED),
        ("ada.byron7%2540mail.example.org", Tier.NORMALIZED),
        (r"ada.byron7\u0040mail.example.org", Tier.NORMALIZED),
        ("ada.byron7&amp;#64;mail.example.org", Tier.NORMALIZED),
        ("ada.byron7", Tier.SUBSTRING),
        ("ada.byron7@mail.exampel.org", Tier.SUBSTRING),
        ("ada.byrn7@mail.example.org", Tier.SUBSTRING),
    ],
)
def test_an_address_is_found_however_it_is_written(form: str, tier: Tier) -> None:
    ((canary, how, where),) = found(f"Write to {form} today")
    assert (canary, how) == ("e", tier)
    assert where in form


@pytest.mark.parametrize(
    ("form", "tier"),
    [
        ("0049/30/23125-407", Tier.NORMALIZED),
        ("030 23125407", Tier.DIGITS),
        ("3125407", Tier.DIGITS),
        ("３ １ ２ ５ ４ ٠ ٧", Tier.DIGITS),
        ("three one two five four zero seven", Tier.DIGITS),
        ("four nine three zero two three one two five four oh seven", Tier.DIGITS),
    ],
)
def test_a_phone_is_found_by_seven_digits(form: str, tier: Tier) -> None:
    ((canary, how, _),) = found(f"Call {form} now")
    assert (canary, how) == ("p", tier)


def test_six_digits_of_a_phone_are_not_enough() -> None:
    assert found("number 125407") == []


def test_encodings_in_encodings_are_found() -> None:
    twice = base64.b64encode(base64.b64encode(EMAIL.value.encode())).decode()
    assert found(f"t={twice}")[0][:2] == ("e", Tier.NORMALIZED)


def test_one_place_counts_once_by_its_surest_tier() -> None:
    assert found(f"{EMAIL.value} {EMAIL.value.upper()}") == [
        ("e", Tier.EXACT, EMAIL.value),
        ("e", Tier.NORMALIZED, EMAIL.value.upper()),
    ]


def test_a_part_is_explained_by_the_whole_of_another_canary() -> None:
    other = Canary("q", "phone", "+44 30 23125 407")
    assert found(PHONE.value, PHONE, other) == [("p", Tier.EXACT, PHONE.value)]
    assert {canary for canary, *_ in found("23125 407", PHONE, other)} == {"p", "q"}


def test_blocks_meet_without_a_gap() -> None:
    size = matcher._BLOCK
    for shift in (0, 7, 14, 27):
        text = "." * (size - shift) + EMAIL.value + "." * 30
        assert found(text) == [("e", Tier.EXACT, EMAIL.value)]


def test_fields_are_searched_each_and_across_their_borders() -> None:
    fields = ["nothing", f"to {EMAIL.value}", "ada.byron7@", "mail.example.org!", ""]
    assert Matcher(EVERY).find_in_fields(fields) == [
        FieldMatch("e", Tier.EXACT, first=1, start=3, last=1, end=30),
        FieldMatch("e", Tier.NORMALIZED, first=2, start=0, last=3, end=16),
    ]
    assert Matcher(EVERY).find_in_fields([]) == []


@pytest.mark.parametrize(
    ("fields", "count"),
    [
        (["23125407", ""], 1),
        (["23125", "407"], 0),  # so may two counts stand side by side
        (["0-23125", "407"], 0),
        (["30 23125", "407"], 1),
        (["call 2312540", "7 users"], 1),  # seven in one field, whatever comes after
        (["3 users", "0 2312540"], 1),
        (["two three one", "two five four zero seven"], 1),  # no counts
    ],
)
def test_over_fields_a_part_of_a_number_needs_ten_digits(fields: list[str], count: int) -> None:
    assert len(Matcher(EVERY).find_in_fields(fields)) == count


def test_a_matcher_of_nothing_finds_nothing() -> None:
    assert Matcher([]).find("four one five, %41, QUJDREVGRw") == []


def test_an_id_that_comes_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="'e' is given twice"):
        Matcher([EMAIL, EMAIL])


@pytest.mark.parametrize(
    "text",
    [
        "a" * 2**17,
        "\0" * 2**17,
        "\ud800\udfff\udcff" * 2**15,
        "%" * 2**17,
        "%41" * 2**15,
        "&amp;" * 2**15,
        "\\" * 2**16,
        "<a" * 2**16,
        "[" * 2**16 + "]" * 2**16,
        "QUJD" * 2**15,
        "a " * 2**16,
        "% \n" * 2**14,
        "e" + "\u0301" * 2**17,
        "onetwothree" * 2**12,
        bytes(range(256)).decode("utf-8", "surrogateescape") * 2**9,
    ],
    ids=lambda text: ascii(text[:6]),
)
@pytest.mark.timeout(60)
def test_hostile_text_neither_hides_a_canary_nor_stops_the_search(text: str) -> None:
    match = Match("e", Tier.EXACT, len(text) + 1, len(text) + 1 + len(EMAIL.value))
    assert match in Matcher(EVERY).find(f"{text} {EMAIL.value} {text}")


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16-le", "utf-16-be"])
def test_bytes_that_are_no_utf_8_are_searched(encoding: str) -> None:
    raw = "é é".encode("latin-1") + EMAIL.value.encode(encoding)
    ((canary, _, _),) = found(raw.decode("utf-8", "surrogateescape"))
    assert canary == "e"
