"""What the RLAA paper (arXiv 2512.06713) reports on PersonalReddit with Llama-3-8B."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Published:
    """A row of the paper's table; None where our source of it gives no figure.

    Attributes
    ----------
    util
        Mean of readability, meaning and hallucination, by a model as judge: higher is better.
    priv
        Success of a model as attacker over eight attributes: lower is better.
    rouge
        ROUGE-L against the original.
    """

    util: float
    priv: float
    rouge: float | None = None


PAPER: Mapping[str, Published] = MappingProxyType(
    {
        "RLAA": Published(0.879, 0.213, 0.596),
        "FgAA-Naive": Published(0.730, 0.195),
        "IncogniText": Published(0.633, 0.123),
        "SEAL": Published(0.464, 0.179),
    }
)
