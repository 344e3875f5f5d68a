"""The anonymizer that needs no model: deterministic, offline, milliseconds per text, modest.

``recognizers`` say where a text gives something away, ``grading`` how much it matters, tables
(``regions``, ``work``) and ``wording`` what to write instead. `EmbeddedEngine` plays all three
roles of ``dynaserve.rlaa.roles`` with them.
"""

from dynaserve.rlaa.embedded.engine import EmbeddedEngine

__all__ = ["EmbeddedEngine"]
