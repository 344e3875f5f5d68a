from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dynaserve.npz import read_arrays, write_arrays


@pytest.mark.parametrize("compressed", [False, True])
def test_what_is_written_is_read(tmp_path: Path, compressed: bool) -> None:
    arrays = {"a": np.arange(3), "b": np.eye(2, dtype=np.float32)}
    write_arrays(tmp_path / "x.npz", arrays, compressed=compressed)
    found = read_arrays(tmp_path / "x.npz")
    assert list(found) == ["a", "b"]
    assert found["b"].dtype == np.float32
    np.testing.assert_array_equal(found["a"], [0, 1, 2])


def test_only_the_arrays_asked_for_are_read(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", fine=np.ones(2), objects=np.array([{}], object))
    assert list(read_arrays(tmp_path / "x.npz", ["fine", "absent"])) == ["fine"]


def test_pickles_are_refused_without_advice_to_unpickle(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", objects=np.array([{}], object))
    with pytest.raises(ValueError, match=r"x\.npz is not an \.npz file of plain arrays") as refused:
        read_arrays(tmp_path / "x.npz")
    assert "allow_pickle" not in str(refused.value)


def test_what_is_no_archive_is_named(tmp_path: Path) -> None:
    (tmp_path / "text.npz").write_text("no archive")
    np.save(tmp_path / "one.npy", np.ones(2))
    for name in ("text.npz", "one.npy"):
        with pytest.raises(ValueError, match=f"{name} is not an"):
            read_arrays(tmp_path / name)
    with pytest.raises(ValueError, match=r"absent\.npz does not exist"):
        read_arrays(tmp_path / "absent.npz")
    with pytest.raises(ValueError, match="cannot be read"):
        read_arrays(tmp_path)
