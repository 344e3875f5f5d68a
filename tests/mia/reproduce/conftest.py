from __future__ import annotations

from collections.abc import Callable

import pytest

from dynaserve.mia.attacks import PAPER_ATTACKS
from dynaserve.mia.reproduce.rows import Exposure, Row


@pytest.fixture
def row() -> Callable[..., Row]:
    """Make a row, undefended unless told otherwise."""

    def make(**changes: object) -> Row:
        fields = {
            "name": "none",
            "accuracy": 0.6,
            "member_accuracy": 1.0,
            "calibration_error": 0.2,
            "exposures": {"1": Exposure(0.7, 0.9, "lira_online")},
            "success": dict.fromkeys(PAPER_ATTACKS, 0.8),
            "auc": {"loss": 0.85},
            "paper_accuracy": 0.6,
            "paper_success": dict.fromkeys(PAPER_ATTACKS, 0.75),
        }
        return Row(**(fields | changes))

    return make
