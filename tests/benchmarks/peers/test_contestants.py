"""Everyone serves the same model, each from an environment of its own."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from benchmarks.peers import contestants as module
from benchmarks.peers.contestants import UNDEFENDED, MissingError, contestants
from benchmarks.peers.model import CLASSES, probabilities, weights
from benchmarks.service import requested_rows
from dynaserve import load_defense
from dynaserve.serving.models import load_model


@pytest.fixture
def environments(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Put empty programs where the peers' environments have theirs."""
    for peer in ("bentoml", "mlserver", "litserve", "starlette"):
        folder = tmp_path / "peers" / peer / "bin"
        folder.mkdir(parents=True)
        for name in {peer, "python"}:
            (folder / name).touch()
    monkeypatch.setattr(module, "ENVIRONMENTS", tmp_path / "peers")
    return tmp_path / "peers"


def test_every_peer_runs_in_its_own_environment(environments: Path, tmp_path: Path) -> None:
    everyone = contestants(10, tmp_path)
    for peer in ("BentoML", "MLServer", "LitServe", "Starlette"):
        command = everyone[peer].server.command(3000, tmp_path)
        assert Path(command.arguments[0]).is_relative_to(environments / peer.lower())
        assert command.environment[CLASSES] == "10"
        assert not everyone[peer].defended


def test_mlserver_is_told_its_port_and_keeps_no_log(environments: Path, tmp_path: Path) -> None:
    assert environments.exists()
    contestants(10, tmp_path)["MLServer"].server.command(3456, tmp_path)
    settings = json.loads((tmp_path / "mlserver" / "settings.json").read_text())
    assert settings["http_port"] == 3456
    assert len({settings[name] for name in ("http_port", "grpc_port", "metrics_port")}) == 3
    assert settings["debug"] is False


def test_dynaserve_serves_the_same_model_and_a_template_for_it(
    environments: Path, tmp_path: Path
) -> None:
    assert environments.exists()
    everyone = contestants(400, tmp_path)
    ours = {
        name: each.server.command(3000, tmp_path).arguments
        for name, each in everyone.items()
        if name.startswith("DynaServe") or name == "control"
    }
    assert ours["control"] == ours[UNDEFENDED]
    assert {name for name in ours if everyone[name].defended} == {
        "DynaServe dynanoise",
        "DynaServe rank-template",
    }
    source = ours[UNDEFENDED][2]
    rows = requested_rows(3).astype(np.float32)
    model = load_model(source, trust_pickle=False)
    assert model.dtype == np.float32
    logits = model.logits(rows)
    expected = probabilities(rows, weights(400))
    np.testing.assert_allclose(softmax(logits, axis=1), expected, rtol=1e-4, atol=1e-9)
    template = load_defense(ours["DynaServe rank-template"][-3])
    released = template(log_softmax(logits, axis=1), queries=rows)
    assert released.shape == (3, 400)


def test_a_peer_that_is_not_installed_is_named(environments: Path, tmp_path: Path) -> None:
    (environments / "litserve" / "bin" / "python").unlink()
    with pytest.raises(MissingError, match=r"litserve is not installed .*make bench-peers"):
        contestants(10, tmp_path)
