from __future__ import annotations

import pytest

from dynaserve.canarybench.manifest import Canary
from dynaserve.canarybench.matching.layers import Skeleton
from dynaserve.canarybench.matching.patterns import Pattern, patterns_of
from dynaserve.canarybench.matching.results import Tier


def tiers(*canaries: Canary) -> dict[str, list[Tier]]:
    return {text: [p.tier for p in ps] for text, ps in patterns_of(canaries).items()}


def test_the_local_part_counts_alone_if_it_names_one_person() -> None:
    one, other = (Canary(i, "email", f"ada.byron7@{i}.example") for i in ("a", "b"))
    assert tiers(one)["adabyron7"] == [Tier.SUBSTRING]
    assert "adabyron7" not in tiers(one, other)
    assert "marketing" not in tiers(Canary("c", "email", "marketing@example.org"))


def test_the_house_and_its_street_count_alone() -> None:
    address = Canary("a", "address", "4821 Alder Creek Road, Fernville, OH 12345")
    assert tiers(address)["4821aldercreekroad"] == [Tier.SUBSTRING]


def test_seven_digits_of_a_phone_count() -> None:
    found = tiers(Canary("p", "phone", "+1 (415) 555-0123"))
    windows = {text for text, kinds in found.items() if kinds == [Tier.DIGITS]}
    assert windows == {"1415555", "4155550", "1555501", "5555012", "5550123"}


def test_a_stretch_that_many_share_identifies_none() -> None:
    phones = [Canary(f"p{i}", "phone", f"+1 415 555 01{i:02}") for i in range(9)]
    assert len(tiers(*phones[:8])["1415555"]) == 8
    assert "1415555" not in tiers(*phones)


def test_what_cannot_be_told_from_chance_is_refused_without_its_value() -> None:
    class Short:
        id, kind, value = "s1", "phrase", "?x.y.z!"

    with pytest.raises(ValueError, match="canary 's1': its value has 3 letters") as error:
        patterns_of([Short()])
    assert "x.y.z" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "fits"),
    [("10.0.0.1", True), ("at 10 0 0 1 o'clock", True), ("10,001", False), ("1 0.001", False)],
)
def test_a_weak_value_keeps_its_groups(text: str, *, fits: bool) -> None:
    ((_, (pattern,)),) = (
        item for item in patterns_of([Canary("i", "ip", "10.0.0.1")]).items() if item[0] == "10001"
    )
    skeleton = Skeleton.of(text)
    at = skeleton.text.index("10001")
    assert pattern.fits(skeleton, at, at + 5) == fits


@pytest.mark.parametrize(
    ("text", "fits"),
    [("an ada.byron7!", True), ("canada.byron7", False), ("ada.byron77", False)],
)
def test_a_part_stands_by_itself(text: str, *, fits: bool) -> None:
    pattern = Pattern(0, Tier.SUBSTRING, is_whole=False)
    skeleton = Skeleton.of(text)
    at = skeleton.text.index("adabyron7")
    assert pattern.fits(skeleton, at, at + 9) == fits
