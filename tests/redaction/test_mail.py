"""Email addresses, plain and disguised, and sentences that look like them."""

from __future__ import annotations

import pytest

from dynaserve.redaction.mail import emails


def found(text: str) -> list[str]:
    return [text[span.start : span.end] for span in emails(text)]


@pytest.mark.parametrize(
    "address",
    [
        "ada@example.com",
        "ada.quill+x@mail.example.co.uk",
        "ADA_QUILL%x@EXAMPLE.COM",
        "ada@localhost",
        "ada at example dot com",
        "ada dot quill at example dot com",
        "ada@example dot com",
        "ada [at] example [dot] com",
        "ada(at)example(dot)com",
        "ada @ example.com",
        "ada@ example.com",
        "ada%40example%2ecom",
        "ada&#64;example.com",
        "ada＠example.com",
        "a\u200bda@exam\u200bple.com",
        "jürgen@bücher.example",
        "a" * 300 + "@example.com",
        "ada@one.example@two.example",
        "ada at gmail.com",
        "ADA AT GMAIL.COM",
        "ada . quill @ gmail . com",
        "ada @ mail . co . uk",
        "ada at libero.it",
        "ada.quill @ example.cl",
        "ada @ example . cl",
        "ada @ 163.com",
        "ada dot quill at uni dot hr",
        "ada.quill AT example DOT sk",
        "ada.quill at mail.ee",
        "ada_quill at firma.photography",
        "ada at uni dot in",
        "ada at firma.travel",
        "ada at Mail.Ee",
        "ada at co\u200brp.c\u200bom",
    ],
)
def test_an_email_address_is_found_whole(address: str) -> None:
    for text in (address, f"Write to {address}, please", f"<{address}>", f'"{address}"'):
        where = text.index(address)
        covered = {at for span in emails(text) for at in range(span.start, span.end)}
        assert covered == set(range(where, where + len(address)))


@pytest.mark.parametrize(
    "text",
    [
        "I was at work.It was fun",
        "I was at work.it was fun",
        "we met at noon.Then we left",
        "I'm at work.It's fun",
        "I was at home.everyone was",
        "look at this dot on the wall",
        "it is at the dot in the middle",
        "bought 5 @ 3.50 each",
        "@ada",
        "5 @ 3 each",
        "meet at noon",
        "at the dot",
        "ada@",
        "@",
    ],
)
def test_a_sign_alone_is_no_email_address(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize("ending", [" please", " now", "- call me", "_", " it is"])
def test_a_sentence_that_goes_on_hides_no_address(ending: str) -> None:
    for address in (
        "ada at firma.travel",
        "ada at Gmail.Com",
        "ada.quill at libero.it",
        "ada at corp.in",
    ):
        assert found(f"Write to {address}{ending}")[0].startswith(address)


def test_the_word_before_an_address_is_no_part_of_it() -> None:
    for address in ("jo.b@x.example", "jo.b+c@x.example", "jo.b at x.example", "jo.b @ x.cl"):
        assert found(f"Reach us at {address} now") == [address]


def test_an_address_ends_before_the_next_sentence() -> None:
    assert found("Mail ada@example.com . Then go") == ["ada@example.com"]
