"""What an audit is going to test, told from its arrays before it starts.

It has to agree with `dynaserve.mia.audit.audit_data`, and attacks nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dynaserve.mia.attacks import ATTACKS, LABEL_BEST, References
from dynaserve.mia.data import AuditData
from dynaserve.mia.results import ONE_QUERY, Protocol


@dataclass(frozen=True)
class Plan:
    """What an audit is going to test.

    Parameters
    ----------
    attacks
        The keys that `Audit.attacks` will have.
    forms
        The keys that `Audit.leak` will have.
    non_members
        How many there are.
    """

    attacks: tuple[str, ...]
    forms: tuple[str, ...]
    non_members: int

    @classmethod
    def of(cls, data: AuditData, *, repeats: Sequence[int], protocol: Protocol) -> Plan:
        """Return what `dynaserve.mia.audit.audit_data` tests when told the same."""
        member = data.shadow_member
        references = None if member is None else References(member, seed=0)
        names = [name for name, (one, *_) in ATTACKS.items() if one.possible_with(references)]
        forms = [ONE_QUERY]
        if protocol == "adaptive":
            forms = [str(time) for time in sorted({1, *repeats})]
            counts = dict.fromkeys(near.logits.shape[1] for near in data.neighbors.values())
            forms += [f"near{count}" for count in counts]
        return cls(
            attacks=tuple(
                name if form == ONE_QUERY else f"{name}@{form}"
                for form in forms
                for name in (*names, LABEL_BEST)
            ),
            forms=tuple(forms),
            non_members=int((~data.member).sum()),
        )
