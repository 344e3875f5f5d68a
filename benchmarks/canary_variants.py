"""Which disguises of which kinds of canary are found, by which tier; and what is found wrongly.

``python benchmarks/canary_variants.py [--markdown]`` plants every value in every disguise of the
catalogue in a sentence of its own. Where a disguise leaves all values of a kind as they are, there
is nothing to find: ``-``. Then it looks for decoys in 20,000 real sentences.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.sentences import DATA, real_sentences
from dynaserve.canarybench.canaries import KINDS, CanaryMint
from dynaserve.canarybench.disguises import DISGUISES, Disguise
from dynaserve.canarybench.manifest import Canary
from dynaserve.canarybench.matching import Matcher, Tier

SENTENCES = 20_000
DECOYS_PER_KIND = 250
_SENTENCE = "They told us that {} was the one to ask for, and nobody else."


@dataclass
class Row:
    """How often one disguise was seen through: per kind, and by which tier."""

    name: str
    tried: Counter[str] = field(default_factory=Counter)
    caught: Counter[str] = field(default_factory=Counter)
    tiers: Counter[Tier] = field(default_factory=Counter)


def minted(per_kind: int, seed: int) -> list[Canary]:
    """Return canaries of every kind."""
    mint = CanaryMint(seed)
    return [Canary(f"{kind}-{i}", kind, mint.draw(kind)) for kind in KINDS for i in range(per_kind)]


def variant_row(disguise: Disguise, canaries: Iterable[Canary], matcher: Matcher) -> Row:
    """Hide each canary in one way, alone in a sentence, and look for it."""
    row = Row(disguise.name)
    for canary in canaries:
        hidden = disguise.apply(canary.value, canary.kind)
        if hidden == canary.value and disguise is not DISGUISES[0]:
            continue
        row.tried[canary.kind] += 1
        found = matcher.find(_SENTENCE.format(hidden))
        tiers = [match.tier for match in found if match.canary_id == canary.id]
        if tiers:
            row.caught[canary.kind] += 1
            row.tiers[min(tiers, key=lambda tier: tier.rank)] += 1
    return row


def false_positives(decoys: Sequence[Canary], sentences: Sequence[str]) -> Counter[Tier]:
    """Return how many decoys each tier finds in sentences that hold none."""
    found = Matcher(decoys).find_in_fields(sentences)
    return Counter(tier for _, tier in {(match.canary_id, match.tier) for match in found})


def _cells(row: Row) -> list[str]:
    kinds = [f"{row.caught[k]}/{row.tried[k]}" if row.tried[k] else "-" for k in KINDS]
    return [row.name, *kinds, *(str(row.tiers[tier] or "") for tier in Tier)]


def _print_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, markdown: bool) -> None:
    if markdown:
        lines = [header, ["---", *("---:" for _ in header[1:])], *rows]
        print("\n".join(f"| {' | '.join(line)} |" for line in lines), end="\n\n")
        return
    table = Table(header[0])
    for name in header[1:]:
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(*row)
    Console().print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--markdown", action="store_true", help="tables for a document")
    parser.add_argument("--per-kind", type=int, default=60, help="canaries of each kind")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the real sentences")
    arguments = parser.parse_args()

    canaries = minted(arguments.per_kind, seed=1)
    matcher = Matcher(canaries)
    rows = [variant_row(disguise, canaries, matcher) for disguise in DISGUISES]
    header = ["disguise", *KINDS, *map(str, Tier)]
    _print_table(header, [_cells(row) for row in rows], markdown=arguments.markdown)
    caught = sum(row.caught.total() for row in rows)
    tried = sum(row.tried.total() for row in rows)
    print(f"{len(rows)} disguises, {len(KINDS)} kinds: {caught} of {tried}, {caught / tried:.1%}\n")

    try:
        sentences = real_sentences(arguments.data)
    except OSError:
        print("no real sentences: false positives were not measured")
        return
    random.Random(0).shuffle(sentences)
    decoys = minted(DECOYS_PER_KIND, seed=2)
    wrong = false_positives(decoys, sentences[:SENTENCES])
    header = [f"decoys in {SENTENCES} sentences", "found", "of", "rate"]
    total = len(decoys)
    cells = [[str(t), str(wrong[t]), str(total), f"{wrong[t] / total:.2%}"] for t in Tier]
    _print_table(header, cells, markdown=arguments.markdown)


if __name__ == "__main__":
    main()
