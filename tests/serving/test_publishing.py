from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, get_args

import pytest

from dynaserve.canarybench import Conversation
from dynaserve.canarybench.corpus import generate
from dynaserve.canarybench.pipeline import publish as publish_alone
from dynaserve.canarybench.summarizers import SUMMARIZERS, Exemplars, Group
from dynaserve.serving.publishing import Policy, publish
from dynaserve.serving.settings import SummariesSettings

REAL = generate(300, seed=1)
POLICY = Policy(k_min=10)


def spied() -> tuple[Policy, list[str]]:
    """Return a policy that leaks nothing, and the list of all texts that its summarizer saw."""
    seen: list[str] = []

    def summarize(group: Group) -> str:
        seen.extend(group.texts)
        return "Something."

    return replace(POLICY, summarizer=summarize, redact=str), seen


def test_safe_conversations_are_published() -> None:
    outcome = publish(REAL, POLICY)
    assert outcome.body is not None
    document = json.loads(outcome.body)
    assert all(cluster["users"] >= 10 for cluster in document["clusters"])
    assert outcome.audit.passed
    assert outcome.audit.published_clusters == len(document["clusters"]) > 1


def test_what_was_planted_changes_nothing_in_the_answer() -> None:
    users = len({each.user for each in REAL})
    alone = publish_alone(REAL, k_min=10, clusters=min(17, users // 20))
    assert publish(REAL, POLICY).body == alone.serialized()


def test_the_summarizer_sees_canaries_beside_the_real_conversations() -> None:
    policy, seen = spied()
    outcome = publish(REAL, policy)
    assert len(seen) > outcome.audit.planted
    assert len(set(seen) - {each.text for each in REAL}) == outcome.audit.planted


def test_a_summarizer_that_quotes_is_refused_and_its_answer_gone() -> None:
    outcome = publish(REAL, replace(POLICY, summarizer=Exemplars()))
    assert outcome.body is None
    assert {finding.what for finding in outcome.audit.findings} == {"quote"}


def test_without_redaction_every_quoting_cluster_leaks_a_canary() -> None:
    outcome = publish(REAL, replace(POLICY, summarizer=Exemplars(), redact=str))
    assert outcome.body is None
    assert outcome.audit.cluster_rate.value == 1
    assert "canary" in {finding.what for finding in outcome.audit.findings}


def test_a_single_secret_that_a_summarizer_remembers_is_refused() -> None:
    email = "jo.brandt42@example.com"
    real = [*REAL, Conversation("own", REAL[0].user, f"{REAL[0].text} Write to {email}.")]

    def summarize(group: Group) -> str:
        return (
            "Ask jo dot brandt42 at example dot com"
            if any(email in t for t in group.texts)
            else "."
        )

    outcome = publish(real, replace(POLICY, summarizer=summarize, redact=lambda text: text))
    assert outcome.body is None
    (finding,) = outcome.audit.findings
    assert (finding.what, finding.kind, finding.conversation) == ("personal", "email", 300)


@pytest.mark.parametrize("users", [10, 19, 20, 57])
def test_enough_users_are_always_enough(users: int) -> None:
    real = [Conversation(f"c{n}", f"u{n % users}", each.text) for n, each in enumerate(REAL[:100])]
    outcome = publish(real, POLICY)
    assert outcome.body is not None
    assert json.loads(outcome.body)["clusters"]


def test_texts_without_words_are_published_without_any() -> None:
    real = [Conversation(f"c{n}", f"u{n}", "") for n in range(10)]
    outcome = publish(real, POLICY)
    assert outcome.body is not None
    (cluster,) = json.loads(outcome.body)["clusters"]
    assert (cluster["keywords"], cluster["conversations"]) == ([], 10)


@pytest.mark.parametrize("failing", ["summarizer", "redact"])
def test_what_fails_leaves_no_outcome(failing: str) -> None:
    def fail(_: Any) -> str:
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        publish(REAL, replace(POLICY, **{failing: fail}))


def test_a_summarizer_that_returns_no_text_is_an_error() -> None:
    with pytest.raises(TypeError, match="must return a string"):
        publish(REAL, replace(POLICY, summarizer=lambda _: None))  # type: ignore[arg-type, return-value]


def test_calls_at_the_same_time_share_no_canaries() -> None:
    spies = [spied() for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        outcomes = [*pool.map(lambda spy: publish(REAL, spy[0]), spies)]
    own = [set(seen) - {each.text for each in REAL} for _, seen in spies]
    assert [len(texts) for texts in own] == [outcome.audit.planted for outcome in outcomes]
    assert len(set().union(*own)) == sum(map(len, own))
    assert len({outcome.body for outcome in outcomes}) == 1


def test_the_policy_is_what_the_settings_say() -> None:
    settings = SummariesSettings(summarizer="extractive", k_min=7, quote_letters=40, max_values=9)
    policy = Policy.of(settings)
    assert isinstance(policy.summarizer, Exemplars)
    assert (policy.k_min, policy.quote_letters, policy.max_values) == (7, 40, 9)
    own = Policy.of(settings, summarizer=str, redact=str)
    assert (own.summarizer, own.redact) == (str, str)


def test_the_settings_know_the_summarizers_that_there_are() -> None:
    field = SummariesSettings.model_fields["summarizer"]
    assert set(get_args(field.annotation)) == set(SUMMARIZERS)


def test_the_defaults_of_policy_and_settings_agree() -> None:
    assert Policy.of(SummariesSettings()) == Policy()
