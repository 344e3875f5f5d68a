"""The version, apart from the package so that any layer may name it without importing it all."""

from __future__ import annotations

__version__ = "0.1.0"
