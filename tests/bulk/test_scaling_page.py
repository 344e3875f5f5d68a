"""What docs/scaling.md shows has to be right as it is: people copy it."""

from __future__ import annotations

import math
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from dynaserve.cli import app
from dynaserve.rlaa.pseudonyms import Pseudonyms
from dynaserve.rlaa.records import IDENTIFIER

PAGE = (Path(__file__).parents[2] / "docs" / "scaling.md").read_text()
LABEL = {"dask.org/cluster-name": "bulk"}


@pytest.fixture(scope="module")
def manifest() -> dict[str, Any]:
    (block,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    documents = list(yaml.safe_load_all(block))
    assert all(each["apiVersion"] and each["metadata"]["name"] for each in documents)
    return {each["kind"]: each["spec"] for each in documents}


def test_nobody_but_the_pods_of_the_run_and_the_operator_reaches_them(
    manifest: dict[str, Any],
) -> None:
    policy = manifest["NetworkPolicy"]
    assert policy["podSelector"] == {"matchLabels": LABEL}
    assert policy["policyTypes"] == ["Ingress"]
    pods, command, operator = policy["ingress"]
    assert pods == {"from": [{"podSelector": {"matchLabels": LABEL}}]}
    labels = manifest["Job"]["template"]["metadata"]["labels"]
    assert command == {"from": [{"podSelector": {"matchLabels": labels}}]}
    (namespace,) = operator["from"]
    assert namespace["namespaceSelector"]["matchLabels"] == {
        "kubernetes.io/metadata.name": "dask-operator"
    }
    assert manifest["DaskCluster"]["scheduler"]["service"]["selector"].items() >= LABEL.items()


def test_all_pods_see_the_same_files_and_workers_have_the_key(manifest: dict[str, Any]) -> None:
    worker = manifest["DaskCluster"]["worker"]["spec"]
    job = manifest["Job"]["template"]["spec"]
    for pod in (worker, job):
        (container,) = pod["containers"]
        assert container["volumeMounts"] == [{"name": "data", "mountPath": "/data"}]
        (key,) = container["env"]
        assert key["name"] == "DYNASERVE_NOISE_KEY"
        assert key["valueFrom"] == {"secretKeyRef": {"name": "dynaserve", "key": "noise-key"}}
    assert worker["volumes"] == job["volumes"]


def test_the_command_is_one_that_there_is(manifest: dict[str, Any]) -> None:
    (container,) = manifest["Job"]["template"]["spec"]["containers"]
    name, *arguments = container["args"]
    command: Any = typer.main.get_command(app)
    while arguments[0] in getattr(command, "commands", {}):
        command = command.commands[arguments.pop(0)]
    with command.make_context("defend", list(arguments)) as context:
        told = context.params
    assert (name, command.name) == ("dynaserve", "defend")
    assert told["scheduler"] == "tcp://bulk-scheduler:8786"
    assert told["model_version"]


def test_each_worker_of_a_pod_has_room_before_dask_writes_its_memory_to_disk(
    manifest: dict[str, Any],
) -> None:
    (container,) = manifest["DaskCluster"]["worker"]["spec"]["containers"]
    resources, told = container["resources"], container["args"]
    assert resources["requests"] == resources["limits"]
    gib = int(resources["limits"]["memory"].removesuffix("Gi"))
    each = gib * 1024 / int(told[told.index("--nworkers") + 1])
    spills = 0.6  # distributed.worker.memory.target
    (table,) = re.findall(r"workers \| seconds \| rows/s.*?\n\n", PAGE, re.DOTALL)
    held = max(int(line.rstrip(" |").rpartition(" ")[2]) for line in table.splitlines()[2:] if line)
    assert 200 < held < each * spills / 2


def test_what_the_examples_need_is_what_is_installed() -> None:
    install, *examples = re.search(r"```bash\n(.*?)```", PAGE, re.DOTALL)[1].splitlines()  # type: ignore[index]
    extras = {"defend": "bulk", "anonymize": "anonymize", "canary-audit": "canary"}
    used = {extras[line.split()[2]] for line in examples}
    (named,) = re.findall(r"dynaserve\[([\w,]+)\]", install)
    assert {*named.split(",")} == used


def test_how_many_values_share_a_replacement_is_what_the_page_says() -> None:
    told = re.search(r"of (\d+,000) values of one kind, some (\d+,000)\s+share", PAGE)
    assert told is not None
    values, sharing = (int(each.replace(",", "")) for each in told.groups())
    pseudonyms = Pseudonyms(bytes(range(32)))
    drawn = Counter(
        pseudonyms.replacement(IDENTIFIER, f"someone{n}@example.org", "[email]")
        for n in range(values)
    )
    found = sum(count for count in drawn.values() if count > 1)
    by_hand = values * -math.expm1(-values / 16**5)  # as many birthdays as there are tags
    assert by_hand == pytest.approx(found, rel=0.02)
    assert round(by_hand, -3) == sharing
