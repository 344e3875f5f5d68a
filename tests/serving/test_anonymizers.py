from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from dynaserve.rlaa import llm as backends
from dynaserve.rlaa.llm import ScriptedLLM
from dynaserve.rlaa.llm.protocol import LLMError
from dynaserve.rlaa.records import Status
from dynaserve.serving import anonymizers
from dynaserve.serving.anonymizers import make_anonymizers, prepare
from dynaserve.serving.settings import AnonymizationSettings, AnonymizerSettings, SettingsError

TEXT = "I am 31, and I live in Leeds."


def settings(**values: Any) -> AnonymizationSettings:
    return AnonymizationSettings(**values)


def test_without_a_model_the_built_in_engine_edits() -> None:
    made = make_anonymizers(settings())
    assert [*made] == ["edit"]
    result = made["edit"].run(TEXT)
    assert result.status is Status.ANONYMIZED
    assert "31" not in (result.text or "")
    assert "Leeds" not in (result.text or "")


def test_settings_narrow_what_is_done() -> None:
    narrow = make_anonymizers(settings(attributes=("age",)))["edit"].run(TEXT)
    assert "Leeds" in (narrow.text or "")
    assert "31" not in (narrow.text or "")
    vague = "We had snow in Leeds last week."  # a hint, and no more
    assert make_anonymizers(settings())["edit"].run(vague).status is Status.ANONYMIZED
    strict = make_anonymizers(settings(max_mrs=0.0))["edit"].run(vague)
    assert strict.status is Status.STOPPED_RATIONAL
    assert strict.text == vague


def test_a_model_plays_both_modes_and_is_loaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[Any] = []

    def load(model: str, *, context: int) -> ScriptedLLM:
        loaded.append((model, context))
        return ScriptedLLM([])

    monkeypatch.setattr(backends, "LlamaCppLLM", load)
    assert [*make_anonymizers(settings(model="m.gguf", context=2048))] == ["edit", "rewrite"]
    assert loaded == [("m.gguf", 2048)]


def test_a_model_writes_its_grades_and_as_much_as_it_may_if_so_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = {
        "reasoning": "Says so.",
        "leaks": [
            {"attribute": "location", "reasoning": "r", "guess": "UK", "evidence": "Leeds",
             "certainty": 5},
        ],
    }  # fmt: skip
    grades = {"grades": [{"number": 1, "reason": "vague", "level": "LOW"}]}
    llm = ScriptedLLM([json.dumps(found), json.dumps(grades)])
    monkeypatch.setattr(backends, "LlamaCppLLM", lambda *_, **__: llm)
    told = settings(model="m.gguf", grades="generate", attack_tokens=321, attributes=("location",))
    result = make_anonymizers(told)["edit"].run("Rain in Leeds.")
    assert (result.status, result.text) == (Status.CLEAN, "Rain in Leeds.")
    assert llm.requests[0].max_tokens == 321
    assert llm.calls == 2


def test_a_server_gets_its_token_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def reach(*arguments: Any, **options: Any) -> ScriptedLLM:
        asked.append((arguments, options))
        return ScriptedLLM([])

    monkeypatch.setattr(backends, "OpenAICompatibleLLM", reach)
    monkeypatch.setenv(anonymizers.API_KEY, "a token")
    url = "http://127.0.0.1:8080/v1"
    make_anonymizers(settings(server=url, model="m"))
    assert asked == [((url, "m"), {"allow_remote": False, "context": 4096, "api_key": "a token"})]


def test_a_public_server_is_refused_unless_it_is_allowed() -> None:
    with pytest.raises(OSError, match="8.8.8.8 is a public address".replace(".", r"\.")):
        make_anonymizers(settings(server="https://8.8.8.8/v1", model="m"))
    made = make_anonymizers(settings(server="https://8.8.8.8/v1", model="m", allow_remote=True))
    assert {*made} == {"edit", "rewrite"}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"mode": "rewrite"}, "needs a model"),
        ({"server": "http://127.0.0.1"}, "name of its model"),
        ({"allow_remote": True}, "about a server"),
        ({"mode": "rewrite", "model": "m", "consistent": "key"}, "in mode edit only"),
        ({"grades": "generate"}, "grades generate needs a model"),
        ({"model": "m", "context": 512, "attack_tokens": 512}, "attack_tokens: 512 tokens for"),
        ({"model": "m", "context": 1024}, "leave no room for a text in a context of 1024"),
        ({"model": "nowhere.gguf"}, "nowhere.gguf"),
    ],
)
def test_settings_that_cannot_work_are_refused(values: dict[str, Any], message: str) -> None:
    for checked in (make_anonymizers, prepare):
        with pytest.raises((ValueError, OSError), match=message):
            checked(settings(**values))


def test_preparing_does_not_load_the_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(backends, "LlamaCppLLM", lambda *_, **__: pytest.fail("loaded"))
    model = tmp_path / "m.gguf"
    model.write_bytes(b"weights")
    prepare(settings(model=str(model)))


def test_what_a_backend_says_is_said_as_what_callers_expect(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise LLMError("cannot be downloaded")

    monkeypatch.setattr(backends, "LlamaCppLLM", fail)
    with pytest.raises(OSError, match="model: cannot be downloaded"):
        make_anonymizers(settings(model="org/repo:m.gguf"))


def test_a_key_file_keeps_replacements_over_processes(tmp_path: Path) -> None:
    key = tmp_path / "key"
    texts = [
        make_anonymizers(settings(consistent=str(path)))["edit"].run("Mail jo.b@example.com.").text
        for path in (key, key, tmp_path / "other")
    ]
    assert texts[0] == texts[1] != texts[2]
    assert key.stat().st_mode & 0o777 == 0o600
    assert {path.name for path in tmp_path.iterdir()} >= {"key", "key.sqlite"}


def test_settings_survive_the_trip_through_the_environment() -> None:
    told = AnonymizerSettings(
        model="org/repo:m.gguf", attributes=("age", "birth_place"), actionable="high",
        max_mrs=0.25, max_rounds=2, consistent="key", seed=4, max_bytes=10, seconds=1.5, workers=2,
        mode="rewrite", context=2048, grades="generate", attack_tokens=700,
    )  # fmt: skip
    assert AnonymizerSettings.from_environment(told.to_environment()) == told
    assert AnonymizerSettings.from_environment(AnonymizerSettings().to_environment()) == (
        AnonymizerSettings()
    )


def test_a_model_file_and_a_key_file_are_found_from_another_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("m.gguf", "key"):
        Path(name).write_bytes(b"x")
    told = AnonymizerSettings(model="m.gguf", consistent="key").to_environment()
    assert told["DYNASERVE_MODEL"] == os.path.join(tmp_path, "m.gguf")
    assert told["DYNASERVE_CONSISTENT"] == os.path.join(tmp_path, "key")


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("DYNASERVE_ATTRIBUTES", "shoes"), ("DYNASERVE_ATTRIBUTES", ","), ("DYNASERVE_MODE", "x"),
        ("DYNASERVE_ACTIONABLE", "med"), ("DYNASERVE_MAX_MRS", "-1"), ("DYNASERVE_SECONDS", "0"),
        ("DYNASERVE_MAX_PENDING", "0"), ("DYNASERVE_CONTEXT", "1"),
        ("DYNASERVE_GRADES", "guess"), ("DYNASERVE_ATTACK_TOKENS", "0"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_an_error_that_names_its_variable(variable: str, value: str) -> None:
    with pytest.raises(SettingsError, match=f"^{variable}: "):
        AnonymizerSettings.from_environment({variable: value})
