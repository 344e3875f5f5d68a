from __future__ import annotations

import io
import zipfile
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


def test_a_member_that_is_no_array_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("member", b"hello")
    with pytest.raises(ValueError, match=r"x\.npz is not an \.npz file of plain arrays"):
        read_arrays(tmp_path / "x.npz")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_an_array_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    np.save(buffer, np.ones(2))
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("logits.npy", buffer.getvalue())
        archive.writestr("logits.npy", buffer.getvalue())
    with pytest.raises(ValueError, match=r"x\.npz holds 'logits' twice"):
        read_arrays(tmp_path / "x.npz")


def test_a_header_that_claims_too_much_is_refused(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": (10**12, 3)}
    np.lib.format.write_array_header_1_0(buffer, header)
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("logits.npy", buffer.getvalue())
    with pytest.raises(ValueError, match=r"x\.npz claims arrays that do not fit"):
        read_arrays(tmp_path / "x.npz")
