"""Language models for the roles: in this process, behind a server of one's own, or scripted.

Importing this loads none of them; each names the extra that it misses.
"""

from __future__ import annotations

from dynaserve.rlaa.llm.cancellation import CancelledError, cancellable, check_cancelled
from dynaserve.rlaa.llm.llamacpp import LlamaCppLLM
from dynaserve.rlaa.llm.openai_compatible import OpenAICompatibleLLM
from dynaserve.rlaa.llm.private_network import PublicAddressError
from dynaserve.rlaa.llm.protocol import (
    LLM,
    Completion,
    LLMError,
    Message,
    TooLongError,
    UnavailableError,
)
from dynaserve.rlaa.llm.scripted import Request, ScriptedLLM

__all__ = [
    "LLM",
    "CancelledError",
    "Completion",
    "LLMError",
    "LlamaCppLLM",
    "Message",
    "OpenAICompatibleLLM",
    "PublicAddressError",
    "Request",
    "ScriptedLLM",
    "TooLongError",
    "UnavailableError",
    "cancellable",
    "check_cancelled",
]
