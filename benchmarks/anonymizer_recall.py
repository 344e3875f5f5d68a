"""What the embedded engine finds, and what it leaves alone.

`python -m benchmarks.anonymizer_recall --data ../shared/data` prints tables of

- presidio (synthetic texts with marked spans): recall per type, strictly: a span counts only if
  every letter and digit of it lies inside an edit. Names are no part of the total.
- llmprivacy (comments with a true attribute): in how many records a leak of that attribute is found
  whose guess is right or coarser than the truth (scored as in `reproduce rlaa`), and how many of
  the leaks found are.
- texts that give nothing away: how many characters are edited all the same.
- time per text, and with --hostile that of long texts made to be slow.

Patterns were written looking at the records with even numbers; the odd ones are the honest figure.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dynaserve.rlaa.embedded import EmbeddedEngine
from dynaserve.rlaa.evaluation.data import YEAR
from dynaserve.rlaa.evaluation.scoring import score
from dynaserve.rlaa.records import ATTRIBUTES, Edit, Leak, Level
from dynaserve.rlaa.spans import Folded, apply

ENGINE = EmbeddedEngine(year=YEAR)
ACTIONABLE = {Level.HIGH, Level.MED}
DIRECT = (
    "STREET_ADDRESS", "ADDRESS", "CREDIT_CARD", "PHONE_NUMBER", "EMAIL_ADDRESS", "ZIP_CODE",
    "DOMAIN_NAME", "IBAN_CODE", "US_SSN", "IP_ADDRESS", "US_DRIVER_LICENSE",
)  # fmt: skip
"""Types of presidio that lead to a person by themselves."""
NAMES = ("PERSON",)
FEATURES = {
    "age": "age", "sex": "sex", "city_country": "location", "birth_city_country": "birth_place",
    "education": "education", "occupation": "occupation", "income_level": "income",
    "relationship_status": "relationship",
}  # fmt: skip
"""What llmprivacy calls the attributes."""
HALVES = (("even (developed on)", 0), ("odd (held out)", 1))


def edits_of(text: str) -> Sequence[Edit]:
    """Return the edits of one round: attack, judge, locate, edit what is actionable."""
    leaks = ENGINE.attack(text, ATTRIBUTES)
    folded = Folded(text)
    judged = (
        replace(judgement, spans=folded.mentions(judgement.leak.evidence))
        for judgement in ENGINE.judge(text, leaks)
    )
    return ENGINE.edit(text, [j for j in judged if j.level in ACTIONABLE])


def untouched_outside(text: str, edits: Sequence[Edit]) -> bool:
    """Return whether all but the edited spans stands in the result, byte for byte."""
    result, at, out = apply(text, edits), 0, 0
    for edit in sorted(edits, key=lambda edit: edit.span):
        kept = text[at : edit.span.start]
        if result[out : out + len(kept)] != kept:
            return False
        at, out = edit.span.end, out + len(kept) + len(edit.after)
    return result[out:] == text[at:]


@dataclass
class Recall:
    """Spans of one type: how many there are, and how many are covered wholly, or partly."""

    total: int = 0
    whole: int = 0
    partly: int = 0

    def add(self, text: str, span: tuple[int, int], edits: Sequence[Edit]) -> None:
        """Count a span of a text that got these edits."""
        matters = [at for at in range(*span) if text[at].isalnum()]
        covered = sum(any(e.span.start <= at < e.span.end for e in edits) for at in matters)
        self.total += 1
        self.whole += covered == len(matters)
        self.partly += 0 < covered < len(matters)


def presidio_recall(records: Iterable[dict[str, Any]]) -> tuple[dict[str, Recall], bool]:
    """Return recall per type, and whether every text stayed as it was outside of its edits."""
    by_type: dict[str, Recall] = {}
    kept = True
    for record in records:
        text = record["full_text"]
        edits = edits_of(text)
        kept &= untouched_outside(text, edits)
        for span in record["spans"]:
            recall = by_type.setdefault(span["entity_type"], Recall())
            recall.add(text, (span["start_position"], span["end_position"]), edits)
    return by_type, kept


def together(by_type: dict[str, Recall], types: Iterable[str]) -> Recall:
    """Return the recall of several types as one."""
    chosen = [by_type[name] for name in types if name in by_type]
    return Recall(*(sum(getattr(r, f) for r in chosen) for f in ("total", "whole", "partly")))


@dataclass
class Evidence:
    """Records about one attribute: with a leak whose guess is true, and leaks by truth."""

    records: int = 0
    found: int = 0
    found_actionable: int = 0
    leaks: Counter[bool] = field(default_factory=Counter)

    def add(self, truth: object, leaks: Sequence[Leak], attribute: str) -> None:
        """Count a record: leaks of certainty 3 and more are those that get edited.

        A guess agrees with the truth if it is right or coarser than it, by the one score that all
        attackers of the evaluation are measured with.
        """
        right = [score(attribute, leak.guess, str(truth)) > 0 for leak in leaks]
        self.records += 1
        self.found += any(right)
        self.found_actionable += any(
            r for r, leak in zip(right, leaks, strict=True) if leak.certainty >= 3
        )
        self.leaks.update(r for r, leak in zip(right, leaks, strict=True) if leak.certainty >= 3)


def llmprivacy_evidence(records: Iterable[dict[str, Any]]) -> tuple[dict[str, Evidence], bool]:
    """Return what is found per attribute, and whether texts stayed the same outside of edits."""
    by_attribute = {attribute: Evidence() for attribute in ATTRIBUTES}
    kept = True
    for record in records:
        text, attribute = record["response"], FEATURES[record["feature"]]
        leaks = [k for k in ENGINE.attack(text, [attribute]) if k.attribute == attribute]
        by_attribute[attribute].add(record["personality"][record["feature"]], leaks, attribute)
        kept &= untouched_outside(text, edits_of(text))
    return by_attribute, kept


def ordinary_texts(data: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield sets of texts in which nobody says anything personal, or almost nobody."""
    clinc = json.loads(gzip.decompress((data / "clinc150/data_full.json.gz").read_bytes()))
    yield "clinc150 test", [text for text, _ in clinc["test"]]
    with (data / "banking77/test.csv").open(encoding="utf-8") as rows:
        yield "banking77 test", [row["text"] for row in csv.DictReader(rows)]
    lines = (data / "sst2/test.tsv").read_text(encoding="utf-8").splitlines()
    yield "sst2 test", [line.split("\t")[0] for line in lines]


def edited_share(texts: Iterable[str]) -> tuple[float, float]:
    """Return the shares of characters and of texts that are edited."""
    characters = edited = touched = count = 0
    for text in texts:
        edits = edits_of(text)
        count += 1
        touched += bool(edits)
        characters += len(text)
        edited += sum(edit.span.end - edit.span.start for edit in edits)
    return edited / characters, touched / count


CHARACTERS = 100_000
HOSTILE = (
    "a", "1", " ", "A ", "1 A ", "I'm ", "I'm a ", "my ", "in ", "born in ", "my master's in ", "@",
    "Rue ", "Apt 1 ", "I make 1", "as a nurse ", "the corner of ", "A and ", "Mr. A", "'", "\n",
    "new york ", "19 ", "weg 1", "she ", "not ", "I live in ", "\u200b", "é", "I'm 31 ",
)  # fmt: skip
"""Repeated, each of these makes some pattern begin often and fail late."""


def seconds(work: Callable[[str], object], text: str) -> float:
    """Return the processor time of a piece of work."""
    started = time.thread_time()
    work(text)
    return time.thread_time() - started


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with the data sets")
    parser.add_argument("--hostile", action="store_true", help="time hostile texts too")
    options = parser.parse_args(arguments)
    _print_presidio(options.data / "presidio")
    _print_llmprivacy(options.data / "llmprivacy")
    print("\nEdited on texts that give nothing away")
    for name, texts in ordinary_texts(options.data):
        characters, touched = edited_share(texts)
        print(f"  {name:16} {characters:7.3%} of characters, {touched:6.2%} of texts")
    if options.hostile:
        _print_hostile()


def _print_presidio(folder: Path) -> None:
    for name in ("synth_dataset_v2.json", "generated_large.json.gz"):
        raw = (folder / name).read_bytes()
        records = json.loads(gzip.decompress(raw) if name.endswith("gz") else raw)
        for half, parity in HALVES:
            by_type, kept = presidio_recall(records[parity::2])
            print(f"\npresidio {name}, {half}: recall, wholly covered (partly)")
            for kind in sorted(by_type, key=lambda kind: (kind not in DIRECT, kind)):
                mark = "*" if kind in DIRECT else " "
                _print_recall(mark + kind, by_type[kind])
            _print_recall("* direct identifiers", together(by_type, DIRECT))
            _print_recall("names", together(by_type, NAMES))
            print(f"  outside of edits byte-identical in every record: {kept}")


def _print_recall(name: str, recall: Recall) -> None:
    share, partly = recall.whole / recall.total, recall.partly / recall.total
    print(f"  {name:22} {share:6.1%} ({partly:5.1%}) of {recall.total}")


def _print_llmprivacy(folder: Path) -> None:
    lines = (folder / "synthetic_dataset.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    for half, parity in (*HALVES, ("all", None)):
        chosen = records if parity is None else records[parity::2]
        started = time.thread_time()
        by_attribute, kept = llmprivacy_evidence(chosen)
        spent = 1e3 * (time.thread_time() - started) / len(chosen) / 2
        print(f"\nllmprivacy, {half}: records with true evidence (actionable); precision")
        for attribute, evidence in by_attribute.items():
            records_, leaks = max(evidence.records, 1), evidence.leaks
            precision = leaks[True] / max(leaks.total(), 1)
            print(
                f"  {attribute:14} {evidence.found / records_:6.1%} "
                f"({evidence.found_actionable / records_:6.1%}) of {evidence.records:3}; "
                f"{precision:6.1%} of {leaks.total()} leaks"
            )
        found = sum(e.found for e in by_attribute.values())
        actionable = sum(e.found_actionable for e in by_attribute.values())
        print(f"  together       {found / len(chosen):6.1%} ({actionable / len(chosen):6.1%})")
        print(f"  outside of edits byte-identical in every record: {kept}; {spent:.1f} ms a pass")


def _print_hostile() -> None:
    print(f"\nHostile texts of {CHARACTERS:,} characters: seconds for a round, slowest first")
    texts = {unit: unit * (CHARACTERS // len(unit)) for unit in HOSTILE}
    times = {unit: seconds(edits_of, text) for unit, text in texts.items()}
    for unit in sorted(times, key=times.__getitem__, reverse=True)[:8]:
        print(f"  {times[unit]:6.2f}  {unit!r} repeated")


if __name__ == "__main__":
    main()
