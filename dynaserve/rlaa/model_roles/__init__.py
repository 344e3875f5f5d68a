"""The roles of the loop as a language model plays them (arXiv 2512.06713).

Prompts, the strict reading of replies, and one class for each role, over any
`dynaserve.rlaa.llm.protocol.LLM`. No role answers with less than it was asked for: what cannot
be read whole is a `RoleError`.
"""

from __future__ import annotations

from dynaserve.rlaa.model_roles.arbitrator import ModelArbitrator
from dynaserve.rlaa.model_roles.attacker import ModelAttacker
from dynaserve.rlaa.model_roles.editor import ModelEditor
from dynaserve.rlaa.model_roles.rewriter import ModelRewriter

__all__ = ["ModelArbitrator", "ModelAttacker", "ModelEditor", "ModelRewriter"]
