from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from dynaserve.canarybench import Canary, CanaryManifest, Conversation
from dynaserve.canarybench import audit as audit_module
from dynaserve.canarybench.audit import Auditor
from dynaserve.canarybench.control import ControlError
from dynaserve.canarybench.serialized import NothingToCheck
from dynaserve.redaction import redact
from dynaserve.serving.refused import TooLargeError
from dynaserve.serving.verdict import MOST_LISTED, Audit, audit_answer, personal_values

CANARY = Canary("email-000000", "email", "mira.holt77@example.org", "planted-0", 0)
MANIFEST = CanaryManifest((CANARY,))
EMAIL, CARD = "jo.brandt42@example.com", "4242 4242 4242 4242"
SAID = "My landlord keeps the deposit because of a scratch in the bathtub"
REAL = [
    Conversation("c0", "u0", f"Please write to {EMAIL} about it"),
    Conversation("c1", "u1", f"I paid with {CARD}. {SAID}"),
    Conversation("c2", "u2", "Hello there"),
]


def audited(summary: str, *, manifest: CanaryManifest = MANIFEST, **changes: Any) -> Audit:
    clusters = [{"id": "cluster-001", "summary": summary, "users": 3}]
    options = {
        "manifest": manifest,
        "personal": personal_values(REAL, k_min=2, max_values=10),
        "members": {"cluster-001": ["c0", "c1", "planted-0"], "suppressed-001": ["c2"]},
        "redact": redact,
        "quote_letters": 32,
        "k_min": 2,
    } | changes
    return audit_answer(json.dumps({"clusters": clusters}).encode(), REAL, **options)


def test_an_answer_that_repeats_nothing_passes_with_its_digest() -> None:
    audit = audited("About deposits and cards.")
    assert audit.passed
    body = (
        b'{"clusters": [{"id": "cluster-001", "summary": "About deposits and cards.", "users": 3}]}'
    )
    assert audit.to_dict()["sha256"] == hashlib.sha256(body).hexdigest()
    assert (audit.planted, audit.personal) == (1, 2)
    assert (audit.published_clusters, audit.suppressed_clusters) == (1, 1)


@pytest.mark.parametrize(
    ("summary", "what", "kind", "tier", "conversation"),
    [
        (f"Ask {CANARY.value}", "canary", "email", "exact", None),
        ("Ask MIRA.HOLT77@EXAMPLE.ORG", "canary", "email", "normalized", None),
        (f"Ask {EMAIL}", "personal", "email", "exact", 0),
        ("Ask jo%2Ebrandt42%40example.com", "personal", "email", "normalized", 0),
        ("Paid by 4242424242424242", "personal", "card", "normalized", 1),
        (f"Someone said: {SAID}.", "quote", "text", None, 1),
    ],
)
def test_each_leak_is_found_and_named_by_kind_and_place(
    summary: str, what: str, kind: str, tier: str | None, conversation: int | None
) -> None:
    audit = audited(summary)
    assert not audit.passed
    (finding,) = audit.findings
    assert (finding.what, finding.kind, finding.tier) == (what, kind, tier)
    assert (finding.place, finding.conversation) == ("/clusters/0/summary", conversation)


def test_a_report_holds_nothing_of_what_leaked() -> None:
    audit = audited(f"{CANARY.value} {EMAIL} {CARD} {SAID}")
    report = json.dumps(audit.to_dict())
    assert audit.to_dict()["found"] == {"canary": 1, "personal": 2, "quote": 1}
    for text in (CANARY.value, EMAIL, CARD, SAID):
        assert text not in report + repr(audit)
        assert text.split()[0] not in report + repr(audit)
    assert audit.digest not in report


def test_the_part_of_a_value_that_names_somebody_is_enough() -> None:
    (finding,) = audited(
        "jo.brandt42", personal=personal_values(REAL[:1], k_min=2, max_values=9)
    ).findings
    assert finding.tier == "substring"


def test_many_findings_are_counted_and_not_all_listed() -> None:
    audit = audited("About deposits.")
    finding = audited(f"Ask {EMAIL}").findings[0]
    long = Audit(**{**vars(audit), "findings": (finding,) * (MOST_LISTED + 1)})
    assert len(long.to_dict()["findings"]) == MOST_LISTED
    assert long.to_dict()["found"]["personal"] == MOST_LISTED + 1


def test_ids_cannot_be_guessed() -> None:
    ids = {audited("About deposits.").id for _ in range(3)}
    assert len(ids) == 3
    assert all(len(bytes.fromhex(each)) == 16 for each in ids)


def test_decoys_that_turn_up_do_not_let_a_canary_out() -> None:
    decoys = tuple(Canary(f"decoy-{n}", "phone", f"+44 20 7946 0{n:03}") for n in range(3))
    manifest = CanaryManifest((CANARY,), decoys)
    noisy = " ".join(decoy.value.replace(" ", "") for decoy in decoys)
    summary = f"Ask MIRA.HOLT77@EXAMPLE.ORG or {noisy}"
    report = Auditor(manifest).audit(json.dumps({"summary": summary}))
    assert report.passed  # by its own measure, for this tier is wrong too often
    assert not audited(summary, manifest=manifest).passed


def test_without_a_canary_at_risk_there_is_no_verdict() -> None:
    with pytest.raises(NothingToCheck):
        audited("About deposits.", members={"cluster-001": ["c0"]})
    with pytest.raises(NothingToCheck):
        audited("About deposits.", manifest=CanaryManifest(()))


def test_a_matcher_that_finds_nothing_gives_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    class Blind:
        def __init__(self, canaries: Any) -> None: ...

        def find_in_fields(self, _: Any) -> list[Any]:
            return []

    monkeypatch.setattr(audit_module, "Matcher", Blind)
    with pytest.raises(ControlError):
        audited("About deposits.")


def test_personal_values_are_found_with_who_wrote_them() -> None:
    canaries = personal_values(REAL, k_min=2, max_values=10).canaries
    assert [(c.kind, c.value, c.conversation_id) for c in canaries] == [
        ("email", EMAIL, "c0"),
        ("card", CARD, "c1"),
    ]


def test_spellings_of_one_value_are_one() -> None:
    talks = [Conversation("a", "u", EMAIL), Conversation("b", "u", EMAIL.upper())]
    assert len(personal_values(talks, k_min=2, max_values=1).canaries) == 1


def test_what_enough_users_share_is_not_personal() -> None:
    talks = [Conversation(f"c{n}", f"u{n}", f"Call {EMAIL}") for n in range(3)]
    assert personal_values(talks, k_min=3, max_values=9).canaries == ()
    assert len(personal_values(talks, k_min=4, max_values=9).canaries) == 1


def test_more_values_than_can_be_looked_for_are_refused() -> None:
    with pytest.raises(TooLargeError, match="more than 1 different personal values"):
        personal_values(REAL, k_min=2, max_values=1)


@pytest.mark.parametrize(
    "text", ["\u200bjo.brandt42@example.com", "(５５５) 123-4567", "İjo@ﬁx.example.com", "1.2.3.4"]
)
def test_the_control_finds_values_in_any_script(text: str) -> None:
    manifest = personal_values([Conversation("c", "u", f"at: {text};")], k_min=2, max_values=9)
    assert Auditor(manifest).audit({"summary": "nothing"}).control == 1
