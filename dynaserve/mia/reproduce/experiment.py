"""Trains and attacks all contenders of one data set and seed.

What is trained is kept in a directory and never trained twice; what is attacked is kept there
too, as one small file for each contender, under a digest of all that went into it. Figures depend
on data set, seed and `quick` alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from dynaserve._version import __version__
from dynaserve.defenses import Defense
from dynaserve.mia.architectures import recipe
from dynaserve.mia.attacks import ATTACKS
from dynaserve.mia.audit import measure_data
from dynaserve.mia.data import AuditData
from dynaserve.mia.datasets import Dataset, Population, load
from dynaserve.mia.metrics import calibration_error_by_chance
from dynaserve.mia.peers import PEERS, TRAINING_CHOICES
from dynaserve.mia.reproduce.contenders import PLAIN, Contender, contender
from dynaserve.mia.reproduce.jitters import telling_size
from dynaserve.mia.reproduce.rows import Row
from dynaserve.mia.shadows import Jitter, ShadowRun, train_shadows
from dynaserve.mia.shadows.fingerprint import fingerprint
from dynaserve.processes import worker_pool

REPEATS = (1, 100)
COPIES = 50

Progress = Callable[[int, int, str], None]
"""Called with steps done, steps in all, and what has just been done."""


@dataclass(frozen=True)
class Setup:
    """One experiment.

    Attributes
    ----------
    dataset
        A name of `dynaserve.mia.datasets.DATASETS`.
    data_dir
        Where its folder is; digits needs none.
    directory
        Where models' answers and results are kept, for this data set, seed and size alone.
    seed
        Of the split, the training, the queries and the attackers.
    quick
        A third of the epochs and half of the shadows: every step, but no figures to quote.
    """

    dataset: str
    data_dir: Path | None
    directory: Path
    seed: int = 0
    quick: bool = False

    @property
    def shadows(self) -> int:
        """How many shadow models."""
        return 8 if self.quick else 16

    @property
    def attack_seed(self) -> int:
        """Seed of the attackers: apart from that of the split, which they must not know."""
        return int(np.random.default_rng([self.seed, 6]).integers(2**31))


def reproduce(
    setup: Setup,
    contenders: Sequence[Contender],
    *,
    workers: int = 1,
    progress: Progress | None = None,
) -> list[Row]:
    """Return a row for each contender, in their order.

    Parameters
    ----------
    setup
        The experiment; what its directory already holds of it is not done again.
    contenders
        Of `contender`; the undefended one need not be among them.
    workers
        How many processes train and attack; no figure depends on it. More than one are started
        anew, so call this from a main module that can be imported.
    progress
        Told after each step.

    Raises
    ------
    ValueError, FileNotFoundError, ImportError
        As `dynaserve.mia.datasets.load`; ValueError also for a directory of another experiment.
    """
    trainings = dict.fromkeys([PLAIN, *(one.training for one in contenders)])
    total, tell = len(trainings) + len(contenders), progress or (lambda *_: None)
    size = None
    for done, training in enumerate(trainings):
        run = _trained(setup, training, size, workers=workers)
        size = size or telling_size(run, setup.attack_seed)
        tell(done + 1, total, f"training {training}")
    assert size is not None  # noqa: S101 - PLAIN comes first
    rows = {}
    for done, row in enumerate(_measured(setup, contenders, size, workers)):
        tell(len(trainings) + done + 1, total, f"attacking {row.name}")
        rows[row.name] = row
    return [rows[one.name] for one in contenders]


def describe(setup: Setup) -> str:
    """Return in words what is trained and attacked."""
    dataset, population = _data(setup)
    trainer = recipe(dataset, quick=setup.quick)
    hidden = getattr(trainer.network, "hidden", None)
    kind = "three strided convolutions"
    if hidden is not None:
        kind = f"a perceptron with {'-'.join(map(str, hidden))} hidden units"
    return (
        f"{kind}, {trainer.schedule.epochs} epochs, {len(population.labels) // 2:,} members and "
        f"as many non-members of {setup.dataset}, {setup.shadows} balanced shadows"
    )


def calibration_note(setup: Setup) -> str:
    """Return in words how large a calibration error is by chance, with this many rows."""
    run = _trained(setup, PLAIN, None)
    defense = contender("rank-template").defense(run, setup.seed)
    assert defense is not None  # noqa: S101 - it is none only for "none"
    low, median, high = calibration_error_by_chance(defense(run.logits[~run.member]))
    return (
        f"ECE on {int((~run.member).sum()):,} non-members: if rank-template's confidences were "
        f"exactly right, it would come out as {median:.3f} (90% of draws {low:.3f} to {high:.3f})."
    )


def _measured(
    setup: Setup, contenders: Sequence[Contender], size: str, workers: int
) -> Iterator[Row]:
    if workers <= 1:
        yield from (_measure(setup, one, size) for one in contenders)
        return
    with worker_pool(workers) as pool:
        futures = [pool.submit(_measure, setup, one, size) for one in contenders]
        try:
            for future in as_completed(futures):
                yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _measure(setup: Setup, one: Contender, size: str) -> Row:
    """Attack one contender, or read what an earlier run found."""
    # Limits hold only for libraries that are loaded: scikit-learn has to come first.
    import sklearn.ensemble  # noqa: F401, PLC0415 - audit extra
    from threadpoolctl import threadpool_limits  # noqa: PLC0415 - comes with scikit-learn

    # The processes share the cores among them.
    with threadpool_limits(1):
        exposed = _Exposed.of(setup, one, size)
        path = setup.directory / "attacked" / f"{one.name}-{exposed.fingerprint()}.json"
        if path.exists():
            return _kept(path)
        row = exposed.attacked()
    path.parent.mkdir(exist_ok=True)
    row.save(path)
    return row


def _kept(path: Path) -> Row:
    try:
        return Row.load(path)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ValueError(f"{path} is damaged; delete it to attack that defense again") from None


@dataclass(frozen=True, eq=False)
class _Exposed:
    """One contender as attackers meet it.

    Attributes
    ----------
    contender, setup
        Which one, and where.
    run
        The answers of its models, and what its defense is fitted on.
    adaptive, paper
        What the attackers of either protocol see.
    defense
        What stands before the target.
    """

    contender: Contender
    setup: Setup
    run: ShadowRun
    adaptive: AuditData
    paper: AuditData
    defense: Defense | None

    @classmethod
    def of(cls, setup: Setup, one: Contender, size: str) -> _Exposed:
        """Return the contender with models that were trained before."""
        plain = _trained(setup, PLAIN, None)
        run = plain if one.training == PLAIN else _trained(setup, one.training, size)
        # The paper's attackers learned on models that nobody defended, not even in training.
        unaware = replace(plain.audit_data([]), logits=run.logits)
        seen = run.audit_data([] if one.slow else [size])
        return cls(one, setup, run, seen, unaware, one.defense(run, setup.seed))

    def fingerprint(self) -> str:
        """Return a digest of all that the figures depend on."""
        run, setup = self.run, self.setup
        return fingerprint(
            [
                __version__,
                [self.contender, "" if self.defense is None else self.defense.describe()],
                [run.held_out_logits, run.held_out_labels, run.shadow_held_out_logits],
                run.random_logits,
                [self.adaptive, self.paper],
                [ATTACKS, REPEATS, setup.seed, setup.attack_seed],
            ]
        )

    def attacked(self) -> Row:
        """Return what the attackers of both protocols find."""
        one, seed = self.contender, self.setup.attack_seed
        adaptive = measure_data(
            self.adaptive,
            defense=self.defense,
            shadow_defenses=one.shadow_defenses(self.run, self.setup.seed),
            repeats=REPEATS,
            seed=seed,
        )
        paper = measure_data(self.paper, defense=self.defense, protocol="paper", seed=seed)
        return Row.of(one.name, adaptive, paper)


@lru_cache(maxsize=2)
def _trained(setup: Setup, training: str, size: str | None, workers: int = 1) -> ShadowRun:
    """Return the answers of all models of one way of training; size None asks all sizes."""
    dataset, population = _data(setup)
    plain = recipe(dataset, quick=setup.quick)
    peer = None if training == PLAIN else (PEERS | TRAINING_CHOICES)[training]
    return train_shadows(
        plain if peer is None else peer.trainer(plain, population),
        population,
        shadows=setup.shadows,
        jitter=Jitter(tuple(s for s in dataset.jitters if size in (None, f"{s:g}")), COPIES),
        seed=setup.seed,
        directory=setup.directory / training,
        workers=workers,
    )


@lru_cache(maxsize=1)
def _data(setup: Setup) -> tuple[Dataset, Population]:
    dataset = load(setup.dataset, setup.data_dir)
    return dataset, dataset.population(seed=setup.seed)
