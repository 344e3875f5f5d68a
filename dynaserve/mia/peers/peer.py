"""The interface of peers, and the list of them.

Each entry binds a defense to what an experiment has: a trainer, a population, a finished run.
Where the papers tune a number for each data set, one that serves ours is chosen here, and why is
said beside it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dynaserve.defenses.protocol import Defense
from dynaserve.mia.datasets import Population
from dynaserve.mia.peers.simple import Temperature, TopOne
from dynaserve.mia.shadows.result import ShadowRun
from dynaserve.mia.shadows.trainer import Trainer

if TYPE_CHECKING:
    from dynaserve.mia.shadows.networks import NetworkTrainer

_RELAXED_SHARE = 0.3
_SUB_MODELS, _EXCLUDED = 10, 4


@dataclass(frozen=True)
class Peer:
    """A defense of others, as an experiment uses it.

    Attributes
    ----------
    name
        What tables call it.
    source
        Its paper.
    retrain
        From the plain trainer and the population to the trainer of target and shadows; None if
        the peer leaves training alone.
    output
        From the finished run to the defense of what is released; None for plain softmax.
    """

    name: str
    source: str
    retrain: Callable[[NetworkTrainer, Population], Trainer] | None = None
    output: Callable[[ShadowRun], Defense] | None = None

    def trainer(self, plain: NetworkTrainer, population: Population) -> Trainer:
        """Return the trainer of target and shadows; ``plain`` itself if training stays as is."""
        return plain if self.retrain is None else self.retrain(plain, population)

    def defense(self, run: ShadowRun) -> Defense | None:
        """Return what stands between the models of ``run`` and the attacker; None is softmax."""
        return None if self.output is None else self.output(run)


def _memguard(run: ShadowRun) -> Defense:
    from dynaserve.mia.peers.memguard import MemGuard  # noqa: PLC0415 - torch

    return MemGuard(run.logits[run.member], run.held_out_logits)


def _hamp_training(plain: NetworkTrainer, population: Population) -> Trainer:  # noqa: ARG001
    from dynaserve.mia.peers.hamp import HampObjective  # noqa: PLC0415 - torch

    return replace(plain, objective=HampObjective())


def _hamp_output(run: ShadowRun) -> Defense:
    from dynaserve.mia.peers.hamp import HampOutput  # noqa: PLC0415 - torch

    return HampOutput(run.random_logits)


def _relaxloss(plain: NetworkTrainer, population: Population) -> Trainer:
    """Hold the loss at 0.3 log k: a share of chance level as the paper's, for any k."""
    from dynaserve.mia.peers.relaxloss import RelaxLoss  # noqa: PLC0415 - torch

    return replace(plain, objective=RelaxLoss(alpha=_RELAXED_SHARE * math.log(population.classes)))


def _selena(plain: NetworkTrainer, population: Population) -> Trainer:  # noqa: ARG001
    """Return SELENA with the paper's L/K = 0.4 and 10 sub-models instead of 25, for speed.

    As in the paper, sub-models are trained for half as many epochs as the student.
    """
    from dynaserve.mia.peers.selena import Selena  # noqa: PLC0415 - torch

    half = replace(plain.schedule, epochs=max(plain.schedule.epochs // 2, 1))
    sub_model = replace(plain, schedule=half)
    return Selena(sub_model, plain.schedule, sub_models=_SUB_MODELS, excluded=_EXCLUDED)


def _advreg(plain: NetworkTrainer, population: Population) -> Trainer:
    """Return AdvReg with alpha 1: at 3, Location30's held-out accuracy falls by 12 points."""
    from dynaserve.mia.peers.advreg import AdvReg  # noqa: PLC0415 - torch

    p = population
    objective = AdvReg(p.held_out_inputs, p.held_out_labels, p.classes, alpha=1.0)
    return replace(plain, objective=objective)


def _early_stopping(plain: NetworkTrainer, population: Population) -> Trainer:
    from dynaserve.mia.shadows.networks import EarlyStopping  # noqa: PLC0415 - torch

    stopping = EarlyStopping(population.held_out_inputs, population.held_out_labels)
    return replace(plain, stopping=stopping)


def _dropout(plain: NetworkTrainer, population: Population) -> Trainer:  # noqa: ARG001
    network: Any = plain.network
    if not hasattr(network, "dropout"):
        raise ValueError("dropout: needs a network of dynaserve.mia.architectures")
    return replace(plain, network=replace(network, dropout=0.5))


PEERS: dict[str, Peer] = {
    peer.name: peer
    for peer in (
        Peer("memguard", "Jia et al., CCS 2019", output=_memguard),
        Peer("hamp", "Chen and Pattabiraman, NDSS 2024", _hamp_training, _hamp_output),
        Peer("relaxloss", "Chen et al., ICLR 2022", _relaxloss),
        Peer("selena", "Tang et al., USENIX Security 2022", _selena),
        Peer("advreg", "Nasr et al., CCS 2018", _advreg),
        Peer("top1", "Choquette-Choo et al., ICML 2021", output=lambda run: TopOne()),  # noqa: ARG005
        Peer("temperature", "Guo et al., ICML 2017", output=lambda run: Temperature()),  # noqa: ARG005
    )
}
"""Name -> peer defense."""

TRAINING_CHOICES: dict[str, Peer] = {
    peer.name: peer
    for peer in (
        Peer("early_stopping", "Prechelt, 1998", _early_stopping),
        Peer("dropout", "Srivastava et al., JMLR 2014", _dropout),
    )
}
"""Name -> ordinary training that fits less; with RelaxLoss, what lowers the label's own leak."""
