from __future__ import annotations

import subprocess
import sys

import pytest

from dynaserve import __version__

COMMANDS = ("serve", "calibrate", "info")


def test_version_is_that_of_the_package(run):
    assert run("--version").stdout == f"dynaserve {__version__}\n"


def test_help_lists_every_command(run):
    out = run("--help").stdout
    assert all(command in out for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_shows_an_example_and_json(run, command):
    result = run(command, "--help")
    assert result.exit_code == 0
    assert f"Example: dynaserve {command}" in result.stdout
    assert "--json" in result.stdout


@pytest.mark.parametrize(
    "arguments", [["nonsense"], ["info", "--nonsense"], ["serve", "--port", "0"]]
)
def test_wrong_usage_exits_with_2(run, arguments):
    assert run(*arguments).exit_code == 2


def test_help_imports_no_framework():
    code = (
        "import sys\n"
        "sys.argv = ['dynaserve', '--help']\n"
        "from dynaserve.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print({'torch', 'bentoml', 'sklearn', 'onnxruntime', 'skops'} & set(sys.modules))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.splitlines()[-1] == "set()"
