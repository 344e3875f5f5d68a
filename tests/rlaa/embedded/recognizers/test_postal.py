"""Addresses of several countries."""

from __future__ import annotations

import pytest

from dynaserve.rlaa.embedded.recognizers.postal import postal


@pytest.mark.parametrize(
    "address",
    [
        "12 Linden Street",
        "12 Linden Street, Grauburg",
        "Lindenweg 12",
        "71 Lindenova 45 Apt. 3\n Grauburg\n Freedonia 12345",
        "71 lindenova 45\n apt. 3\n grauburg\n freedonia 12345",
        "Calle de la Rosa 12",
        "Unit 1234 Box 567\nAPO AE 01234",
        "PSC 1234, Box 567\nAPO AP 01234",
        "USCGC Quill\nFPO AA 01234",
        "the corner of Lindenweg 12 and Rosen Street",
        "12 Linden Nova 45\nGrauburg\n, GB\n 12345",
        "71 \u039a\u03ae\u03c0\u03bf\u03c2 12",
    ],
)
def test_an_address_is_found_whole(address: str) -> None:
    text = f"Please send it to {address}. Thanks"
    start = text.index(address)
    found = list(postal(text))
    assert any(f.start <= start and start + len(address) <= f.end + 1 for f in found), found


@pytest.mark.parametrize(
    "text",
    [
        "5 Musicians Of The 70s you should hear",
        "I bought 3 apples and 4 pears",
        "on 12 May 2020",
        "from 9 to 5 every day",
        "room 12 is free at 3",
        "It costs $12 or 15 euros",
        "5. Call 212-555-0142 now",
        "5. Call Ada 12 times",
        "I own 2 Tesla Model 3 and 1 Ford F 150",
        "call 0494 92 82 32 I'd like to",
    ],
)
def test_numbers_in_sentences_are_no_address(text: str) -> None:
    assert list(postal(text)) == []
