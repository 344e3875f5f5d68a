"""Real sentences without canaries in them, from the data beside the checkout."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

DATA = Path(__file__).resolve().parents[1].parent / "shared" / "data"


def real_sentences(folder: Path = DATA) -> list[str]:
    """Return the sentences of banking77, clinc150 and SST-2, in their order.

    Raises
    ------
    OSError
        If one of the files is not there.
    """
    sentences: list[str] = []
    for part in ("train", "test"):
        with (folder / "banking77" / f"{part}.csv").open(encoding="utf-8", newline="") as file:
            sentences += [row[0] for row in csv.reader(file)][1:]
    with gzip.open(folder / "clinc150" / "data_full.json.gz", "rt", encoding="utf-8") as file:
        sentences += [text for rows in json.load(file).values() for text, _ in rows]
    for part in ("train", "dev", "test"):
        lines = (folder / "sst2" / f"{part}.tsv").read_text(encoding="utf-8").splitlines()
        sentences += [line.rpartition("\t")[0] for line in lines]
    return sentences
