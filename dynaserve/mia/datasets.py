"""The data sets an audit is reproduced on, each as arrays ready to train a small model.

It reads the files of a directory that the user names, downloads nothing, and keeps no row. What
is random here (the order of rows) is fixed, so that a name and a seed stand for one experiment.
"""

from __future__ import annotations

import csv
import gzip
import io
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynaserve.extras import needing

_TEXT_FEATURES = 4096
_IMAGES = 8000
"""Decoding all 60,000 takes long; no experiment here uses more."""
_NUMERIC = ("age", "education-num", "capital-gain", "capital-loss", "hours-per-week")
_CATEGORICAL = (
    "workclass", "marital-status", "occupation", "relationship", "race", "sex", "native-country",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Population:
    """What one experiment trains and audits on.

    Attributes
    ----------
    inputs, labels
        (n, ...) float32 or uint8 and (n,) int64: every row is a candidate member; half of them
        train the target.
    held_out_inputs, held_out_labels
        (h, ...) and (h,): the defender's own rows that train no model: to calibrate a defense,
        to stop early, as AdvReg's reference.
    classes
        k; labels are 0..k-1.
    binary
        Whether inputs are all 0 or 1, which decides what a near-duplicate is.
    """

    inputs: NDArray[Any]
    labels: NDArray[np.int64]
    held_out_inputs: NDArray[Any]
    held_out_labels: NDArray[np.int64]
    classes: int
    binary: bool

    def __post_init__(self) -> None:
        for part in ("", "held_out_"):
            inputs, labels = getattr(self, f"{part}inputs"), getattr(self, f"{part}labels")
            if labels.shape != inputs.shape[:1]:
                raise ValueError(
                    f"{part}labels: needs shape {inputs.shape[:1]} to go with {part}inputs, "
                    f"got {labels.shape}"
                )
            if ((labels < 0) | (labels >= self.classes)).any():
                raise ValueError(f"{part}labels: must lie in 0..{self.classes - 1}")
        if self.held_out_inputs.shape[1:] != self.inputs.shape[1:]:
            raise ValueError(
                f"held_out_inputs: rows have shape {self.held_out_inputs.shape[1:]}, "
                f"those of inputs {self.inputs.shape[1:]}"
            )
        if len(self.inputs) < 2:
            raise ValueError("inputs: needs at least 2 rows, one member and one non-member")


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows in a fixed random order, and the sizes of a sensible experiment on them.

    Attributes
    ----------
    inputs, labels
        (N, ...) float32 or uint8, (N,) int64.
    classes
        Name of each class.
    binary
        Whether inputs are all 0 or 1.
    members
        How many rows the target is trained on by default; as many others are non-members.
    held_out
        How many more rows the defender keeps by default.
    jitters
        Sizes of near-duplicates worth trying: bits to flip, or the standard deviation of the
        noise in units of the inputs.
    """

    name: str
    inputs: NDArray[Any]
    labels: NDArray[np.int64]
    classes: tuple[str, ...]
    binary: bool
    members: int
    held_out: int
    jitters: tuple[float, ...]

    def population(
        self, *, members: int | None = None, held_out: int | None = None, seed: int = 0
    ) -> Population:
        """Draw ``2 * members`` candidates and ``held_out`` other rows.

        Raises
        ------
        ValueError
            If the data set has too few rows.
        """
        members = self.members if members is None else members
        held_out = self.held_out if held_out is None else held_out
        n, rows = 2 * members, len(self.inputs)
        if members < 1 or held_out < 0 or n + held_out > rows:
            raise ValueError(
                f"{self.name}: {members} members, as many non-members and {held_out} held-out "
                f"rows do not fit into {rows} rows"
            )
        order = np.random.default_rng(seed).permutation(rows)
        candidates, rest = order[:n], order[n : n + held_out]
        return Population(
            inputs=self.inputs[candidates],
            labels=self.labels[candidates],
            held_out_inputs=self.inputs[rest],
            held_out_labels=self.labels[rest],
            classes=len(self.classes),
            binary=self.binary,
        )


def load(name: str, data_dir: str | Path | None = None) -> Dataset:
    """Load a data set by name; see `DATASETS`.

    Parameters
    ----------
    name
        ``cifar10``, ``location30``, ``sst2``, ``adult`` or ``digits``.
    data_dir
        The directory that holds a folder of that name; ``digits`` comes with scikit-learn.

    Raises
    ------
    ValueError
        For an unknown name, no directory, or a file that does not hold what it should.
    FileNotFoundError
        Naming the file that is not there and what it should hold.
    ImportError
        Naming the extra or package that reads this data set.
    """
    if name not in DATASETS:
        raise ValueError(f"unknown data set {name!r}; known are {', '.join(DATASETS)}")
    if name == "digits":
        return _digits()
    if data_dir is None:
        raise ValueError(f"{name}: name the directory that holds {name}/ (only digits needs none)")
    return DATASETS[name](Path(data_dir) / name)


def _location30(folder: Path) -> Dataset:
    """446 binary features of visits, 30 clusters of people; Shokri et al. 2017."""
    path = _existing(folder / "location30.npz", "arrays 'x' (5010, 446) of 0/1 and 'y' (5010,)")
    arrays = _arrays(path, "x", "y")
    inputs, labels = arrays["x"].astype(np.uint8), arrays["y"].astype(np.int64)
    if inputs.ndim != 2 or labels.shape != inputs.shape[:1] or inputs.max(initial=0) > 1:
        raise ValueError(f"{path}: 'x' must be (n, features) of 0/1 and 'y' (n,)")
    classes = tuple(f"cluster {number}" for number in range(int(labels.max(initial=0)) + 1))
    return Dataset(
        "location30", inputs, labels, classes, binary=True,
        members=1000, held_out=1000, jitters=(4, 8, 16, 32),
    )  # fmt: skip


def _cifar10(folder: Path) -> Dataset:
    """8,000 of the 60,000 colour images in a fixed random order, float32 (3, 32, 32) in -2..2.

    That is (pixel - 127.5) / 63.75, about one standard deviation per unit.
    """
    path = _existing(
        folder / "cifar10_jpg.npz",
        "the images as JPEG bytes: arrays '{train,test}_blob' uint8, '{train,test}_off' (n+1), "
        "'{train,test}_y' (n,) and 'classes'",
    )
    try:
        from PIL import Image  # noqa: PLC0415 - only these files are JPEG
    except ImportError as error:
        raise ImportError("cifar10 is stored as JPEG: pip install pillow") from error
    parts = ("train", "test")
    arrays = _arrays(path, "classes", *(f"{p}_{a}" for p in parts for a in ("blob", "off", "y")))
    places = [(part, i) for part in parts for i in range(len(arrays[f"{part}_y"]))]
    chosen = np.random.default_rng(0).permutation(len(places))[:_IMAGES]
    inputs = np.empty((len(chosen), 3, 32, 32), np.float32)
    labels = np.empty(len(chosen), np.int64)
    for row, place in enumerate(chosen):
        part, i = places[place]
        begin, end = arrays[f"{part}_off"][i : i + 2]
        image = Image.open(io.BytesIO(arrays[f"{part}_blob"][begin:end].tobytes()))
        inputs[row] = (np.asarray(image, np.float32).transpose(2, 0, 1) - 127.5) / 63.75
        labels[row] = arrays[f"{part}_y"][i]
    classes = tuple(map(str, arrays["classes"]))
    return Dataset(
        "cifar10", inputs, labels, classes, binary=False,
        members=1000, held_out=2000, jitters=(0.1, 0.2, 0.4),
    )  # fmt: skip


def _sst2(folder: Path) -> Dataset:
    """Film reviews as which of 4,096 hashed words occur (0/1), not how often.

    Hashing fits nothing to the data, so a row's features tell nothing of other rows.
    """
    from sklearn.feature_extraction.text import HashingVectorizer  # noqa: PLC0415 - audit extra

    sentences: list[str] = []
    labels: list[int] = []
    for part in ("train", "dev", "test"):
        path = _existing(folder / f"{part}.tsv", "lines of sentence, tab, 0 or 1, without header")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            sentence, _, label = line.rpartition("\t")
            if label not in ("0", "1"):
                raise ValueError(f"{path}: line {number} does not end in a tab and 0 or 1")
            sentences.append(sentence)
            labels.append(int(label))
    vectorizer = HashingVectorizer(
        n_features=_TEXT_FEATURES, binary=True, norm=None, alternate_sign=False
    )
    inputs = vectorizer.transform(sentences).toarray().astype(np.uint8)
    return Dataset(
        "sst2", inputs, np.array(labels, np.int64), ("negative", "positive"), binary=True,
        members=2000, held_out=2000, jitters=(2, 8, 32),
    )  # fmt: skip


def _adult(folder: Path) -> Dataset:
    """Census rows: five standardized numbers, seven one-hot columns; is income above 50K."""
    path = _existing(folder / "adult.csv.gz", "the UCI Adult table with a header, ? for missing")
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    wanted = (*_NUMERIC, *_CATEGORICAL, "income-per-year")
    if not rows or any(column not in rows[0] for column in wanted):
        raise ValueError(f"{path}: needs the columns {', '.join(wanted)}")
    numbers = np.array([[float(row[column]) for column in _NUMERIC] for row in rows])
    numbers[:, 2:4] = np.log1p(numbers[:, 2:4])  # capital gains and losses span five decades
    blocks = [(numbers - numbers.mean(axis=0)) / np.maximum(numbers.std(axis=0), 1e-9)]
    for column in _CATEGORICAL:
        values = np.array([row[column].strip() for row in rows])
        blocks.append((values[:, None] == np.unique(values)).astype(np.float64))
    labels = np.array([row["income-per-year"].strip().startswith(">50K") for row in rows])
    return Dataset(
        "adult", np.hstack(blocks).astype(np.float32), labels.astype(np.int64),
        ("<=50K", ">50K"), binary=False, members=2000, held_out=2000, jitters=(0.02, 0.1, 0.3),
    )  # fmt: skip


def _digits(_: Path | None = None) -> Dataset:
    """1,797 images of handwritten digits, 8 x 8 in 0..1, from scikit-learn."""
    with needing("digits comes with scikit-learn", extra="audit"):
        from sklearn.datasets import load_digits  # noqa: PLC0415 - audit extra
    inputs, labels = load_digits(return_X_y=True)
    return Dataset(
        "digits", (inputs / 16).astype(np.float32), labels.astype(np.int64),
        tuple(map(str, range(10))), binary=False,
        members=300, held_out=1000, jitters=(0.05, 0.1, 0.2),
    )  # fmt: skip


DATASETS: dict[str, Callable[[Path], Dataset]] = {
    "cifar10": _cifar10,
    "location30": _location30,
    "sst2": _sst2,
    "adult": _adult,
    "digits": _digits,
}
"""Name -> loader of a folder."""


def _existing(path: Path, holds: str) -> Path:
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not there; it should hold {holds}")
    return path


def _arrays(path: Path, *names: str) -> dict[str, NDArray[Any]]:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in names if name in archive.files}
    except (ValueError, EOFError, zipfile.BadZipFile):
        # Not in numpy's words: it advises to unpickle.
        raise ValueError(f"{path} is not an .npz file of plain arrays") from None
    if missing := [name for name in names if name not in arrays]:
        raise ValueError(f"{path}: lacks the array(s) {', '.join(missing)}")
    return arrays
