"""The blocks of docs/canarybench.md run as they stand there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dynaserve.canarybench.conversations import write_conversations
from dynaserve.canarybench.corpus import generate

DOC = Path(__file__).parents[2] / "docs" / "canarybench.md"


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", DOC.read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture
def project(tmp_path):
    """Make a directory with the files of the page and conversations, to run a command in."""
    write_conversations(tmp_path / "conversations.jsonl", generate(200, seed=0))
    for block in blocks("python"):
        if name := re.match(r"# (\w+\.py)\n", block):
            (tmp_path / name[1]).write_text(block)

    def run(*command):
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        return subprocess.run(
            command,
            cwd=tmp_path,
            env={**os.environ, "PATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def leak(tmp_path):
    (tmp_path / "summarize.py").write_text((tmp_path / "leaky.py").read_text())


def pytest_of(project):
    plugin = ("-p", "dynaserve.canarybench.pytest_plugin", "-p", "no:cacheprovider")
    return project(sys.executable, "-m", "pytest", "-q", *plugin, "test_summarize.py")


def test_the_external_summarizer_uses_nothing_of_ours():
    (summarizer,) = (block for block in blocks("python") if block.startswith("# summarize.py"))
    assert "dynaserve" not in summarizer


def test_the_pytest_example_passes_and_fails_with_a_leak(project, tmp_path):
    result = pytest_of(project)
    assert result.returncode == 0, result.stdout
    leak(tmp_path)
    result = pytest_of(project)
    assert result.returncode == 1
    assert "canaries leaked, in" in result.stdout


def test_the_shell_example_passes_and_fails_with_a_leak(project, tmp_path):
    (pipeline,) = (block for block in blocks("bash") if "canary plant" in block)
    result = project("bash", "-c", pipeline)
    assert result.returncode == 0, result.stderr
    assert "PASSED" in result.stdout
    leak(tmp_path)
    result = project("bash", "-c", pipeline)
    assert result.returncode == 1, result.stderr
    assert "FAILED" in result.stdout


def test_the_library_example_passes(capsys):
    exec(blocks("python")[-1], {})
    assert capsys.readouterr().out.startswith("True 0 of ")


def test_the_example_is_of_20_lines():
    (test,) = (block for block in blocks("python") if block.startswith("# test_summarize.py"))
    code = [line for line in test.splitlines() if line.strip() and not line.startswith("#")]
    assert len(code) <= 20


def test_the_workflow_runs_what_the_command_line_has(project):
    (workflow,) = blocks("yaml")
    commands = set(re.findall(r"dynaserve canary (\w+)", workflow))
    assert commands == {"plant", "audit"}
    for command in commands:
        help_text = project("dynaserve", "canary", command, "--help").stdout
        for option in re.findall(rf"dynaserve canary {command}.*", workflow)[0].split():
            assert not option.startswith("--") or option in help_text
