"""What every form of the report is made from: the audit, and what was around it.

No key can be in it: parameters are those that the defense writes to its own file.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from dynaserve._version import __version__
from dynaserve.defenses import Defense
from dynaserve.defenses.document import read_document
from dynaserve.mia.gates import Outcome
from dynaserve.mia.results import Audit


@dataclass(frozen=True)
class Report:
    """An audit to be shown.

    Parameters
    ----------
    audit
        What was found.
    source
        Where the answers came from, in words, such as the name of a file.
    parameters
        The defense's, by name; see `parameters_of`.
    gates
        What became of the gates, if there were any.
    """

    audit: Audit
    source: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    gates: Sequence[Outcome] = ()

    @property
    def passed(self) -> bool:
        """Whether no gate failed."""
        return not any(gate.failed for gate in self.gates)

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON: the audit's own fields, and what was around it."""
        return {
            "dynaserve": __version__,
            "source": self.source,
            "passed": self.passed,
            "gates": [asdict(gate) for gate in self.gates],
            "parameters": dict(self.parameters),
            **self.audit.to_dict(),
        }


def parameters_of(defense: Defense) -> dict[str, Any]:
    """Return the parameters that a defense saves, its kind first; secrets are not among them."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "defense.toml"
        defense.save(path)
        document = read_document(path)
    return {"kind": document.kind, **document.parameters}
