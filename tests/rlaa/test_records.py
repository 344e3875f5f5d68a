"""What the records say of themselves."""

from __future__ import annotations

from dynaserve.rlaa import Level


def test_grades_sort_by_what_matters() -> None:
    mixed = [Level.LOW, Level.HIGH, Level.INVALID, Level.MED]
    assert sorted(mixed, key=lambda level: level.gravity) == [
        Level.INVALID, Level.LOW, Level.MED, Level.HIGH
    ]  # fmt: skip
    assert Level.INVALID.gravity == 0
