"""Canaries: what validators of others say of them, and that an audit can tell them apart."""

from __future__ import annotations

import ipaddress
import re

import ahocorasick
import phonenumbers
import pytest

from dynaserve.canarybench.canaries import (
    KINDS,
    PAPER_KINDS,
    PHONE_RANGES,
    CanaryMint,
)

COUNT = 2000


def drawn(kind: str, count: int = COUNT, seed: int = 11) -> list[str]:
    mint = CanaryMint(seed)
    return [mint.draw(kind) for _ in range(count)]


def phone_is_valid(number: str) -> bool:
    return phonenumbers.is_valid_number(phonenumbers.parse(number, None))


def test_there_are_the_papers_four_kinds_and_four_more() -> None:
    assert PAPER_KINDS == ("email", "phone", "address", "phrase")
    assert set(KINDS) == {*PAPER_KINDS, "card", "iban", "ip", "token"}


@pytest.mark.parametrize("kind", KINDS)
def test_values_are_repeatable_per_seed_and_never_repeat(kind: str) -> None:
    values = drawn(kind)
    assert values == drawn(kind)
    assert len(set(values)) == COUNT
    # Some kinds have few enough values for two seeds to meet by chance.
    assert len(set(values) & set(drawn(kind, seed=12))) < COUNT / 10


def test_other_kinds_do_not_change_what_a_kind_draws() -> None:
    mint = CanaryMint(11)
    for kind in KINDS:
        mint.draw(kind)
    assert mint.draw("email") == drawn("email", 2)[1]


def test_no_value_lies_inside_another_one() -> None:
    mint = CanaryMint(3)
    values = [mint.draw(kind) for kind in KINDS for _ in range(COUNT)]
    automaton = ahocorasick.Automaton()
    for value in values:
        automaton.add_word(value, value)
    automaton.make_automaton()
    assert all([found for _, found in automaton.iter(value)] == [value] for value in values)


def test_every_phone_number_is_valid_in_every_range() -> None:
    assert all(map(phone_is_valid, drawn("phone", 5000)))
    for pattern in PHONE_RANGES:
        for digit in "0123456789":
            assert phone_is_valid(pattern.replace("#", digit)), pattern


def test_no_two_phone_numbers_end_in_the_same_seven_digits() -> None:
    ends = {re.sub(r"\D", "", number)[-7:] for number in drawn("phone", 5000)}
    assert len(ends) == 5000


def test_emails_lead_nowhere() -> None:
    for value in drawn("email"):
        assert re.fullmatch(r"[a-z]+\.[a-z]+\d{2,3}@([a-z]+\.)?example\.(com|org|net)", value)


def test_addresses_have_a_street_and_a_zip_code() -> None:
    for value in drawn("address"):
        assert re.fullmatch(r"\d{3,4} [A-Z][a-z]+ [A-Z][a-z]+, [A-Z][a-z]+, [A-Z]{2} \d{5}", value)


def test_phrases_are_three_different_words_and_a_number() -> None:
    for value in drawn("phrase"):
        *words, number = value.split("-")
        assert len(set(words)) == 3
        assert re.fullmatch(r"\d{4}", number)


def test_cards_are_test_cards_with_a_right_check_digit() -> None:
    for value in drawn("card"):
        digits = re.sub(r"[ -]", "", value)
        # Luhn by hand: double every second digit from the right, sum the digits of the results.
        sums = [int(d) * (1 + i % 2) for i, d in enumerate(reversed(digits))]
        assert sum(s - 9 if s > 9 else s for s in sums) % 10 == 0
        assert len(digits) == (15 if digits[0] == "3" else 16)
        assert digits[:6] in {"424242", "400000", "555555", "222300", "378282"}


def test_ibans_are_right_and_have_the_length_of_their_country() -> None:
    lengths = {"DE": 22, "GB": 22, "NL": 18}
    for value in drawn("iban"):
        plain = value.replace(" ", "")
        turned = "".join(str(int(sign, 36)) for sign in plain[4:] + plain[:4])
        assert int(turned) % 97 == 1
        assert len(plain) == lengths[plain[:2]]


def test_ip_addresses_are_valid_and_nobodys() -> None:
    addresses = [ipaddress.ip_address(value) for value in drawn("ip")]
    assert not any(address.is_global for address in addresses)
    assert {address.version for address in addresses} == {4, 6}


def test_tokens_have_a_prefix_and_32_random_characters() -> None:
    assert all(re.fullmatch(r"(api|key|tok|sec)_[A-Za-z0-9]{32}", v) for v in drawn("token"))


@pytest.mark.parametrize("kind", KINDS)
def test_carriers_are_sentences_with_one_place_for_the_value(kind: str) -> None:
    carriers = KINDS[kind].carriers
    assert len(set(carriers)) == len(carriers) >= 6
    assert all(carrier.count("{value}") == 1 and carrier.endswith(".") for carrier in carriers)


def test_an_unknown_kind_is_named() -> None:
    with pytest.raises(ValueError, match="'passport' is not one of email, phone"):
        CanaryMint(0).draw("passport")


def test_a_kind_that_is_used_up_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dynaserve.canarybench.canaries.PHONE_RANGES", ("+1 212-555-010#",))
    monkeypatch.setattr("dynaserve.canarybench.canaries._TRIES", 200)
    mint = CanaryMint(1)
    assert len({mint.draw("phone")[-1] for _ in range(10)}) == 10
    with pytest.raises(ValueError, match="no more values of kind 'phone'"):
        mint.draw("phone")
