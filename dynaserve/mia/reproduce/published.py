"""Figures of the DynaNoise paper, second version (PoPETs 2026), as published.

Balanced accuracy of four attacks with thresholds and attackers that do not know the defense.
They are here to stand beside ours, and take part in no computation but the mean named MIDPUT.
"""

from __future__ import annotations

from dataclasses import dataclass

FOUR = ("confidence", "loss", "shadow", "lira_online")
"""The attacks that the paper has figures of, in its order: conf, loss, shadow, LiRA."""


@dataclass(frozen=True)
class Published:
    """One line of the paper's CIFAR-10 table.

    Attributes
    ----------
    accuracy
        Of the target on its test set.
    success
        Attack -> balanced accuracy.
    """

    accuracy: float
    success: dict[str, float]


def _line(accuracy: float, *success: float) -> Published:
    return Published(accuracy, dict(zip(FOUR, success, strict=True)))


CIFAR10: dict[str, Published] = {
    "none": _line(0.7875, 0.6124, 0.6180, 0.6387, 0.6097),
    "dynanoise-paper": _line(0.7807, 0.5014, 0.5219, 0.5053, 0.5342),
    "memguard": _line(0.7875, 0.5948, 0.6109, 0.6122, 0.5893),
    "hamp": _line(0.7422, 0.5, 0.5, 0.5, 0.5),
    "relaxloss": _line(0.7890, 0.5555, 0.5845, 0.5665, 0.5905),
    "selena": _line(0.7674, 0.5394, 0.5173, 0.5346, 0.5164),
    "advreg": _line(0.7573, 0.5516, 0.5829, 0.5708, 0.5836),
}
"""Name of a contender -> its line; AlexNet."""

IMAGENET10: dict[str, Published] = {
    "none": _line(0.7958, 0.5824, 0.6003, 0.5817, 0.5721),
    "dynanoise-paper": _line(0.7962, 0.5316, 0.5944, 0.5549, 0.5598),
}
"""The same for ImageNet-10, which is not among the data sets here."""
