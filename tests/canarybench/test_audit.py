"""The audit as a whole, with the real matcher; parts of it have their own tests."""

from __future__ import annotations

import json

import pytest

from dynaserve.canarybench import Canary, CanaryManifest, audit_release
from dynaserve.canarybench.baseline import Accepted
from dynaserve.canarybench.control import ControlError, require_control
from dynaserve.canarybench.matching import Matcher
from dynaserve.canarybench.reports import FORMS, render
from dynaserve.canarybench.serialized import NothingToCheck, ReleaseError

EMAIL = "ada.quill83@example.com"
PHONE = "+1 415-736-2671"
PHRASE = "violet lantern under seven drums"
MANIFEST = CanaryManifest(
    (
        Canary("c0", "email", EMAIL, "v0"),
        Canary("c1", "phone", PHONE, "v1"),
        Canary("c2", "phrase", PHRASE, "v2"),
    ),
    tuple(
        Canary(f"d{number}", "phrase", f"{first} walnut beside nine {second}")
        for number, (first, second) in enumerate(
            (first, second)
            for first in ("copper", "marble", "saffron", "velvet", "willow")
            for second in ("anchors", "buckets", "candles", "feathers", "hammers")
        )
    ),
)
MEMBERS = {"a": ["v0"], "b": ["v1"], "c": ["v2"], "d": ["v7"]}
SAFE = {
    "clusters": [
        {"id": "a", "title": "Accounts", "keywords": ["login", "password"]},
        {"id": "b", "title": "Parcels", "keywords": ["late", "lost"]},
        {"id": "c", "title": "Cards", "keywords": ["blocked"]},
        {"id": "d", "title": "Rates", "keywords": ["loan"]},
    ]
}


def leaky(position, **fields):
    clusters = [dict(cluster) for cluster in SAFE["clusters"]]
    clusters[position] |= fields
    return {"title": "Topics", "clusters": clusters}


def found(report):
    return [(leak.canary_id, str(leak.tier), leak.place) for leak in report.leaks]


def test_a_safe_release_passes_and_says_how_sure_that_is():
    report = audit_release(MANIFEST, SAFE, clusters=MEMBERS)
    assert report.passed
    assert (report.canary_rate.found, report.canary_rate.total) == (0, 3)
    assert (report.cluster_rate.found, report.cluster_rate.total) == (0, 3)  # d had none
    assert report.canary_rate.high == pytest.approx(1 - 0.025 ** (1 / 3))
    assert report.control == 3


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"title": f"Ask {EMAIL}"}, "/clusters/1/title"),
        ({"keywords": ["late", EMAIL]}, "/clusters/1/keywords/1"),
        ({"slug": "ask-ADA.QUILL83-at-example-dot-com"}, "/clusters/1/slug"),
        ({EMAIL: 3}, "/clusters/1/*3 (key)"),
        ({"deep": {EMAIL: {"x": 1}}}, "/clusters/1/deep/*0 (key)"),
        ({"left": "ada.quill83@", "right": "example.com"}, "/clusters/1/left"),
    ],
)
def test_a_leak_is_found_wherever_it_stands(fields, place):
    report = audit_release(MANIFEST, json.dumps(leaky(1, **fields)).encode(), clusters=MEMBERS)
    assert not report.passed
    assert [leak.canary_id for leak in report.leaks] == ["c0"]
    assert report.leaks[0].place.startswith(place)
    assert report.leaks[0].cluster == "b"
    assert report.leaks[0].keyed_hash == MANIFEST.keyed_hash("c0")
    assert (report.cluster_rate.found, report.cluster_rate.total) == (1, 3)


def test_a_value_split_over_two_fields_names_both():
    release = leaky(0, left="call +1 415-73", right="6-2671 now")
    (leak,) = audit_release(MANIFEST, release).leaks
    assert leak.canary_id == "c1"
    assert leak.place == "/clusters/0/left to /clusters/0/right"


@pytest.mark.parametrize(
    "release",
    [
        {"ada.qui": {"ll83@ex": {"ample.com": 1}}},
        {"ada.qui": 1, "ll83@ex": 2, "ample.com": 3},
        {"title": "x", "ada.q": "late", "uill8": "lost", "3@exa": "blocked", "mple.com": "loan"},
    ],
)
def test_a_value_split_over_keys_is_found_and_no_part_of_it_is_shown(release):
    report = audit_release(MANIFEST, release)
    assert {leak.canary_id for leak in report.leaks} == {"c0"}
    assert not report.passed
    for form in FORMS:
        rendered = render(report, form, "release.json")
        assert not any(key in rendered for key in ("ll83", "uill8", "3@exa", "ada.q", "mple.com"))


def test_a_cluster_held_back_is_not_named_by_a_canary():
    members = {**MEMBERS, PHRASE.replace(" ", "-"): ["v8"], "e": ["v9"]}
    report = audit_release(MANIFEST, SAFE, clusters=members)
    assert report.suppressed.clusters == ("*0", "e")


def test_an_id_that_is_the_leak_is_not_shown():
    release = {"clusters": [{"id": PHRASE.replace(" ", "-"), "title": "x"}]}
    report = audit_release(MANIFEST, release)
    assert report.clusters[0].name == "*0"
    assert report.leaks[0].place == "/clusters/0/id"


def test_a_leak_outside_of_the_clusters_counts_for_the_canaries_alone():
    report = audit_release(MANIFEST, {"title": PHRASE, **SAFE}, clusters=MEMBERS)
    assert found(report) == [("c2", "exact", "/title")]
    assert report.clusters[-1].name == "outside-clusters"
    assert (report.canary_rate.found, report.cluster_rate.found) == (1, 0)


def test_of_a_text_the_line_and_column_are_named():
    report = audit_release(MANIFEST, f"Topics\n\u00e9 ask {EMAIL}\n")
    (leak,) = report.leaks
    assert (leak.place, leak.line, leak.column) == ("2:7", 2, 7)
    assert report.clusters[0].name == "release"


def test_no_report_holds_a_value():
    values = [canary.value for canary in MANIFEST.canaries]
    release = {"clusters": [{"id": value, value: {value: value}} for value in values]}
    report = audit_release(MANIFEST, release)
    assert {leak.canary_id for leak in report.leaks} == {"c0", "c1", "c2"}
    shown = repr(report) + report.to_json()
    assert Matcher(MANIFEST.canaries).find(shown) == []


def test_what_was_held_back_is_no_pass():
    release = {"clusters": SAFE["clusters"][1:2]}
    report = audit_release(MANIFEST, release, clusters=MEMBERS)
    assert report.suppressed.clusters == ("a", "c", "d")
    assert report.suppressed.canaries == 2
    assert (report.canary_rate.total, report.cluster_rate.total) == (1, 1)


@pytest.mark.parametrize(
    "release",
    [
        {"clusters": []},
        {"clusters": [{"id": "d", "title": "Rates"}]},
        {"clusters": [{"id": "a", "suppressed": True}]},
        {"clusters": None, "title": ""},
        "",
    ],
)
def test_a_release_in_which_nothing_could_leak_is_no_pass(release):
    with pytest.raises(NothingToCheck):
        audit_release(MANIFEST, release, clusters=MEMBERS)


def test_a_manifest_without_canaries_is_nothing_to_look_for():
    with pytest.raises(NothingToCheck, match="holds no canaries"):
        audit_release(CanaryManifest((), MANIFEST.decoys), SAFE)


def test_a_truncated_release_is_an_error_even_if_it_leaks():
    whole = json.dumps(leaky(0, title=EMAIL)).encode()
    with pytest.raises(ReleaseError):
        audit_release(MANIFEST, whole[:-5])


@pytest.mark.parametrize("release", [SAFE, "plain text", leaky(0, title=EMAIL)])
def test_an_audit_that_cannot_find_anything_is_an_error(monkeypatch, release):
    monkeypatch.setattr(Matcher, "find_in_fields", lambda _, __: [])
    with pytest.raises(ControlError, match="of 3 canaries written out in full, 3 were not found"):
        audit_release(MANIFEST, release)


def test_an_audit_that_misses_a_single_canary_is_an_error(monkeypatch):
    find = Matcher.find_in_fields

    def forgetful(matcher, fields):
        return [match for match in find(matcher, fields) if match.canary_id != "c1"]

    monkeypatch.setattr(Matcher, "find_in_fields", forgetful)
    with pytest.raises(ControlError, match="1 were not found, c1 the first") as error:
        audit_release(MANIFEST, SAFE)
    assert "736" not in str(error.value)


def near(position=0):
    return leaky(position, title="The violet lantern under seven")


def test_a_tier_that_finds_decoys_is_reported_and_does_not_gate():
    release = near()
    tier = str(audit_release(MANIFEST, release).leaks[0].tier)
    assert tier in {"substring", "edit"}
    release["title"] = "The copper walnut beside nine"
    report = audit_release(MANIFEST, release)
    assert [(leak.canary_id, str(leak.tier), leak.gates) for leak in report.leaks] == [
        ("c2", tier, False)
    ]
    assert report.passed
    assert report.canary_rate.found == 0
    (result,) = [each for each in report.tiers if each.tier == tier]
    assert result.decoys.value > 1 / 1000
    assert not result.gates


def test_what_a_wrong_tier_finds_does_not_make_up_for_nothing_at_risk():
    titles = {"title": "The violet lantern under seven", "more": "The copper walnut beside nine"}
    release = {**titles, "clusters": SAFE["clusters"][3:]}  # of which none had a canary
    with pytest.raises(NothingToCheck, match="held back"):
        audit_release(MANIFEST, release, clusters=MEMBERS)


def test_the_exact_tier_gates_whatever_the_decoys_say():
    release = leaky(0, title=EMAIL, more=MANIFEST.decoys[3].value)
    report = audit_release(MANIFEST, release)
    assert not report.passed
    assert report.tiers[0].decoys.found == 1


def test_a_baseline_accepts_what_is_near_a_value_in_this_very_cluster():
    release = near()
    report = audit_release(MANIFEST, release)
    accepted = {Accepted("c2", report.clusters[0].fingerprint)}
    again = audit_release(MANIFEST, release, baseline=accepted)
    assert again.passed
    assert [leak.accepted for leak in again.leaks] == [True]
    assert again.canary_rate.found == 1  # accepted, and still measured


def test_a_baseline_does_not_cover_another_text_or_cluster_and_goes_stale():
    accepted = {Accepted("c2", audit_release(MANIFEST, near()).clusters[0].fingerprint)}
    changed = near()
    changed["clusters"][0]["keywords"] = ["more"]
    for release in (changed, near(1), SAFE):
        report = audit_release(MANIFEST, release, baseline=accepted)
        assert not report.passed
        assert report.stale_baseline == tuple(map(str, accepted))


def test_a_baseline_does_not_cover_another_text_outside_of_the_clusters():
    release = {"title": "violet lantern under seven", **SAFE}
    first = audit_release(MANIFEST, release)
    assert first.clusters[-1].name == "outside-clusters"
    accepted = {Accepted("c2", first.clusters[-1].fingerprint)}
    assert audit_release(MANIFEST, release, baseline=accepted).passed
    changed = {**release, "title": "lantern under seven drums"}
    assert not audit_release(MANIFEST, changed, baseline=accepted).passed


def test_a_baseline_never_accepts_a_whole_value():
    for value in (PHRASE, PHRASE.upper(), "1 415 736 2671"):
        release = leaky(0, title=value)
        report = audit_release(MANIFEST, release)
        leak = report.leaks[0]
        accepted = {Accepted(leak.canary_id, report.clusters[0].fingerprint)}
        again = audit_release(MANIFEST, release, baseline=accepted)
        assert not again.passed
        assert not again.leaks[0].accepted
        assert again.stale_baseline


def test_fingerprints_stay_when_other_clusters_change():
    before = audit_release(MANIFEST, leaky(1, title=EMAIL))
    changed = leaky(1, title=f"Write to {EMAIL} soon")
    changed["clusters"].insert(0, {"id": "new", "title": "x"})
    after = audit_release(MANIFEST, changed)
    assert [leak.fingerprint for leak in after.leaks] == [leak.fingerprint for leak in before.leaks]


def test_two_places_of_one_cluster_have_two_fingerprints():
    report = audit_release(MANIFEST, leaky(1, title=EMAIL, more=EMAIL))
    assert len({leak.fingerprint for leak in report.leaks}) == len(report.leaks) == 2


def test_exposure_is_highest_where_a_value_is_published():
    (phrase,) = audit_release(MANIFEST, leaky(0, title=PHRASE)).exposures
    assert phrase.highest == phrase.limit
    (phrase,) = audit_release(MANIFEST, SAFE).exposures
    assert phrase.highest < 2


@pytest.mark.parametrize("release", [b"null", b"0", b'""', b"...", {"n": 5}, "\0\0", "\u200b" * 99])
def test_what_is_shorter_than_any_canary_is_no_pass(release):
    with pytest.raises(NothingToCheck, match="shorter than any canary"):
        audit_release(MANIFEST, release)


@pytest.mark.parametrize(
    "release",
    [
        {"x": "\x00\ud800 \U0010ffff all is well" * 1000},
        "A" * 1_000_000,
        "1 " * 200_000,
        {"a": [[[[["x"] * 50] * 5] * 5] * 5]},
        "\n" * 10_000 + "all is well",
    ],
)
@pytest.mark.timeout(60)
def test_hostile_releases_are_judged(release):
    assert audit_release(MANIFEST, release).passed


def test_leaks_that_look_like_decoys_switch_no_tier_off() -> None:
    canary = Canary("c0", "phone", "+44 7700 900123", "conv-0")
    decoy = Canary("d0", "phone", "+44 7700 900199")
    report = audit_release(CanaryManifest((canary,), (decoy,)), {"s": "call 44 7700 9001.."})
    (digits,) = (tier for tier in report.tiers if tier.tier == "digits")
    assert (digits.leaks, digits.decoys.found, digits.gates) == (1, 0, True)
    assert not report.passed


def test_a_decoy_found_elsewhere_is_a_false_alarm() -> None:
    canary = Canary("c0", "phone", "+44 7700 900123", "conv-0")
    decoy = Canary("d0", "phone", "+1 415 555 0199")
    release = {"s": "call 44 7700 9001..", "t": "or 415 555 0199 there"}
    report = audit_release(CanaryManifest((canary,), (decoy,)), release)
    (digits,) = (tier for tier in report.tiers if tier.tier == "digits")
    assert (digits.decoys.found, digits.gates) == (1, False)


def test_the_control_of_a_large_manifest_shows_every_kind():
    many = [Canary(f"c{i}", "phrase", f"violet harbour number {i:06}", "conv") for i in range(2501)]
    rare = Canary("rare", "email", "ada.quill@example.com", "conv")
    manifest = CanaryManifest((*many, rare))
    report = audit_release(manifest, {"summary": "parcels arrive late"})
    assert report.passed
    assert report.control == 502

    class Blind(Matcher):
        def find_in_fields(self, fields):
            return [match for match in super().find_in_fields(fields) if match.canary_id != "rare"]

    with pytest.raises(ControlError, match=r"of 502 canaries .* 1 were not found, rare the first"):
        require_control(Blind((*manifest.canaries,)), manifest, as_text=False)
