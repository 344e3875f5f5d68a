"""The DynaNoise paper's experiment on data small enough for two cores, beside its figures.

Every defense is trained, applied and attacked by the same code. Nothing here is needed to audit
or to serve; importing it loads neither torch nor scikit-learn.
"""

from __future__ import annotations

from dynaserve.mia.reproduce.contenders import DEFAULT, TRAINING, Contender, contender
from dynaserve.mia.reproduce.experiment import (
    Progress,
    Setup,
    calibration_note,
    describe,
    reproduce,
)
from dynaserve.mia.reproduce.rows import Row
from dynaserve.mia.reproduce.tables import adaptive_table, differences, paper_table

__all__ = [
    "DEFAULT",
    "TRAINING",
    "Contender",
    "Progress",
    "Row",
    "Setup",
    "adaptive_table",
    "calibration_note",
    "contender",
    "describe",
    "differences",
    "paper_table",
    "reproduce",
]
