from __future__ import annotations

from dynaserve.tables import Table


def test_markdown_is_a_table():
    text = Table("Title", ("a", "b"), (("x", "1"),)).markdown()
    assert text == "**Title**\n\n| a | b |\n| - | -: |\n| x | 1 |\n"
