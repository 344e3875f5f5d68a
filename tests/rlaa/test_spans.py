"""Where evidence stands in a text, and what replacing it leaves alone."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaserve.rlaa import spans
from dynaserve.rlaa.records import Edit, Span
from dynaserve.rlaa.spans import apply, find_mentions, fold, merged, touched, utf16


def found(text: str, evidence: str) -> list[str]:
    return [text[span.start : span.end] for span in find_mentions(text, evidence)]


def test_every_mention_is_found_whatever_its_case() -> None:
    assert found("PORTO, Porto's hills, porto. Portobello!", "Porto") == ["PORTO", "Porto", "porto"]


@pytest.mark.parametrize(
    ("text", "evidence", "expected"),
    [
        ("I’m 31 now", "I'm 31", "I’m 31"),
        ("I'm 31 now", "I’m 31", "I'm 31"),
        ("he said “yes” twice", '"yes"', "“yes”"),
        ("open 9–17 daily", "9-17", "9–17"),
        ("at 3 \t\n Elm  Street, she", "3 Elm Street", "3 \t\n Elm  Street"),
        ("no\u00a0break", "no break", "no\u00a0break"),
        ("nu\u00adr\u200bse here", "nurse", "nu\u00adr\u200bse"),
        ("ＮＵＲＳＥ here", "nurse", "ＮＵＲＳＥ"),
        ("from Köln", "Ko\u0308ln", "Köln"),
        ("from Ko\u0308ln", "Köln", "Ko\u0308ln"),
        ("José!", "jose", "José"),
        ("Jose\u0301!", "José", "Jose\u0301"),
        ("Straße 5", "STRASSE", "Straße"),
        ("an oﬃce job", "office job", "oﬃce job"),
        ("I am ٣١ today", "31", "٣١"),
        ("a 👩‍⚕️ in town", "👩⚕", "👩‍⚕️"),
        ("אני גר בירושלים", "ירושלים", "ירושלים"),
        ("שָׁלוֹם לך", "שלום", "שָׁלוֹם"),
        ("أنا من القاهرة", "القاهرة", "القاهرة"),
        ("私は東京に住む", "東京", "東京"),
        ("서울에서 산다", "서울", "서울"),
        ("I live in Porto now", "(Porto)", "Porto"),
        ("I live in Porto now", "[Porto]", "Porto"),
        ("I live in Porto now", "{Porto}", "Porto"),
        ("I live in Porto now", "<Porto>", "Porto"),
        ("I live in Porto now", "**in Porto**", "in Porto"),
        ("I live in Porto now", "_live_ in **Porto**.", "live in Porto"),
        ("I live in (Porto) now", "(Porto)", "(Porto)"),
    ],
)
def test_what_the_eye_does_not_see_is_forgiven(text: str, evidence: str, expected: str) -> None:
    assert found(text, evidence) == [expected]


@pytest.mark.parametrize(
    ("text", "evidence"),
    [
        ("Annapolis", "Anna"),
        ("comparison", "Paris"),
        ("I am 312", "31"),
        ("take the A31", "31"),
        ("9212-555-0142", "212-555-0142"),
        ("か", "が"),
        ("text", ""),
        ("text", " \u200b "),
        ("", "text"),
        ("text", '"..."'),
    ],
)
def test_parts_of_words_and_nothing_at_all_are_no_mention(text: str, evidence: str) -> None:
    assert find_mentions(text, evidence) == ()


@pytest.mark.parametrize(
    "text", ["note212-555-0142", "212-555-0142ext", "x212-555-0142y", "note 212-555-0142."]
)
def test_a_long_value_is_found_though_words_are_glued_to_it(text: str) -> None:
    assert found(text, "212-555-0142") == ["212-555-0142"]


@pytest.mark.parametrize(
    ("text", "evidence", "expected"),
    [
        ("a 👩‍⚕️ in town", "👩", ["👩‍⚕️"]),
        ("🇵🇹🇵🇱", "🇹", ["🇵🇹"]),
        ("ok 👍🏽", "👍", ["👍🏽"]),
        ("no. 3️⃣ here", "3", ["3️⃣"]),
        ("in Portọ́, ok", "Porto", ["Portọ́"]),
    ],
)
def test_no_mention_cuts_what_is_one_character_to_a_reader(text, evidence, expected) -> None:
    assert found(text, evidence) == expected


def test_a_long_number_is_found_however_it_is_grouped() -> None:
    text = "2125550142, (212) 555-0142 or 212 555 0142; 92125550142, 212-555-01423, 212:555:0142"
    assert found(text, "212-555-0142") == ["2125550142", "212) 555-0142", "212 555 0142"]
    assert found("on 12 3 4 and 1234", "1234") == ["1234"]


def test_three_values_divided_by_blanks_are_three() -> None:
    text = "a@example.com b@example.com a@example.com"
    assert find_mentions(text, "a@example.com") == (Span(0, 13), Span(28, 41))


def test_quotes_and_stops_that_a_model_adds_are_ignored() -> None:
    assert found("I live in Porto", '"in Porto."') == ["in Porto"]


def test_mentions_that_touch_or_overlap_are_one() -> None:
    assert find_mentions("😀😀 😀", "😀") == (Span(0, 2), Span(3, 4))
    assert find_mentions("1 1 1", "1 1") == (Span(0, 5),)


@given(st.text(alphabet="ab ", max_size=30), st.text(alphabet="ab ", min_size=1, max_size=8))
def test_mentions_are_those_of_a_regular_expression(text: str, evidence: str) -> None:
    needle = re.sub(" +", " ", evidence).strip()
    pattern = rf"(?=(?<!\w){' +'.join(map(re.escape, needle.split()))}(?!\w))" if needle else "(?!)"
    starts = {match.start() for match in re.finditer(pattern, text)}
    covered = {at for span in find_mentions(text, evidence) for at in range(span.start, span.end)}
    assert starts <= covered
    spans = find_mentions(text, evidence)
    assert {span.start for span in spans} <= starts
    assert bool(spans) == bool(starts)


@given(st.text(max_size=40), st.text(min_size=1, max_size=5))
def test_a_mention_folds_like_the_evidence(text: str, evidence: str) -> None:
    for span in find_mentions(f"{text} {evidence} {text}", evidence):
        assert 0 <= span.start < span.end <= 2 * len(text) + len(evidence) + 2
    if fold(evidence):
        assert find_mentions(f"{text} {evidence} {text}", evidence)


def test_a_long_repetition_takes_no_quadratic_time() -> None:
    # 20,000 rejected places times 20,000 characters would never come back.
    assert find_mentions("ba " * 20_000, "ba " * 7_000 + "b") == ()
    assert find_mentions("a" * 50_000, "a" * 25_000) == ()
    assert find_mentions("\U0001f469\u200d" * 20_000, "\U0001f469")
    assert find_mentions("1 " * 50_000, "1" * 25_000) != ()


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 6))))
def test_merging_covers_the_same_and_leaves_gaps(pairs: list[tuple[int, int]]) -> None:
    spans = [Span(start, start + size) for start, size in pairs]
    union = merged(spans)
    assert {p for s in union for p in range(s.start, s.end)} == {
        p for s in spans for p in range(s.start, s.end)
    }
    assert all(left.end < right.start for left, right in pairwise(union))


def test_touched_spans_share_a_character() -> None:
    spans = [Span(0, 2), Span(4, 6), Span(8, 9)]
    assert list(touched(spans, Span(2, 4))) == []
    assert list(touched(spans, Span(1, 5))) == [0, 1]
    assert list(touched(spans, Span(5, 20))) == [1, 2]


def test_edits_apply_in_any_order_and_keep_the_rest() -> None:
    text = "I'm 31\r\nin Porto 🙂"
    edits = [Edit(Span(11, 16), "Porto", "Portugal", "location"), Edit(Span(4, 6), "31", "", "age")]
    assert apply(text, edits) == "I'm \r\nin Portugal 🙂"
    assert apply(text, []) == text


@pytest.mark.parametrize(
    "edits",
    [
        [Edit(Span(0, 3), "abc", "", ""), Edit(Span(2, 4), "cd", "", "")],
        [Edit(Span(3, 9), "defghi", "", "")],
        [Edit(Span(0, 1), "x", "", "")],
        [Edit(Span(2, 1), "", "", "")],
    ],
)
def test_edits_that_do_not_fit_the_text_are_refused_without_quoting_it(edits: list[Edit]) -> None:
    with pytest.raises(ValueError, match="edit of") as error:
        apply("abcdef", edits)
    assert "abc" not in str(error.value)


@given(st.text(max_size=20), st.text(max_size=20), st.text(max_size=5))
def test_utf16_counts_what_utf16_holds(before: str, inside: str, after: str) -> None:
    span = utf16(before + inside + after, Span(len(before), len(before) + len(inside)))
    units = (before + inside + after).encode("utf-16-le", "surrogatepass")
    assert units[2 * span.start : 2 * span.end].decode("utf-16-le", "surrogatepass") == inside


@pytest.mark.parametrize(
    ("text", "evidence", "words"),
    [
        ("I'm 25M, looking", "25", ("25M",)),
        ("we nurses, and a Nurses' home", "nurse", ("nurses", "Nurses")),
        ("Phone: 212-555-0142² (office)", "212-555-0142", ("212-555-0142²",)),
        ("born1985", "1985", ("born1985",)),
        ("the most beautiful garden", "the most beau", ("the most beautiful",)),
        ("nothing of it", "Porto", ()),
        ("aaaa", "aa", ("aaaa",)),
    ],
)
def test_words_that_evidence_is_a_part_of(text, evidence, words) -> None:
    assert spans.Folded(text).words_around(evidence) == words


@pytest.mark.parametrize("after", ["31yo", "aged31", "still 31", "31"])
def test_a_value_glued_to_something_is_repeated(after) -> None:
    assert spans.Folded(after).repeats("31")


@pytest.mark.parametrize(
    ("value", "after"),
    [
        ("2125550142", "at 212 555 0142"),
        ("212-555-0142", "2 1 2 5 5 5 0 1 4 2"),
        ("John", "it is J o h n"),
        ("Porto", "P-O-R-T-O!"),
        ("Gonzalez", "Gonza-lez"),
        ("co-op", "the coop"),
        ("Ada Quill", "A d a  Q u i l l"),
    ],
)
def test_a_value_spelled_out_is_repeated(value, after) -> None:
    assert spans.Folded(after).repeats(value)


@pytest.mark.parametrize(
    ("value", "after"),
    [
        ("therapist", "the rapist"),
        ("Porto", "a port o and a b c"),
        ("1234", "1 2 3 4"),
        ("Ann", "A n n"),
        ("nurse", "health care"),
    ],
)
def test_words_that_only_hold_the_letters_are_no_repetition(value, after) -> None:
    assert not spans.Folded(after).repeats(value)


def test_a_value_within_a_word_is_no_repetition() -> None:
    assert not spans.Folded("a business").repeats("US")


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        ("moved to Porto ... food is great", ("moved to Porto", "food is great")),
        ("moved to Porto… food", ("moved to Porto", "food")),
        ("“moved to Porto” [...] (food)", ("“moved to Porto”", "food")),
        ("...moved to Porto...", ("moved to Porto",)),
        ("no. 3. Elm", ("no. 3. Elm",)),
        ("... …", ()),
    ],
)
def test_an_ellipsis_joins_parts(evidence: str, expected: tuple[str, ...]) -> None:
    assert spans.parts(evidence) == expected
