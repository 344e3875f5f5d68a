"""Findings that somebody has looked at and accepted.

Only what is not the whole value can be accepted, one finding at a time: this canary, in what
this cluster publishes now. Another text of the cluster is another finding, and an entry that
accepts nothing any more fails the audit, so that the file can only hold what is true.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from dynaserve.atomic import replace_file
from dynaserve.canarybench.report import Report


class Accepted(NamedTuple):
    """One accepted finding: a canary, and the fingerprint of the cluster that resembles it."""

    canary_id: str
    cluster: str

    def __str__(self) -> str:
        return f"{self.canary_id}@{self.cluster}"


def load_baseline(path: str | Path) -> frozenset[Accepted]:
    """Read a baseline file.

    Raises
    ------
    ValueError
        If the file is no baseline.
    OSError
        If it cannot be read.
    """
    try:
        document = _Document.model_validate_json(Path(path).read_bytes())
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "file"
        raise ValueError(f"baseline {path}: {where}: {first['msg']}") from None
    return frozenset(Accepted(entry.canary, entry.cluster) for entry in document.accepted)


def save_baseline(path: str | Path, report: Report) -> int:
    """Write a baseline that accepts all that a report may have accepted; return how much."""
    accepted = sorted(
        {
            Accepted(leak.canary_id, cluster.fingerprint)
            for cluster in report.clusters
            for leak in cluster.leaks
            if leak.gates and not leak.verbatim
        }
    )
    document = {
        "format": "dynaserve-canary-baseline",
        "version": 1,
        "accepted": [{"canary": each.canary_id, "cluster": each.cluster} for each in accepted],
    }
    replace_file(Path(path), (json.dumps(document, indent=2) + "\n").encode())
    return len(accepted)


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    canary: str
    cluster: str
    reason: str = ""


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    format: Literal["dynaserve-canary-baseline"]
    version: Literal[1]
    accepted: list[_Entry]
