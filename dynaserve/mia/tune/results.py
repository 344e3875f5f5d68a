"""What a search found: every defense tried, with what it costs and what still leaks.

It ranks and filters; it measures nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dynaserve.defenses import Defense
from dynaserve.mia.results import Audit, Leak

TIE = 0.005
"""AUCs that differ by less are equal: the sampling error of a few thousand rows is larger."""


@dataclass(frozen=True)
class Budget:
    """The most that a defense may cost.

    Parameters
    ----------
    accuracy_loss
        As a share of all non-members: 0.005 is half a point.
    calibration_error
        Expected calibration error; None for no limit.

    Raises
    ------
    ValueError
        For a limit that is negative or above 1.
    """

    accuracy_loss: float = 0.005
    calibration_error: float | None = None

    def __post_init__(self) -> None:
        for name, limit in (
            ("max_accuracy_loss", self.accuracy_loss),
            ("max_calibration_error", self.calibration_error),
        ):
            if limit is not None and not 0 <= limit <= 1:
                raise ValueError(f"{name}: must lie in 0..1, as a share, got {limit:g}")

    def __str__(self) -> str:
        accuracy = f"accuracy loss at most {self.accuracy_loss:.2%}"
        if self.calibration_error is None:
            return accuracy
        return f"{accuracy}, calibration error at most {self.calibration_error:.3f}"


@dataclass(frozen=True)
class Trial:
    """One defense, tried.

    Parameters
    ----------
    name, family
        For people; a family differs in parameters alone.
    defense
        The defense itself.
    protects
        Whether it may be chosen: it protects something, and a file alone can serve it.
    accuracy_loss, calibration_error, log_loss
        Its cost on non-members, one query each: share of right answers lost, expected
        calibration error, mean of -log p_y in nats.
    leak
        Form of asking -> leak, by a few quick attacks or, after a full audit, by all.
    audit
        The full audit; None for those that were only tried quickly.
    """

    name: str
    family: str
    defense: Defense
    protects: bool
    accuracy_loss: float
    calibration_error: float
    log_loss: float
    leak: Mapping[str, Leak]
    audit: Audit | None = None

    @property
    def exposure(self) -> float:
        """AUC of the best attack, over all forms of asking."""
        return max(leak.total for leak in self.leak.values())

    def within(self, budget: Budget) -> bool:
        """Whether it costs no more than the budget."""
        limit = budget.calibration_error
        # A limit of zero means zero: only what rounding may add is forgiven.
        return self.accuracy_loss <= budget.accuracy_loss + 1e-12 and (
            limit is None or self.calibration_error <= limit + 1e-12
        )

    def dominates(self, other: Trial) -> bool:
        """Whether it is nowhere worse than another, and somewhere better."""
        mine, its = self._costs(), other._costs()
        return mine != its and all(a <= b for a, b in zip(mine, its, strict=True))

    def to_dict(self) -> dict[str, Any]:
        """Return its numbers, ready for JSON."""
        return {
            "name": self.name,
            "family": self.family,
            "defense": self.defense.describe(),
            "protects": self.protects,
            "accuracy_loss": self.accuracy_loss,
            "calibration_error": self.calibration_error,
            "log_loss": self.log_loss,
            "auc": {form: leak.total for form, leak in self.leak.items()},
            "label_auc": {form: leak.floor for form, leak in self.leak.items()},
            "fully_audited": self.audit is not None,
        }

    def _costs(self) -> tuple[float, float, float]:
        return (
            round(max(self.accuracy_loss, 0.0), 4),
            round(self.calibration_error, 4),
            round(self.exposure, 4),
        )


@dataclass(frozen=True)
class Tuning:
    """The outcome of a search.

    Parameters
    ----------
    trials
        All that was tried.
    best
        The choice; None if nothing that protects is within the budget.
    budget
        The limits it had to keep.
    notes
        What was left out, and why, a sentence each.
    quick_attacks
        Names of the attacks that ranked the trials; those audited in full met all.
    """

    trials: tuple[Trial, ...]
    best: Trial | None
    budget: Budget
    notes: tuple[str, ...] = ()
    quick_attacks: tuple[str, ...] = ()

    @property
    def frontier(self) -> tuple[Trial, ...]:
        """Trials that no other beats in accuracy, calibration and privacy; least leak first."""
        kept = [t for t in self.trials if not any(o.dominates(t) for o in self.trials)]
        return tuple(sorted(kept, key=lambda t: (t.exposure, t.log_loss)))

    @property
    def nearest(self) -> Trial:
        """What protects and misses the budget by the least, in the worse of the two limits."""
        budget = self.budget
        limit = 1.0 if budget.calibration_error is None else budget.calibration_error
        return min(
            (trial for trial in self.trials if trial.protects),
            key=lambda t: (
                max(t.accuracy_loss - budget.accuracy_loss, t.calibration_error - limit, 0.0),
                t.exposure,
            ),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the full audits, ready for JSON."""
        return {
            "max_accuracy_loss": self.budget.accuracy_loss,
            "max_ece": self.budget.calibration_error,
            "best": None if self.best is None else self.best.to_dict(),
            "frontier": [trial.name for trial in self.frontier],
            "trials": [trial.to_dict() for trial in self.trials],
            "notes": list(self.notes),
            "quick_attacks": list(self.quick_attacks),
        }


def preferred(trials: Sequence[Trial]) -> list[Trial]:
    """Return trials in order of choice: least exposure first, ties by what they still tell.

    Among defenses that leak equally much the one with the lowest log-loss is the most useful.
    """
    if not trials:
        return []
    least = min(trial.exposure for trial in trials)
    tied = [trial for trial in trials if trial.exposure <= least + TIE]
    rest = [trial for trial in trials if trial.exposure > least + TIE]
    return sorted(tied, key=lambda t: t.log_loss) + sorted(rest, key=lambda t: t.exposure)
