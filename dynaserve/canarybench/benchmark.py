"""The CanaryBench benchmark: four degrees of defense, two summarizers, over several seeds.

Follows arXiv 2601.18834 in what it states: 3,000 single-turn conversations on 24 topics,
canaries in 60% of them, k-means of TF-IDF into floor(sqrt(n)) clusters, k-min 25. Its texts and
patterns are not public; ours are in `corpus`, `canaries` and `redaction`.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from dynaserve.canarybench.audit import Auditor
from dynaserve.canarybench.clustering import cluster
from dynaserve.canarybench.corpus import generate
from dynaserve.canarybench.pipeline import K_MIN, prepare
from dynaserve.canarybench.planting import plant
from dynaserve.canarybench.rates import Rate
from dynaserve.canarybench.summarizers import SUMMARIZERS
from dynaserve.processes import worker_pool
from dynaserve.redaction import redact

CONVERSATIONS = 3000
DEFENSES = ("none", "k-min", "redaction", "both")


@dataclass(frozen=True, slots=True)
class Run:
    """One release of one seed, audited."""

    seed: int
    summarizer: str
    defense: str
    canary_rate: Rate
    cluster_rate: Rate
    planted: int
    """All canaries, those of suppressed clusters too."""
    published: int
    """Clusters; so many were not suppressed."""
    coherence: float
    indicators: Mapping[str, int]
    exposure: float
    """Highest of any canary, in bits."""


@dataclass(frozen=True, slots=True)
class Cell:
    """The same release over all seeds."""

    summarizer: str
    defense: str
    runs: tuple[Run, ...]

    def spread(self, measure: Callable[[Run], float]) -> Spread:
        """Return how a measure is spread over the seeds."""
        return Spread(tuple(measure(run) for run in self.runs))

    @property
    def canaries(self) -> Rate:
        """Canaries of all seeds together: their sum has the tightest interval."""
        return _pooled(run.canary_rate for run in self.runs)

    @property
    def clusters(self) -> Rate:
        """Clusters of all seeds together."""
        return _pooled(run.cluster_rate for run in self.runs)


@dataclass(frozen=True, slots=True)
class Spread:
    """A number per seed."""

    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Over the seeds."""
        return statistics.fmean(self.values)

    @property
    def low(self) -> float:
        """Of the lowest seed."""
        return min(self.values)

    @property
    def high(self) -> float:
        """Of the highest seed."""
        return max(self.values)


def run_benchmark(
    seeds: Sequence[int] = range(5),
    *,
    conversations: int = CONVERSATIONS,
    k_min: int = K_MIN,
    jobs: int = 1,
    done: Callable[[int], object] = lambda _: None,
) -> tuple[Cell, ...]:
    """Run the benchmark.

    Parameters
    ----------
    seeds
        Of everything that is drawn; at least one.
    conversations, k_min
        As in the paper by default.
    jobs
        Processes, each of which takes a seed at a time.
    done
        Called with the number of seeds that are finished.

    Returns
    -------
    A cell for each summarizer and defense, in the order of ``SUMMARIZERS`` and ``DEFENSES``.
    """
    if not seeds:
        raise ValueError("seeds: needs at least one")
    one = partial(run_seed, conversations=conversations, k_min=k_min)
    runs: list[Run] = []
    for finished, found in enumerate(_mapped(one, seeds, jobs), start=1):
        runs += found
        done(finished)
    return tuple(
        Cell(
            summarizer,
            defense,
            tuple(r for r in runs if (r.summarizer, r.defense) == (summarizer, defense)),
        )
        for summarizer in SUMMARIZERS
        for defense in DEFENSES
    )


def run_seed(seed: int, *, conversations: int = CONVERSATIONS, k_min: int = K_MIN) -> list[Run]:
    """Return the audited releases of one seed: one corpus, one planting, one clustering."""
    planted, manifest = plant(generate(conversations, seed=seed), seed=seed)
    clustering = cluster([conversation.text for conversation in planted], seed=seed)
    auditor = Auditor(manifest)
    runs = []
    for defense in DEFENSES:
        prepared = prepare(
            planted,
            clustering,
            k_min=k_min if defense in {"k-min", "both"} else 1,
            redact=redact if defense in {"redaction", "both"} else None,
        )
        for name, summarizer in SUMMARIZERS.items():
            release = prepared.summarized(summarizer)
            report = auditor.audit(release)
            runs.append(
                Run(
                    seed=seed,
                    summarizer=name,
                    defense=defense,
                    canary_rate=report.canary_rate,
                    cluster_rate=report.cluster_rate,
                    planted=len(manifest.canaries),
                    published=len(release.clusters),
                    coherence=release.coherence,
                    indicators=report.indicators,
                    exposure=max((e.highest for e in report.exposures), default=math.nan),
                )
            )
    return runs


def _mapped(
    one: Callable[[int], list[Run]], seeds: Sequence[int], jobs: int
) -> Iterator[list[Run]]:
    if min(jobs, len(seeds)) <= 1:
        yield from map(one, seeds)
        return
    with worker_pool(min(jobs, len(seeds))) as pool:
        yield from pool.map(one, seeds)


def _pooled(rates: Iterator[Rate]) -> Rate:
    each = list(rates)
    return Rate(sum(rate.found for rate in each), sum(rate.total for rate in each))
