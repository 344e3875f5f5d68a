"""The data sets: what the loaders make of files, and what they say of wrong ones."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import numpy as np
import pytest

from dynaserve.mia.datasets import DATASETS, Dataset, Population, load

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"


def dataset(rows: int = 20) -> Dataset:
    inputs = np.arange(rows, dtype=np.float32)[:, None]
    return Dataset(
        "made up", inputs, np.arange(rows) % 2, ("a", "b"), binary=False,
        members=4, held_out=6, jitters=(0.1,),
    )  # fmt: skip


def test_a_population_is_disjoint_from_its_held_out_rows_and_follows_the_seed() -> None:
    population = dataset().population(seed=1)
    candidates, held_out = population.inputs[:, 0], population.held_out_inputs[:, 0]
    assert len(set(candidates) | set(held_out)) == 8 + 6
    np.testing.assert_array_equal(population.labels, candidates % 2)
    np.testing.assert_array_equal(population.held_out_labels, held_out % 2)
    again, other = dataset().population(seed=1), dataset().population(seed=2)
    np.testing.assert_array_equal(again.inputs, population.inputs)
    assert not np.array_equal(other.inputs, population.inputs)


def test_a_population_larger_than_the_data_is_refused() -> None:
    with pytest.raises(ValueError, match="8 members, as many non-members and 6 held-out rows"):
        dataset().population(members=8)
    with pytest.raises(ValueError, match="do not fit into 20 rows"):
        dataset().population(held_out=-1)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"labels": np.zeros(3, np.int64)}, "labels: needs shape"),
        ({"labels": np.array([0, 1, 2, 0])}, "labels: must lie in 0..1"),
        ({"labels": np.array([0, -1, 1, 0])}, "labels: must lie in 0..1"),
        ({"held_out_labels": np.array([5, 0])}, "held_out_labels: must lie in 0..1"),
        ({"held_out_inputs": np.zeros((2, 7))}, "held_out_inputs: rows have shape"),
        ({"inputs": np.zeros((1, 3)), "labels": np.zeros(1, np.int64)}, "at least 2 rows"),
    ],
)
def test_a_population_that_does_not_fit_together_is_refused(
    changed: dict[str, np.ndarray], message: str
) -> None:
    arrays = {
        "inputs": np.zeros((4, 3)),
        "labels": np.array([0, 1, 1, 0]),
        "held_out_inputs": np.zeros((2, 3)),
        "held_out_labels": np.array([0, 1]),
    }
    with pytest.raises(ValueError, match=message):
        Population(**(arrays | changed), classes=2, binary=False)


def test_digits_needs_no_directory() -> None:
    digits = load("digits")
    assert digits.inputs.shape == (1797, 64)
    assert (digits.inputs.min(), digits.inputs.max()) == (0, 1)
    assert digits.classes == tuple("0123456789")
    assert 2 * digits.members + digits.held_out <= 1797


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(ValueError, match="unknown data set 'mnist'; known are cifar10"):
        load("mnist")


def test_data_from_files_needs_a_directory() -> None:
    with pytest.raises(ValueError, match="location30: name the directory"):
        load("location30")


@pytest.mark.parametrize("name", sorted(DATASETS.keys() - {"digits"}))
def test_a_missing_file_is_named_with_what_it_should_hold(name: str, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=rf"{name}.*should hold"):
        load(name, tmp_path)


def test_location30_reads_bits(tmp_path: Path) -> None:
    folder = tmp_path / "location30"
    folder.mkdir()
    bits = np.array([[0, 1, 1], [1, 0, 0]], np.uint8)
    np.savez(folder / "location30.npz", x=bits, y=np.array([2, 0], np.uint8))
    loaded = load("location30", tmp_path)
    np.testing.assert_array_equal(loaded.inputs, bits)
    assert loaded.labels.tolist() == [2, 0]
    assert loaded.binary
    assert len(loaded.classes) == 3


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": np.zeros((2, 3), np.uint8)}, r"lacks the array\(s\) y"),
        ({"x": np.full((2, 3), 2), "y": np.zeros(2, int)}, "of 0/1"),
        ({"x": np.zeros((2, 3), np.uint8), "y": np.zeros(3, int)}, "of 0/1"),
    ],
)
def test_a_wrong_location30_file_is_refused(
    arrays: dict[str, np.ndarray], message: str, tmp_path: Path
) -> None:
    (tmp_path / "location30").mkdir()
    np.savez(tmp_path / "location30" / "location30.npz", **arrays)
    with pytest.raises(ValueError, match=message):
        load("location30", tmp_path)


def test_a_file_that_is_no_archive_is_refused(tmp_path: Path) -> None:
    (tmp_path / "location30").mkdir()
    (tmp_path / "location30" / "location30.npz").write_bytes(b"PK\x03\x04 half a file")
    with pytest.raises(ValueError, match="of plain arrays"):
        load("location30", tmp_path)


def test_cifar10_decodes_jpeg_bytes_into_planes(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    blobs, levels = [], [0, 80, 160, 255]
    for level in levels:
        buffer = io.BytesIO()
        image.new("RGB", (32, 32), (level, 0, 255 - level)).save(buffer, "JPEG", quality=100)
        blobs.append(buffer.getvalue())
    arrays: dict[str, np.ndarray] = {"classes": np.array([str(c) for c in range(4)])}
    for part, own in (("train", [0, 1, 2]), ("test", [3])):
        parts = [blobs[i] for i in own]
        arrays[f"{part}_blob"] = np.frombuffer(b"".join(parts), np.uint8)
        arrays[f"{part}_off"] = np.cumsum([0, *map(len, parts)]).astype(np.uint32)
        arrays[f"{part}_y"] = np.array(own, np.uint8)
    (tmp_path / "cifar10").mkdir()
    np.savez(tmp_path / "cifar10" / "cifar10_jpg.npz", **arrays)
    loaded = load("cifar10", tmp_path)
    assert loaded.inputs.shape == (4, 3, 32, 32)
    assert sorted(loaded.labels.tolist()) == [0, 1, 2, 3]
    for row, label in zip(loaded.inputs, loaded.labels, strict=True):
        expected = np.array([levels[label], 0, 255 - levels[label]]) / 63.75 - 2
        np.testing.assert_allclose(row.mean(axis=(1, 2)), expected, atol=0.1)


def test_sst2_features_tell_which_words_occur(tmp_path: Path) -> None:
    (tmp_path / "sst2").mkdir()
    for part, lines in {
        "train": "warm warm film\t1\nfilm warm\t0\n",
        "dev": "warm warm warm film\t1\n",
        "test": "cold\t0\n",
    }.items():
        (tmp_path / "sst2" / f"{part}.tsv").write_text(lines)
    loaded = load("sst2", tmp_path)
    assert loaded.inputs.shape == (4, 4096)
    assert loaded.labels.tolist() == [1, 0, 1, 0]
    assert loaded.binary
    assert set(np.unique(loaded.inputs)) == {0, 1}
    assert loaded.inputs.sum(axis=1).tolist() == [2, 2, 2, 1]
    np.testing.assert_array_equal(loaded.inputs[0], loaded.inputs[1])
    assert not (loaded.inputs[0] & loaded.inputs[3]).any()


def test_a_line_of_sst2_without_a_label_is_named(tmp_path: Path) -> None:
    (tmp_path / "sst2").mkdir()
    (tmp_path / "sst2" / "train.tsv").write_text("fine\t1\nno label here\n")
    with pytest.raises(ValueError, match=r"train\.tsv: line 2"):
        load("sst2", tmp_path)


HEADER = (
    "age,workclass,education-num,marital-status,occupation,relationship,race,sex,"
    "capital-gain,capital-loss,hours-per-week,native-country,income-per-year\n"
)


def write_adult(folder: Path, text: str) -> None:
    folder.mkdir()
    with gzip.open(folder / "adult.csv.gz", "wt") as file:
        file.write(text)


def test_adult_is_standardized_and_one_hot(tmp_path: Path) -> None:
    write_adult(
        tmp_path / "adult",
        HEADER
        + "20,Private,9,Single,Sales,None,X,Male,0,0,40,Here,<=50K\n"
        + "40,?,13,Single,Sales,None,X,Female,1000,0,20,There,>50K\n",
    )
    loaded = load("adult", tmp_path)
    assert loaded.labels.tolist() == [0, 1]
    # numbers: two rows become -1 and +1; the constant capital-loss becomes 0
    np.testing.assert_allclose(
        loaded.inputs[:, :5], [[-1, -1, -1, 0, 1], [1, 1, 1, 0, -1]], atol=1e-6
    )
    # seven columns, of which workclass, sex and native-country have two values
    assert loaded.inputs.shape == (2, 5 + 4 + 3 * 2)
    np.testing.assert_array_equal(loaded.inputs[:, 5:].sum(axis=1), [7, 7])


def test_adult_without_its_columns_is_refused(tmp_path: Path) -> None:
    write_adult(tmp_path / "adult", "age,sex\n20,Male\n")
    with pytest.raises(ValueError, match="needs the columns age, education-num"):
        load("adult", tmp_path)


@pytest.mark.parametrize(
    ("name", "shape", "classes"),
    [
        ("location30", (5010, 446), 30),
        ("sst2", (9613, 4096), 2),
        ("adult", (32561, 91), 2),
    ],
)
def test_the_public_files_have_the_shapes_they_are_known_for(
    name: str, shape: tuple[int, ...], classes: int
) -> None:
    if not (SHARED / name).is_dir():
        pytest.skip("the data is not here")
    loaded = load(name, SHARED)
    assert loaded.inputs.shape == shape
    assert loaded.labels.max() + 1 == len(loaded.classes) == classes
    assert 2 * loaded.members + loaded.held_out <= shape[0]
