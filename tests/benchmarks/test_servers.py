"""Servers that say why they do not start."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.servers import serving


def test_a_server_that_does_not_start_says_why(tmp_path: Path) -> None:
    with (
        pytest.raises(RuntimeError, match=r"'a' did not get ready:(.|\n)*no defense has that name"),
        serving({"a": ["--defense", "nonsense"]}, tmp_path),
    ):
        pass
