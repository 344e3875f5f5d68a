"""Names of persons by what announces them, in capitals too."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dynaserve.rlaa.embedded.recognizers.persons import persons


def names(text: str) -> list[str]:
    return [text[finding.start : finding.end] for finding in persons(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("My name is Ada Quill, hello", ["Ada Quill"]),
        ("This is Ada A Quill.", ["Ada A Quill"]),
        ("I'm Maria Gonzalez.", ["Maria Gonzalez"]),
        ("I am Ludwig van Quill, hello", ["Ludwig van Quill"]),
        ("Hi all, I'm Maria and I sew", ["Maria"]),
        ("Good morning! I'm Maria.", ["Maria"]),
        # in capitals throughout
        ("MY NAME IS ADA QUILL AND I LIVE IN PORTO", ["ADA QUILL"]),
        ("DR. QUILL WILL SEE YOU NOW", ["QUILL"]),
        ("MY NAME IS ADA QUILL RUNNING LATE", ["ADA QUILL"]),
    ],
)
def test_a_name_is_found_and_ends_where_the_sentence_goes_on(
    text: str, expected: list[str]
) -> None:
    assert names(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # behind a title or initials with a stop
        ("My name is Dr. Ada Quill.", ["Ada Quill"]),
        ("Sincerely,\nDr. Ada Quill", ["Ada Quill"]),
        ("They call me Mr. Tibbs", ["Tibbs"]),
        ("Name: Mrs. Quill", ["Quill"]),
        ("This is Prof. Dr. Quill.", ["Quill"]),
        ("My name is Rev. Quill", ["Quill"]),
        ("Hi, I'm Sgt. Quill.", ["Quill"]),
        ("Mr. Quill Mrs. Berg and Dr.Roth", ["Quill", "Berg", "Roth"]),
        ("My name is J. Quill", ["J. Quill"]),
        ("Mr. T. J. Quill", ["T. J. Quill"]),
        ("My name is J.K. Quill", ["J.K. Quill"]),
        ("My name is Ada B. Quill", ["Ada B. Quill"]),
        ("Mr. J.Quill", ["J.Quill"]),
        ("I'm J. Quill.", ["J. Quill"]),
        ("My name is J. The rest is", ["J"]),
        ("DR. J. K. QUILL WILL CALL", ["J. K. QUILL"]),
        # with particles
        ("Dr. van der Berg called", ["van der Berg"]),
        ("Dr. de la Cruz", ["de la Cruz"]),
        ("My name is Ada do Carmo", ["Ada do Carmo"]),
        ("Mr. d'Arc and Mr. St. John", ["d'Arc", "St. John"]),
        ("DR. VAN DER BERG CALLED", ["VAN DER BERG"]),
        # in a signature
        ("Regards,\nAda Quill", ["Ada Quill"]),
        ("Cheers,\nAda", ["Ada"]),
        ("Regards,\r\nAda Quill", ["Ada Quill"]),
        ("Kind regards\n\n  Will", ["Will"]),
        ("Yours truly,\nMr. J. Quill", ["J. Quill"]),
        ("Thanks,\nAda Quill\nBerg Inc.", ["Ada Quill"]),
        ("SINCERELY,\nADA KING", ["ADA KING"]),
        # with a mark before it
        ("My name is: *Ada Quill*", ["Ada Quill"]),
    ],
)
def test_a_name_is_found_whole_behind_what_comes_before_names(
    text: str, expected: list[str]
) -> None:
    assert names(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Mr. Black called.", ["Black"]),
        ("Dr. King is here.", ["King"]),
        ("Dr. North rang", ["North"]),
        ("Mr. Good called", ["Good"]),
        ("Dear Dr. An,", ["An"]),
        ("Miss White said I'm late", ["White"]),
        ("Mr. Will Smith", ["Will Smith"]),
        ("My name is May Quill.", ["May Quill"]),
        ("My name is Christian", ["Christian"]),
        ("My name is Ada King", ["Ada King"]),
        ("MY NAME IS ADA KING AND I SEW", ["ADA KING"]),
        ("MR. WHITE CALLED", ["WHITE"]),
        ("Hi, I'm Will.", ["Will"]),
        ("I'm Ada King.", ["Ada King"]),
        ("Call me Leo", ["Leo"]),
        ("My Name Is Ada Quill And I Sew", ["Ada Quill"]),
    ],
)
def test_an_ordinary_word_is_a_name_where_the_cue_is_sure(text: str, expected: list[str]) -> None:
    assert names(text) == expected


@pytest.mark.parametrize("text", ["Dr. Ada Quill's office", "DR. ADA QUILL'S OFFICE"])
def test_the_possessive_is_not_part_of_a_name(text: str) -> None:
    assert [name.title() for name in names(text)] == ["Ada Quill"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("My name is Dr. Ada Quill.", "My name is Dr. [NAME]."),
        ("Best regards,\nMs. J. Quill", "Best regards,\nMs. [NAME]"),
        ("Hi, I'm Dr. Quill's nurse", "Hi, I'm Dr. [NAME]'s nurse"),
    ],
)
def test_a_title_stays_however_often_the_text_is_read(
    text: str, expected: str, anonymize: Callable[[str], str]
) -> None:
    assert anonymize(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "THIS IS VERY BAD AND I MISS HOME",
        "CALL ME LATER AND TELL HIM THE TRUTH",
        "I'm Maria",
        "I'm Irish Catholic.",
        "I'm Italian American, you know",
        "I'm So Tired.",
        "I'm Star Wars fan",
        "Hello, I'm Interested in this",
        "Hi, I'm Looking for Socks.",
        "Hey, I'm Bipolar.",
        "I'm Team Edward.",
        "I'm Pro Choice.",
        "This is America by Gambino",
        "This is Black Friday",
        "I miss Christmas",
        "Hi Dr. I need help",
        "Sincerely,\nThe team",
        "Thanks,\nCan you help me?",
        "MY NAME IS NOT IMPORTANT",
    ],
)
def test_what_only_looks_like_a_name_stays(text: str) -> None:
    assert names(text) == []
