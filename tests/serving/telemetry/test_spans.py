from __future__ import annotations

import sys

import pytest

from dynaserve.serving.telemetry.spans import asked_for, spans_to

BASE, OWN = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"


@pytest.mark.parametrize("name", [BASE, OWN])
def test_the_standard_variables_ask_for_spans(name: str) -> None:
    collector = {name: "http://127.0.0.1:4318"}
    assert asked_for(collector)
    assert asked_for(collector | {"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"})
    assert not asked_for(collector | {"OTEL_SDK_DISABLED": "True"})
    assert not asked_for(collector | {"OTEL_TRACES_EXPORTER": "none"})


def test_nothing_said_is_no_spans(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (BASE, OWN):
        monkeypatch.delenv(name, raising=False)
    assert not asked_for({})
    assert not asked_for({BASE: ""})
    assert spans_to(None, "test") is None


def test_grpc_is_refused_rather_than_spoken_to_in_vain() -> None:
    collector = {BASE: "http://127.0.0.1:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}
    with pytest.raises(ValueError, match="http/protobuf only"):
        asked_for(collector)
    assert asked_for(collector | {"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf"})


def test_a_missing_exporter_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "dynaserve.serving.telemetry.tracing", raising=False)
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    with pytest.raises(ImportError, match=r"dynaserve\[serve\]"):
        spans_to("http://127.0.0.1:4318", "test")
