"""Who takes part: a way of training and a way of releasing, by names that a user can combine.

It binds names to defenses; it trains and attacks nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from dynaserve.defenses import Defense, DynaNoise, RankTemplate
from dynaserve.mia.peers import PEERS, TRAINING_CHOICES
from dynaserve.mia.shadows.result import ShadowRun

PLAIN = "plain"
"""Training without any defense."""

Make = Callable[[ShadowRun, int], "Defense | None"]
"""From a finished run and a seed to what stands before its target; None is plain softmax."""


@dataclass(frozen=True)
class Output:
    """What happens to a model's scores.

    Attributes
    ----------
    make
        Fits the defense to the target of a run.
    fitted
        Whether it depends on the model, so that the attacker has to fit one for each shadow.
    slow
        Whether each answer takes so long that near-duplicates are not asked.
    """

    make: Make
    fitted: bool = False
    slow: bool = False


OUTPUTS: dict[str, Output] = {
    "none": Output(lambda run, seed: None),  # noqa: ARG005
    "dynanoise-paper": Output(lambda run, seed: DynaNoise.paper(0.3, 2.0, 10.0)),  # noqa: ARG005
    "dynanoise-keyed": Output(lambda run, seed: DynaNoise.keyed(_key(seed))),  # noqa: ARG005
    "rank-template": Output(lambda run, seed: _rank_template(run), fitted=True),  # noqa: ARG005
} | {
    name: Output(
        lambda run, seed, peer=peer: peer.defense(run),  # type: ignore[misc]  # noqa: ARG005
        fitted=name == "memguard",
        slow=name == "memguard",
    )
    for name, peer in PEERS.items()
    if peer.output
}
"""Name -> what is done to scores."""

TRAININGS: dict[str, str] = {
    name.replace("_", "-"): name
    for name, peer in (PEERS | TRAINING_CHOICES).items()
    if peer.retrain
}
"""Name -> the peer that trains so; the plain one is not among them."""

DEFAULT = (
    "none", "dynanoise-paper", "dynanoise-keyed", "rank-template", "memguard", "hamp",
    "relaxloss", "selena", "advreg", "top1", "temperature",
)  # fmt: skip
"""The defenses of the paper's table, ours, and the two simplest."""

TRAINING = (
    "none", "rank-template",
    "relaxloss", "relaxloss+rank-template",
    "early-stopping", "early-stopping+rank-template",
    "dropout", "dropout+rank-template",
)  # fmt: skip
"""Training that fits less, with and without what protects the scores."""


@dataclass(frozen=True)
class Contender:
    """One row of the table.

    Attributes
    ----------
    name
        As a user writes it: ``relaxloss+rank-template``.
    training
        The name of a peer or `PLAIN`.
    output
        A key of `OUTPUTS`.
    """

    name: str
    training: str
    output: str

    @property
    def slow(self) -> bool:
        """Whether near-duplicates are not asked."""
        return OUTPUTS[self.output].slow

    def defense(self, run: ShadowRun, seed: int) -> Defense | None:
        """Return what stands before the target of a run."""
        return OUTPUTS[self.output].make(run, seed)

    def shadow_defenses(self, run: ShadowRun, seed: int) -> list[Defense] | None:
        """Return what the attacker puts before each shadow; None leaves that to the audit."""
        output = OUTPUTS[self.output]
        if not output.fitted:
            return None
        made = [output.make(as_target(run, s), seed) for s in range(len(run.shadow_member))]
        return [defense for defense in made if defense is not None]


def contender(name: str) -> Contender:
    """Return the contender of a name: a way of training, of releasing, or both with ``+``.

    Raises
    ------
    ValueError
        Naming what is known.
    """
    training, both, output = name.partition("+")
    if not both:
        # HAMP is in both: its training part is not meant without its output part.
        output = name if name in OUTPUTS else "none"
        training = PLAIN if name in OUTPUTS and name not in TRAININGS else name
    if training not in (PLAIN, *TRAININGS) or output not in OUTPUTS:
        raise ValueError(
            f"unknown defense {name!r}; known: {', '.join(dict.fromkeys([*OUTPUTS, *TRAININGS]))}, "
            "and one way of training with one of releasing, such as relaxloss+rank-template"
        )
    return Contender(name, TRAININGS.get(training, PLAIN), output)


def as_target(run: ShadowRun, shadow: int) -> ShadowRun:
    """Return a run whose target is one of the shadows: all that an attacker fits a defense on."""
    return replace(
        run,
        logits=run.shadow_logits[shadow],
        member=run.shadow_member[shadow],
        held_out_logits=run.shadow_held_out_logits[shadow],
    )


def _rank_template(run: ShadowRun) -> Defense:
    return RankTemplate.calibrate(run.held_out_logits, run.held_out_labels, ranks=3)


def _key(seed: int) -> bytes:
    return np.random.default_rng([seed, 5]).bytes(32)
