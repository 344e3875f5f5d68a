"""Picks a defense and its parameters from a measured frontier.

Defenses come from `dynaserve.defenses`, attackers from the audit; this package only searches.
"""

from __future__ import annotations

from dynaserve.mia.tune.candidates import ReferenceScores
from dynaserve.mia.tune.results import Trial, Tuning
from dynaserve.mia.tune.search import tune, tune_data

__all__ = ["ReferenceScores", "Trial", "Tuning", "tune", "tune_data"]
