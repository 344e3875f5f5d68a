from __future__ import annotations

import json
import os
import socket
import subprocess
import sys

import numpy as np
import pytest
import sklearn
import skops.io
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

from dynaserve import DynaNoise, RankTemplate
from dynaserve.cli import serve as serve_module
from dynaserve.serving.settings import ServeSettings


@pytest.fixture
def port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@pytest.fixture
def server(monkeypatch):
    """Record what the process would have become: program, arguments, environment."""
    calls = []
    monkeypatch.setattr(os, "execve", lambda *call: calls.append(call))
    return calls


@pytest.fixture
def iris(tmp_path):
    path = tmp_path / "iris.skops"
    skops.io.dump(LogisticRegression(max_iter=1000).fit(*load_iris(return_X_y=True)), path)
    return path


def test_it_becomes_the_bentoml_server_with_these_settings(run, server, iris, port):
    result = run("serve", iris, "--port", port, "--workers", 2, "--max-rows", 7)
    assert result.exit_code == 0, result.stderr
    ((program, arguments, environment),) = server
    assert program == arguments[0] == sys.executable
    assert arguments[1:4] == ["-m", "bentoml", "serve"]
    assert arguments[4:] == [
        "dynaserve.serving.classifier:Classifier", "--host", "127.0.0.1", "--port", str(port)
    ]  # fmt: skip
    settings = ServeSettings.from_environment(environment)
    assert settings == ServeSettings(source=str(iris), port=port, workers=2, max_rows=7)
    assert environment["BENTOML_DO_NOT_TRACK"] == "True"
    assert environment["DYNASERVE_TRIED_PID"] == str(os.getpid())  # no model is loaded there again


def test_it_says_what_is_served_and_how_to_ask(run, server, iris, port, state_directory):
    out = run("serve", iris, "--port", port).stdout
    assert server
    assert "iris.skops, version " in out
    assert "3 classes: 0, 1, 2" in out
    assert "DynaNoise, keyed" in out
    assert "dynaserve calibrate HELD_OUT.npz" in out
    assert f"file {state_directory}/noise.key" in out
    assert f"curl -s http://127.0.0.1:{port}/predict" in out
    assert '{"inputs":[[0.0,0.0,0.0,0.0]]}' in out


def test_json_says_the_same(run, server, iris, port, state_directory):
    facts = json.loads(run("serve", iris, "--port", port, "--json").stdout)
    assert server
    assert (facts["input_shape"], facts["classes"]) == ([4], [0, 1, 2])
    assert facts["url"] == f"http://127.0.0.1:{port}"
    assert facts["access"] == "this machine only, without API keys"
    assert facts["inference"] == f"http://127.0.0.1:{port}/v2/models/iris/infer"
    key = (state_directory / "noise.key").read_bytes()
    assert key.hex() not in json.dumps(facts)


@pytest.mark.parametrize(
    ("defense", "says"),
    [
        ("dynanoise", "--defense rank-template"),
        ("dynanoise-paper", "DynaNoise"),
        ("rank-template", "RankTemplate"),
    ],
)
def test_the_embedded_default_takes_every_defense(run, server, port, defense, says):
    result = run("serve", "--port", port, "--defense", defense)
    assert result.exit_code == 0, result.stderr
    assert says in result.stdout
    assert len(server) == 1


def test_no_defense_needs_a_second_word(run, server, port):
    refused = run("serve", "--port", port, "--defense", "none")
    assert refused.exit_code == 2
    assert "--undefended" in refused.stderr
    assert not server
    confirmed = run("serve", "--port", port, "--defense", "none", "--undefended")
    assert confirmed.exit_code == 0
    assert "no defense" in confirmed.stdout


def test_a_defense_file_is_used(run, server, iris, port, tmp_path):
    DynaNoise.paper(temperature=5.0).save(tmp_path / "d.toml")
    assert "5" in run("serve", iris, "--port", port, "--defense", tmp_path / "d.toml").stdout
    assert ServeSettings.from_environment(server[0][2]).defense == str(tmp_path / "d.toml")


def test_a_defense_for_other_classes_is_refused_before_start(run, server, iris, port, tmp_path):
    rng = np.random.default_rng(0)
    template = RankTemplate.calibrate(rng.normal(size=(400, 5)), rng.integers(0, 5, 400))
    template.save(tmp_path / "d.toml")
    result = run("serve", iris, "--port", port, "--defense", tmp_path / "d.toml")
    assert result.exit_code == 2
    assert "calibrated for 5 classes, got 3" in result.stderr
    assert not server


def test_a_template_of_another_model_is_refused_before_start(run, server, iris, port, tmp_path):
    rng = np.random.default_rng(0)
    template = RankTemplate.calibrate(rng.normal(size=(400, 3)), rng.integers(0, 3, 400))
    template.with_model_version("another").save(tmp_path / "d.toml")
    result = run("serve", iris, "--port", port, "--defense", tmp_path / "d.toml")
    assert result.exit_code == 2
    assert "calibrated on model version another" in result.stderr
    assert "calibrate again, with: dynaserve calibrate" in result.stderr
    assert not server


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.skops"], "missing.skops does not exist"),
        (["--defense", "nonsense"], "nonsense"),
        (["--defense", ""], "defense '': no defense has that name; choose dynanoise"),
        (["--defense", "absent.toml"], "no such file"),
        (["--host", "not a host"], "--host not a host"),
        (["--name", "../x"], "--name: String should match pattern"),
        (["--state", "mysql://"], "--state: write redis://HOST:PORT/DB, or leave it out"),
        (["--metrics", "9090"], "--metrics: write HOST:PORT, such as 127.0.0.1:9090"),
    ],
)
def test_what_cannot_be_served_is_one_line(run, server, port, arguments, message):
    result = run("serve", *arguments, "--port", port)
    assert result.exit_code == 2
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert not server


def test_a_port_in_use_is_said_before_anything_loads(run, server, monkeypatch):
    monkeypatch.setattr(serve_module, "_load", lambda _settings: pytest.fail("loaded"))
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        result = run("serve", "--port", listener.getsockname()[1])
    assert result.exit_code == 2
    assert "in use" in result.stderr
    assert not server


def test_a_user_who_brings_model_and_key_needs_no_state_directory(
    run, server, port, tmp_path, monkeypatch
):
    (tmp_path / "file").touch()
    monkeypatch.setenv("DYNASERVE_STATE_DIR", str(tmp_path / "file"))
    monkeypatch.setenv("DYNASERVE_NOISE_KEY", "ab" * 32)
    rng = np.random.default_rng(0)
    wide = LogisticRegression().fit(rng.normal(size=(20, 200)), rng.integers(0, 2, 20))
    skops.io.dump(wide, tmp_path / "wide.skops")
    result = run("serve", tmp_path / "wide.skops", "--port", port)
    assert result.exit_code == 0, result.stderr
    assert "environment (DYNASERVE_NOISE_KEY)" in result.stdout
    assert '{"inputs":[[0.0,' in result.stdout
    assert len(server) == 1


@pytest.mark.parametrize("taken", ["state", "state/embedded"])
def test_a_state_directory_that_cannot_be_written_names_its_variable(
    run, server, port, tmp_path, taken
):
    (tmp_path / taken).parent.mkdir(exist_ok=True)
    (tmp_path / taken).touch()
    result = run("serve", "--port", port)
    assert result.exit_code == 2
    assert "set DYNASERVE_STATE_DIR to a directory" in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert not server


def test_a_host_that_others_reach_needs_api_keys(run, server, iris, port):
    refused = run("serve", iris, "--port", port, "--host", "0.0.0.0")
    assert refused.exit_code == 2
    assert "0.0.0.0 can be reached from other machines" in refused.stderr
    assert "dynaserve keys create NAME" in refused.stderr
    assert not server
    assert run("keys", "create", "somebody").exit_code == 0
    result = run("serve", iris, "--port", port, "--host", "0.0.0.0")
    assert len(server) == 1
    assert "API keys in " in result.stdout
    assert f"curl -s http://127.0.0.1:{port}/" in result.stdout
    assert '-H "x-api-key: $DYNASERVE_API_KEY"' in result.stdout


CONFIG = """
[server]
workers = 3
[limits]
max_rows = 9
seconds = 4
[classifier]
source = "iris.skops"
name = "flowers"
"""


def test_a_file_of_settings_counts_less_than_variables_and_those_less_than_flags(
    run, server, iris, port, monkeypatch
):
    (iris.parent / "serve.toml").write_text(CONFIG)
    monkeypatch.setenv("DYNASERVE_MAX_ROWS", "8")
    monkeypatch.setenv("DYNASERVE_WORKERS", "2")
    result = run("serve", "--config", iris.parent / "serve.toml", "--port", port, "--workers", 1)
    assert result.exit_code == 0, result.stderr
    assert f"http://127.0.0.1:{port}/v2/models/flowers/infer" in result.stdout
    told = ServeSettings.from_environment(server[0][2])
    assert (told.workers, told.max_rows, told.seconds) == (1, 8, 4)
    assert (told.source, told.name) == (str(iris), "flowers")


def test_check_says_what_would_be_served_and_serves_nothing(run, server, iris, port):
    with socket.socket() as listener:  # as a service that is running already does
        listener.bind(("127.0.0.1", port))
        listener.listen()
        result = run("serve", iris, "--port", port, "--check")
    assert result.exit_code == 0, result.stderr
    assert "iris.skops, version " in result.stdout
    assert not server


def test_all_that_is_wrong_with_settings_is_said_at_once(run, server, tmp_path, monkeypatch):
    (tmp_path / "serve.toml").write_text(
        "[limits]\nmax_row = 5\nseconds = -1\n[classifer]\nname = 'x'\n"
    )
    monkeypatch.setenv("DYNASERVE_WORKERS", "many")
    result = run("serve", "--check", "--config", tmp_path / "serve.toml", "--max-bytes", "0")
    assert result.exit_code == 2
    lines = result.stderr.splitlines()
    assert all(line.startswith("error: ") for line in lines)
    for wanted in (
        "limits has no max_row; do you mean max_rows?",
        "serve.toml: limits.seconds: Input should be greater than 0",
        "no table [classifer]",
        "DYNASERVE_WORKERS: Input should be a valid integer",
        "--max-bytes: Input should be greater than or equal to 1",
    ):
        assert sum(wanted in line for line in lines) == 1, wanted
    assert len(lines) == 5


def test_all_that_stands_in_the_way_of_serving_is_said_at_once(run, server, tmp_path):
    (tmp_path / "keys.toml").write_text("nonsense")
    result = run("serve", "missing.skops", "--check", "--keys", tmp_path / "keys.toml")
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 2
    assert "missing.skops does not exist" in result.stderr
    assert "keys.toml" in result.stderr
    assert "nonsense" not in result.stderr


def test_a_warning_of_a_library_is_one_line(run, server, iris, port, monkeypatch):
    monkeypatch.setattr(sklearn, "__version__", "1.0.1")
    monkeypatch.setattr("sklearn.base.__version__", "1.0.1")
    skops.io.dump(LogisticRegression(max_iter=1000).fit(*load_iris(return_X_y=True)), iris)
    monkeypatch.undo()
    monkeypatch.setattr(os, "execve", lambda *call: server.append(call))
    monkeypatch.setenv("DYNASERVE_STATE_DIR", str(iris.parent / "state"))
    result = run("serve", iris, "--port", port)
    assert len(server) == 1
    assert result.stderr.startswith("warning: iris.skops: ")
    assert len(result.stderr.splitlines()) == 1


def test_a_real_process_refuses_an_untrusted_pickle(tmp_path, port):
    (tmp_path / "m.pkl").write_bytes(b"cos\nsystem\n(S'touch touched'\ntR.")
    command = [sys.executable, "-c", "from dynaserve.cli import main; main()", "serve", "m.pkl"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    result = subprocess.run(
        [*command, "--port", str(port)],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.returncode == 2
    assert result.stderr.startswith("error: m.pkl is a pickle")
    assert not (tmp_path / "touched").exists()
