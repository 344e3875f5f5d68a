"""The whole comparison from a directory of data: who anonymizes, who attacks, what is measured.

Figures depend on the data, the set-up's seed and sample, and the models alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dynaserve.rlaa.embedded import EmbeddedEngine
from dynaserve.rlaa.evaluation.contenders import make_contenders
from dynaserve.rlaa.evaluation.data import YEAR, Record, read_people, read_records, sample
from dynaserve.rlaa.evaluation.experiment import Progress, Yardsticks, evaluate
from dynaserve.rlaa.evaluation.fidelity import require_bleu
from dynaserve.rlaa.evaluation.judging import Judge
from dynaserve.rlaa.evaluation.linear import LinearAttacker
from dynaserve.rlaa.evaluation.opponents import Asked, Recorded
from dynaserve.rlaa.evaluation.privacy import Opponent, constant_guesses
from dynaserve.rlaa.evaluation.results import Row
from dynaserve.rlaa.llm import LLM, LlamaCppLLM
from dynaserve.rlaa.model_roles import ModelAttacker


@dataclass(frozen=True)
class Setup:
    """One comparison.

    Attributes
    ----------
    data
        Holds the folders ``llmprivacy`` and ``synthpai``.
    limit
        How many records, drawn by the seed; None is all of them.
    seed
        Of the sample, and of all that models sample.
    model, attacker_model, judge
        GGUF files: who plays the loops' roles, who attacks what comes out, who judges utility.
        None leaves the roles to the built-in engine, and the other two out.
    """

    data: Path
    limit: int | None = None
    seed: int = 0
    model: str | None = None
    attacker_model: str | None = None
    judge: str | None = None

    @property
    def attacks_itself(self) -> bool:
        """Whether the model that plays the loops' roles attacks what comes out, too."""
        if self.model is None or self.attacker_model is None:
            return False
        return Path(self.model).resolve() == Path(self.attacker_model).resolve()


@dataclass(frozen=True)
class Reproduction:
    """What came of it.

    Attributes
    ----------
    setup
        What was asked for.
    records
        Those that were run.
    available
        How many the data set has.
    constants
        Attribute -> the constant guess, by all records.
    learned_from
        How many people taught the linear attacker.
    rows
        One for each anonymizer.
    """

    setup: Setup
    records: tuple[Record, ...] = field(repr=False)
    available: int
    constants: Mapping[str, str] = field(repr=False)
    learned_from: int
    rows: tuple[Row, ...]


def reproduce(
    setup: Setup,
    *,
    open_model: Callable[[str], LLM] = LlamaCppLLM,
    progress: Progress | None = None,
) -> Reproduction:
    """Run the comparison.

    Parameters
    ----------
    setup
        Which one.
    open_model
        Opens a model by the name that the set-up has for it; called once for each name.
    progress
        Told after each text.

    Raises
    ------
    FileNotFoundError, ValueError
        As `read_records` and `read_people`, and for a model that cannot be opened.
    ImportError
        Naming the extra that is missing.
    """
    require_bleu()  # now, not at the first text that is edited
    names = filter(None, (setup.model, setup.attacker_model, setup.judge))
    every, people = read_records(setup.data), read_people(setup.data)
    models = {name: open_model(name) for name in dict.fromkeys(names)}
    linear = LinearAttacker(people, [record.author for record in every])
    opponents: list[Opponent] = [linear, Recorded(), Asked("embedded", EmbeddedEngine(year=YEAR))]
    if setup.attacker_model is not None:
        attacker = ModelAttacker(models[setup.attacker_model], seed=setup.seed)
        opponents.append(Asked("model", attacker))
    judge = None if setup.judge is None else Judge(models[setup.judge], seed=setup.seed)
    llm = None if setup.model is None else models[setup.model]
    records, constants = sample(every, setup.limit, setup.seed), constant_guesses(every)
    rows = evaluate(
        records,
        make_contenders(llm, seed=setup.seed, attacks=setup.attacks_itself),
        Yardsticks(opponents, constants, judge),
        progress,
    )
    return Reproduction(setup, records, len(every), constants, linear.people, tuple(rows))
