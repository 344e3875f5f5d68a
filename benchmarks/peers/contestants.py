"""Who is asked: the peers, each as its documentation starts it, and DynaServe.

Every server gets one worker and numerical libraries of one thread, and keeps no access log:
that is what each of their guides to production says. All else is as it comes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from benchmarks.peers import ways
from benchmarks.peers.model import CLASSES, FEATURES, probabilities, weights
from benchmarks.peers.ways import MODEL, Way
from benchmarks.ports import free_port
from benchmarks.processes import Command, Server, dynaserve
from benchmarks.service import requested_rows
from dynaserve import RankTemplate

ROOT = Path(__file__).resolve().parent.parent.parent
ENVIRONMENTS = ROOT / ".benchmarks" / "peers"
APPS = "benchmarks.peers.apps"

UNDEFENDED, CONTROL = "DynaServe undefended", "control"
DEFENSES = ("dynanoise", "rank-template")


@dataclass(frozen=True)
class Contestant:
    """A server, and the ways into it."""

    server: Server
    ways: Mapping[str, Way]
    defended: bool = False


class MissingError(Exception):
    """An environment is not there; the message says how to build it."""


def defended(defense: str) -> str:
    """Return the name of the server that has this defense."""
    return f"DynaServe {defense}"


def contestants(classes: int, directory: Path) -> dict[str, Contestant]:
    """Return everyone by name.

    Parameters
    ----------
    classes
        Of the model.
    directory
        For the files that DynaServe serves.

    Raises
    ------
    MissingError
        A peer is not installed.
    """
    model, template = _files(classes, directory)
    undefended = dynaserve([model, "--defense", "none", "--undefended"])
    arguments = {"dynanoise": "dynanoise", "rank-template": template}
    ours = {name: dynaserve([model, "--defense", arguments[name]]) for name in DEFENSES}
    return {
        "BentoML": Contestant(_bentoml(classes), ways.BENTOML),
        "MLServer": Contestant(_mlserver(classes), ways.MLSERVER),
        "LitServe": Contestant(_litserve(classes), ways.LITSERVE),
        "Starlette": Contestant(_starlette(classes), ways.STARLETTE),
        UNDEFENDED: Contestant(undefended, ways.DYNASERVE),
        **{
            defended(name): Contestant(server, ways.DYNASERVE, defended=True)
            for name, server in ours.items()
        },
        CONTROL: Contestant(undefended, ways.DYNASERVE),
    }


def _files(classes: int, directory: Path) -> tuple[str, str]:
    """Write the model as ONNX, which computes in float32 as numpy does, and a template for it."""
    model, template = directory / f"{MODEL}.onnx", directory / "rank_template.toml"
    of_model = weights(classes)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["inputs", "weights"], ["logits"])],
        MODEL,
        [helper.make_tensor_value_info("inputs", TensorProto.FLOAT, ["rows", FEATURES])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["rows", classes])],
        [numpy_helper.from_array(of_model, "weights")],
    )
    # Versions of the format that every ONNX Runtime in use reads.
    opset = helper.make_opsetid("", 17)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=9), str(model))
    held_out = probabilities(requested_rows(1000).astype(np.float32), of_model)
    RankTemplate.calibrate(np.log(held_out), held_out.argmax(axis=1)).save(template)
    return str(model), str(template)


def _program(peer: str, name: str) -> str:
    path = ENVIRONMENTS / peer / "bin" / name
    if not path.exists():
        raise MissingError(f"{peer} is not installed in {path.parent.parent}: make bench-peers")
    return str(path)


def _environment(classes: int) -> dict[str, str]:
    return {"PYTHONPATH": str(ROOT), CLASSES: str(classes)}


def _bentoml(classes: int) -> Server:
    program = _program("bentoml", "bentoml")

    def command(port: int, directory: Path) -> Command:
        service = f"{APPS}.bentoml_app:Linear"
        arguments = [program, "serve", service, "--host", "127.0.0.1", "--port", str(port)]
        environment = {
            "BENTOML_HOME": str(directory / "plain-bentoml"),
            "BENTOML_DO_NOT_TRACK": "True",
        }
        return Command(arguments, _environment(classes) | environment)

    return Server(command)


def _mlserver(classes: int) -> Server:
    program = _program("mlserver", "mlserver")

    def command(port: int, directory: Path) -> Command:
        folder = directory / "mlserver"
        folder.mkdir()
        settings = {
            "debug": False,  # which has the access log
            "host": "127.0.0.1",
            "http_port": port,
            "grpc_port": free_port(),
            "metrics_port": free_port(),
            # The model in the server's own process, where a small one is faster.
            "parallel_workers": 0,
        }
        model = {"name": MODEL, "implementation": f"{APPS}.mlserver_app.Linear"}
        (folder / "settings.json").write_text(json.dumps(settings))
        (folder / "model-settings.json").write_text(json.dumps(model))
        return Command([program, "start", str(folder)], _environment(classes))

    return Server(command, "/v2/health/ready")


def _litserve(classes: int) -> Server:
    program = _program("litserve", "python")

    def command(port: int, _: Path) -> Command:
        arguments = [program, "-m", f"{APPS}.litserve_app", "--port", str(port)]
        return Command(arguments, _environment(classes))

    return Server(command, "/health")


def _starlette(classes: int) -> Server:
    program = _program("starlette", "python")

    def command(port: int, _: Path) -> Command:
        app = f"{APPS}.starlette_app:app"
        arguments = [program, "-m", "uvicorn", app, "--port", str(port), "--no-access-log"]
        return Command(arguments, _environment(classes))

    return Server(command)
