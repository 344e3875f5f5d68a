"""What docs/deploy.md shows has to be right as it is: people copy it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from dynaserve.cli.bento_image import STATE, USER
from dynaserve.serving.settings import (
    AnonymizerSettings,
    ServeSettings,
    SummariesSettings,
    variable,
)

PAGE = (Path(__file__).parents[2] / "docs" / "deploy.md").read_text()
SECRET_OR_PLACE = {"DYNASERVE_NOISE_KEY", "DYNASERVE_STATE_DIR"}


class Strict(yaml.SafeLoader):
    """Refuses a key that comes twice, as strict parsers do."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        keys = [key.value for key, _ in node.value]
        assert len(keys) == len(set(keys)), keys
        return super().construct_mapping(node, deep)


@pytest.fixture(scope="module")
def documents() -> list[Any]:
    blocks = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    return [document for block in blocks for document in yaml.load_all(block, Strict)]


def of_kind(documents: list[Any], kind: str) -> Any:
    (found,) = [document for document in documents if document.get("kind") == kind]
    return found


def test_every_variable_that_is_named_is_a_setting() -> None:
    settings = {
        variable(name)
        for kind in (ServeSettings, AnonymizerSettings, SummariesSettings)
        for name in kind.model_fields
    }
    named = set(re.findall(r"DYNASERVE_[A-Z_]+", PAGE))
    assert named <= settings | SECRET_OR_PLACE
    assert {"DYNASERVE_KEYS", "DYNASERVE_STATE", "DYNASERVE_METRICS"} <= named


def test_the_values_shown_are_ones_that_the_service_takes(documents: list[Any]) -> None:
    compose = documents[0]["services"]["classifier"]["environment"]
    container = of_kind(documents, "Deployment")["spec"]["template"]["spec"]["containers"][0]
    deployed = {env["name"]: env["value"] for env in container["env"] if "value" in env}
    for environment in (compose, deployed):
        settings = ServeSettings.from_environment(environment)
        assert settings.state == "redis://counts:6379/0"
        assert settings.metrics == "0.0.0.0:9090"


def test_the_pod_may_write_to_the_state_and_to_tmp_alone(documents: list[Any]) -> None:
    pod = of_kind(documents, "Deployment")["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["fsGroup"] == USER
    writable = {
        mount["mountPath"] for mount in container["volumeMounts"] if not mount.get("readOnly")
    }
    assert writable == {"/tmp", STATE}


def test_a_pod_that_ends_waits_until_nothing_is_sent_to_it(documents: list[Any]) -> None:
    pod = of_kind(documents, "Deployment")["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    command, seconds = container["lifecycle"]["preStop"]["exec"]["command"]
    assert (command, seconds) == ("sleep", "5")
    assert pod["terminationGracePeriodSeconds"] >= 30


def test_names_that_refer_to_each_other_agree(documents: list[Any]) -> None:
    deployment = of_kind(documents, "Deployment")
    template = deployment["spec"]["template"]
    labels = template["metadata"]["labels"]
    assert deployment["spec"]["selector"]["matchLabels"] == labels
    assert of_kind(documents, "Service")["spec"]["selector"] == labels
    assert of_kind(documents, "NetworkPolicy")["spec"]["podSelector"]["matchLabels"] == labels
    pod = template["spec"]
    (container,) = pod["containers"]
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    assert {mount["name"] for mount in container["volumeMounts"]} == {*volumes}
    secret = of_kind(documents, "Secret")
    assert volumes["keys"]["secret"]["secretName"] == secret["metadata"]["name"]
    assert {item["key"] for item in volumes["keys"]["secret"]["items"]} < {*secret["stringData"]}
    annotations = template["metadata"]["annotations"]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert annotations["prometheus.io/port"] == str(ports["metrics"])
    assert ports["http"] == 3000


def test_compose_mounts_what_the_service_is_told_of(documents: list[Any]) -> None:
    compose = documents[0]
    service = compose["services"]["classifier"]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    state, keys = (volume.split(":") for volume in service["volumes"])
    assert state[1] == STATE
    assert state[0] in compose["volumes"]
    # The directory: a mount of the file alone would go on showing a file that was replaced.
    assert Path(service["environment"]["DYNASERVE_KEYS"]).parent == Path(keys[1])
    assert keys[2] == "ro"
