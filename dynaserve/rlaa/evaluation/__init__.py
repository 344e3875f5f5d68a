"""What anonymizers are worth, measured with the yardsticks of the RLAA paper and with harder ones.

Nothing here is needed to anonymize; importing it loads neither scikit-learn nor matplotlib.
"""

from __future__ import annotations

from dynaserve.rlaa.evaluation.figure import mrs_png, require_matplotlib
from dynaserve.rlaa.evaluation.notes import make_notes
from dynaserve.rlaa.evaluation.published import PAPER
from dynaserve.rlaa.evaluation.reproduction import Reproduction, Setup, reproduce
from dynaserve.rlaa.evaluation.results import Row
from dynaserve.rlaa.evaluation.tables import make_tables

__all__ = [
    "PAPER",
    "Reproduction",
    "Row",
    "Setup",
    "make_notes",
    "make_tables",
    "mrs_png",
    "reproduce",
    "require_matplotlib",
]
