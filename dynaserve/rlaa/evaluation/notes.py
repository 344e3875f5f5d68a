"""How to read the tables, and where their set-up differs from the paper's, in plain words."""

from __future__ import annotations

from collections.abc import Sequence

from dynaserve.rlaa.economics import DEFAULT_MAX_MRS
from dynaserve.rlaa.evaluation.reproduction import Reproduction, Setup
from dynaserve.rlaa.evaluation.results import Row
from dynaserve.rlaa.evaluation.scoring import CLASSES, score
from dynaserve.rlaa.evaluation.tables import OWN, number


def make_notes(done: Reproduction) -> list[str]:
    """Return the notes that these results need."""
    return [
        _players(done),
        *_differences(done.setup),
        f"PRIV: mean score of an attacker's guesses about the attribute each text was written to "
        f"hint at; 1 is right, .5 coarser than the truth (country, degree); an age may be five "
        f"years off, so its decade counts as right. Without a guess it "
        f"says the constant one: {_constant(done)}; free text likewise. A text that is held "
        "back has utility 0.",
        f"linear: TF-IDF of words and letters, logistic regression, learned from "
        f"{done.learned_from} people of SynthPAI; those who wrote these records are among "
        "SynthPAI's and were left out. recorded: what a large model once concluded from the "
        "undefended text, for as long as any words it quoted still stand; it is not asked anew. "
        "embedded: the built-in engine.",
        f"{OWN}: this attacker plays in that anonymizer's own loop, so it shows how far the loop "
        "got, not how private the text is.",
        f"MRS: utility paid per attribute protected, by the loop's own attacker; RLAA stops above "
        f"{DEFAULT_MAX_MRS:g}, FgAA-Naive never.",
        *_troubles(done.rows),
    ]


def _players(done: Reproduction) -> str:
    some = f"{len(done.records):,} of {done.available:,} records of llmprivacy (synthetic)"
    if done.setup.model is None:
        return (
            f"{some}. No model: the built-in engine plays every role. RLAA rewrite is left out, "
            "it needs --model."
        )
    return f"{some}. {done.setup.model} plays every role of every loop."


def _differences(setup: Setup) -> list[str]:
    asked = setup.attacker_model or "no model (--attacker-model)"
    if setup.attacks_itself:
        asked += f", the very model that plays the loops' roles (hence {OWN})"
    util = "no judge (--judge), so no UTIL" if setup.judge is None else f"judge {setup.judge}"
    return [
        f"Differs from the paper: its loops run Llama-3-8B, and models attack and judge what comes "
        f"out. Here: attacked anew by {asked}; {util}. PRIV of two different attackers does not "
        "compare; what each finds above the floor, before and after, does.",
        "FgAA-Naive here: no arbitrator, every leak whose words stand in the text is edited, all "
        "rounds, no price, published whatever is left. mask-only: labels in place of addresses, "
        "numbers and secrets.",
    ]


def _constant(done: Reproduction) -> str:
    named = [done.constants[name] for name in ("age", *CLASSES) if name in done.constants]
    three = {name: done.constants[name] for name in CLASSES if name in done.constants}
    alone = sum(
        score(record.attribute, three[record.attribute], record.truth)
        for record in done.records
        if record.attribute in three
    ) / len(done.records)
    closed = ", ".join(three.values())
    return f"{', '.join(named)} (of these, {closed} alone would score {number(alone)} overall)"


def _troubles(rows: Sequence[Row]) -> list[str]:
    troubles = []
    for row in rows:
        ended = ", ".join(f"{count} {name}" for name, count in row.statuses.items())
        silent = ", ".join(
            f"{name} failed on {attack.unanswered}"
            for name, attack in row.attacks.items()
            if attack.unanswered
        )
        unjudged = f"{row.unjudged} without a verdict" if row.unjudged else ""
        if row.mrs or silent or unjudged:
            parts = [part for part in (ended, silent, unjudged) if part]
            troubles.append(f"{row.name}: {'; '.join(parts)}.")
    return troubles
