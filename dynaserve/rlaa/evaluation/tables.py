"""The results as tables for a terminal or a page, the paper's figures beside them.

It arranges what was measured and computes nothing but differences.
"""

from __future__ import annotations

from collections.abc import Sequence

from dynaserve.rlaa.evaluation.published import PAPER
from dynaserve.rlaa.evaluation.results import MRSRound, Row
from dynaserve.rlaa.evaluation.scoring import CLASSES
from dynaserve.rlaa.records import ATTRIBUTES
from dynaserve.tables import Table

_NONE = "–"
OWN = "†"
"""Marks what an attacker found that plays in the anonymizer's own loop."""


def make_tables(title: str, rows: Sequence[Row]) -> list[Table]:
    """Return all tables of these results."""
    attackers = rows[0].attacks
    return [
        utility_table(title, rows),
        privacy_table(title, rows),
        *(attribute_table(title, rows, name) for name in attackers),
        *([balanced_table(title, rows)] if "linear" in attackers else []),
        mrs_table(title, rows),
        paper_table(),
    ]


def utility_table(title: str, rows: Sequence[Row]) -> Table:
    """Return what is left of the texts, and the judge's UTIL where there was one."""
    judged = any(row.verdict for row in rows)
    columns = ("anonymizer", "released", "cosine", "ROUGE-L", "BLEU", "kept")
    cells = [
        (
            row.name,
            number(row.released),
            number(row.fidelity.cosine),
            number(row.fidelity.rouge_l),
            number(row.fidelity.bleu),
            number(row.fidelity.kept),
            *((number(row.verdict.util) if row.verdict else _NONE,) if judged else ()),
        )
        for row in rows
    ]
    return Table(
        f"{title}: utility", (*columns, *(("UTIL (judge)",) if judged else ())), tuple(cells)
    )


def privacy_table(title: str, rows: Sequence[Row]) -> Table:
    """Return PRIV of every attacker, over all it attacks, and what of it is above the floor."""
    names = list(rows[0].attacks)
    count = ("(records)", *(f"{rows[0].attacks[n].overall.records}" for n in names))
    cells = [(row.name, *(_overall(row, name) for name in names)) for row in rows]
    floor = ("(constant guess)", *(number(rows[0].attacks[n].overall.floor) for n in names))
    return Table(
        f"{title}: PRIV, above the floor ± 95%", ("anonymizer", *names), (count, floor, *cells)
    )


def attribute_table(title: str, rows: Sequence[Row], attacker: str) -> Table:
    """Return one attacker's PRIV for each attribute."""
    of = [row.attacks[attacker].by_attribute for row in rows]
    names = [name for name in ATTRIBUTES if name in of[0]]
    cells = [
        (f"{row.name}{OWN if attacker in row.own else ''}", *(number(r[n].priv) for n in names))
        for row, r in zip(rows, of, strict=True)
    ]
    count = ("(records)", *(f"{of[0][name].records}" for name in names))
    floor = ("(constant guess)", *(number(of[0][name].floor) for name in names))
    columns = tuple(name.replace("_", " ") for name in names)
    return Table(
        f"{title}: PRIV by attribute, {attacker}", ("anonymizer", *columns), (count, floor, *cells)
    )


def balanced_table(title: str, rows: Sequence[Row]) -> Table:
    """Return the linear attacker's balanced accuracy."""
    of = [row.attacks["linear"].by_attribute for row in rows]
    names = [name for name in CLASSES if name in of[0]]
    chance = ("(chance)", *(number(1 / len(CLASSES[name])) for name in names))
    cells = [
        (row.name, *(_or_none(rates[name].balanced) for name in names))
        for row, rates in zip(rows, of, strict=True)
    ]
    columns = ("anonymizer", *(f"{name}, {len(CLASSES[name])} classes" for name in names))
    return Table(f"{title}: balanced accuracy, linear", columns, (chance, *cells))


def mrs_table(title: str, rows: Sequence[Row]) -> Table:
    """Return the median MRS of each round of edits, and how many texts it is of."""
    looped = [row for row in rows if row.mrs]
    rounds = max((len(row.mrs) for row in looped), default=0)
    cells = [
        (row.name, *(_mrs(row.mrs[r]) if r < len(row.mrs) else _NONE for r in range(rounds)))
        for row in looped
    ]
    columns = ("anonymizer", *(f"round {number + 1}" for number in range(rounds)))
    return Table(f"{title}: median MRS (texts edited)", columns, tuple(cells))


def paper_table() -> Table:
    """Return what the paper reports."""
    return Table(
        "paper: Llama-3-8B, PersonalReddit",
        ("anonymizer", "UTIL (judge)", "PRIV", "ROUGE-L"),
        tuple(
            (name, number(one.util), number(one.priv), _or_none(one.rouge))
            for name, one in PAPER.items()
        ),
    )


def number(value: float) -> str:
    """Return three decimals without a zero before the point."""
    text = f"{value:.3f}"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def _overall(row: Row, name: str) -> str:
    rate = row.attacks[name].overall
    gained = f"{'-' if rate.above_floor < 0 else '+'}{number(abs(rate.above_floor))}"
    return f"{number(rate.priv)}{OWN if name in row.own else ''} ({gained} ± {number(rate.margin)})"


def _mrs(turn: MRSRound) -> str:
    value = "∞" if turn.median is None else number(turn.median)
    return f"{value} ({turn.texts})"


def _or_none(value: float | None) -> str:
    return _NONE if value is None else number(value)
