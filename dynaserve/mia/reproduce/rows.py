"""What was measured of one contender, in a form that can be kept in a file.

Numbers and names only; no row of data.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dynaserve.atomic import replace_file
from dynaserve.mia import metrics
from dynaserve.mia.attackers import Measured
from dynaserve.mia.attacks import PAPER_ATTACKS
from dynaserve.mia.reproduce.published import FOUR
from dynaserve.mia.results import AttackResult


@dataclass(frozen=True)
class Exposure:
    """The leak of one form of asking: best AUC on the label, and on all that was released."""

    floor: float
    total: float
    attack: str


@dataclass(frozen=True)
class Row:
    """One line of the tables.

    Attributes
    ----------
    name
        The contender's.
    accuracy, calibration_error
        On non-members, of what is released.
    member_accuracy
        The same on members.
    exposures
        Form of asking -> leak, adaptive attackers.
    success
        Attack -> balanced accuracy, adaptive attackers, the strongest form of asking.
    auc
        `AttackResult.name` -> AUC, adaptive attackers.
    paper_accuracy
        As in the paper's protocol: one fresh answer for each non-member.
    paper_success
        Attack -> balanced accuracy in the paper's protocol.
    """

    name: str
    accuracy: float
    member_accuracy: float
    calibration_error: float
    exposures: dict[str, Exposure]
    success: dict[str, float]
    auc: dict[str, float]
    paper_accuracy: float
    paper_success: dict[str, float]

    @classmethod
    def of(cls, name: str, adaptive: Measured, paper: Measured) -> Row:
        """Return the row of a contender, by the attackers of either protocol."""
        return cls(
            name=name,
            accuracy=adaptive.accuracy,
            member_accuracy=adaptive.member_accuracy,
            calibration_error=adaptive.calibration_error,
            exposures={
                form: Exposure(leak.floor, leak.total, leak.total_attack)
                for form, leak in adaptive.leak.items()
            },
            success=_strongest(adaptive.attacks),
            auc={name: result.auc for name, result in adaptive.attacks.items()},
            paper_accuracy=paper.accuracy,
            paper_success=_strongest(paper.attacks),
        )

    def midput(self, undefended: Row) -> float:
        """Return MIDPUT of the adaptive attackers against the undefended model's row."""
        return metrics.midput(undefended.success, self.success, undefended.accuracy, self.accuracy)[
            0
        ]

    def paper_midput(self, undefended: Row) -> float:
        """Return MIDPUT over the paper's four attacks, in its own protocol."""
        before = {attack: undefended.paper_success[attack] for attack in FOUR}
        return metrics.midput(
            before, self.paper_success, undefended.paper_accuracy, self.paper_accuracy
        )[0]

    def save(self, path: Path) -> None:
        """Write it as JSON, whole or not at all."""
        replace_file(path, json.dumps(asdict(self), indent=1).encode())

    @classmethod
    def load(cls, path: Path) -> Row:
        """Read what `save` wrote."""
        fields: dict[str, Any] = json.loads(path.read_text())
        exposures = {form: Exposure(**leak) for form, leak in fields.pop("exposures").items()}
        return cls(exposures=exposures, **fields)


def _strongest(attacks: Mapping[str, AttackResult]) -> dict[str, float]:
    """Return the balanced accuracy of the paper's attacks, each in its strongest form."""
    return {
        name: max(r.balanced_accuracy for r in attacks.values() if r.attack == name)
        for name in PAPER_ATTACKS
        if any(r.attack == name for r in attacks.values())
    }
