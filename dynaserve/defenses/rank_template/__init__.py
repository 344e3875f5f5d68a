"""Answers made of the label and the order of the runner-up classes, and of nothing else."""

from __future__ import annotations

from dynaserve.defenses.rank_template.defense import RankTemplate
from dynaserve.defenses.rank_template.public_reference import PublicReference, Reference

__all__ = ["PublicReference", "RankTemplate", "Reference"]
