"""Links and street addresses."""

from __future__ import annotations

import pytest

from dynaserve.redaction.contact import addresses, urls


def found(layer: object, text: str) -> list[str]:
    return [text[span.start : span.end] for span in layer(text)]  # type: ignore[operator]


def test_links_end_before_punctuation() -> None:
    text = "See https://example.com/a?b=c#d, (www.example.org) or HTTP://X.example."
    assert found(urls, text) == [
        "https://example.com/a?b=c#d",
        "www.example.org",
        "HTTP://X.example",
    ]


@pytest.mark.parametrize(
    "link",
    [
        "linkedin.com/in/ada-quill",
        "github.com/adaquill",
        "www.example.org",
        "t.me/adaq",
        "docs.example.com:8080/a?b=c",
    ],
)
def test_a_link_without_a_scheme_is_found(link: str) -> None:
    assert found(urls, f"See {link}, or not.") == [link]


@pytest.mark.parametrize("text", ["and/or", "node.js/express", "U.S./Canada", "work.in/out", "a.b"])
def test_a_slash_alone_makes_no_link(text: str) -> None:
    assert found(urls, f"It is {text} here") == []


@pytest.mark.parametrize(
    "address",
    [
        "4821 Fennimore Lane",
        "4821 Fennimore Lane, Brindlewick, OH 43127",
        "12 Old Mill Rd., Apt 4B, Dover, OH 43127-1234",
        "77B Ocean View Blvd #12, Eastvale",
        "200 5th Avenue, Northquay",
        "4821 FENNIMORE LANE",
        "4821 fennimore lane",
        "P.O. Box 1234",
        "Lindenweg 12",
        "Am Markt 5",
        "Am Markt 5, 80331 Musterstadt",
        "An der Alten Kirche 12a",
        "Lange Stra\u00dfe 5, 80331 Musterstadt".removeprefix("Lange "),
        "12 rue des Lilas",
    ],
)
def test_a_street_address_is_found_whole(address: str) -> None:
    assert found(addresses, f"It is {address}")[0] == address


def test_a_british_postcode_is_found() -> None:
    assert found(addresses, "near ZZ9 9ZZ.") == ["ZZ9 9ZZ"]
    assert found(addresses, "near sw1a 1aa, or M1 1ae") == ["sw1a 1aa", "M1 1ae"]


@pytest.mark.parametrize(
    "text",
    ["b2 5th floor", "m1 2nd floor", "e5 2gb ram", "w8 4me", "a4 3mm", "n1 2st",
     "am Montag 5 Uhr", "Am Bahnhof 5 Minuten warten", "Am Markt um 5"],
)  # fmt: skip
def test_letters_and_digits_alone_are_no_code_and_no_street(text: str) -> None:
    assert found(addresses, text) == []


@pytest.mark.parametrize(
    "text", ["5 years on the road", "2 cats in my way", "I took 3 Big Steps", "the 12 Streets band"]
)
def test_a_number_and_a_street_word_are_no_address(text: str) -> None:
    assert found(addresses, text) == []


@pytest.mark.parametrize(
    "text",
    [
        "It's a 20 minute drive.",
        "I bought a 500 gig hard drive.",
        "it has 4 wheel drive",
        "A 5 star place to eat.",
        "There is 1 right way to do it.",
        "a 2 lane road",
        "We need 2 new drive belts",
        "won 3 straight court cases",
        "it took 45 minutes each way",
    ],
)
def test_what_is_counted_has_no_house_number(text: str) -> None:
    assert found(addresses, text) == []


@pytest.mark.parametrize(
    "address",
    [
        "123 maple drive",
        "12 elm road",
        "221b baker street",
        "12 new street",
        "5 Short Street",
        "1 right way, Springfield",
        "20 mile road, Detroit",
    ],
)
def test_streets_are_not_taken_for_counts(address: str) -> None:
    assert found(addresses, f"I live at {address}") == [address]


@pytest.mark.parametrize(
    ("text", "domain"),
    [
        ("my site is adaquill.com", "adaquill.com"),
        ("Visit our web page: quill-and-sons.co.uk, do", "quill-and-sons.co.uk"),
        ("my personal blog (adaquill.io) has more", "adaquill.io"),
        ("see adaquill.blogspot.com or so", "adaquill.blogspot.com"),
        ("code at AdaQuill.github.io.", "AdaQuill.github.io"),
    ],
)
def test_a_bare_domain_of_ones_own_is_a_link(text: str, domain: str) -> None:
    assert found(urls, text) == [domain]


@pytest.mark.parametrize(
    "text",
    ["I use booking.com and node.js.", "My page is down.It broke", "main.py", "github.io is nice"],
)
def test_other_domains_are_not(text: str) -> None:
    assert found(urls, text) == []
