"""Times the same model behind other servers and behind DynaServe, in one run.

make bench-peers                      # about 25 minutes; needs wrk; builds the environments first
python -m benchmarks.peers --smoke    # two rounds: only proves that everything runs
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from rich.console import Console

from benchmarks import load_wrk, machine
from benchmarks.peers import tables
from benchmarks.peers.contestants import ENVIRONMENTS, ROOT, MissingError
from benchmarks.peers.criteria import judge
from benchmarks.peers.measuring import WORKLOADS, Effort, measure
from benchmarks.processes import clean_up_on_sigterm

RESULTS = ENVIRONMENTS.with_suffix(".json")

# The smaller the request, the more two equal processes differ in comparison.
EFFORTS = dict(zip(WORKLOADS, (Effort(launches=12, rounds=10, loaded=1),
                                Effort(launches=3, rounds=5, loaded=2)),
                   strict=True))  # fmt: skip
SMOKE = Effort(launches=1, rounds=2, loaded=2)


def main() -> int:
    """Measure, then print."""
    parser = argparse.ArgumentParser(description="Time the same model behind several servers.")
    parser.add_argument("--smoke", action="store_true", help="only prove that everything runs")
    smoke = parser.parse_args().smoke
    clean_up_on_sigterm()
    console = Console(width=max(Console().width, 120))
    cases: list[dict[str, Any]] = []
    verdicts: list[dict[str, Any]] = []
    try:
        for workload, effort in EFFORTS.items():
            for clients, rounds in measure(workload, SMOKE if smoke else effort, console).items():
                cases.append(tables.figures(workload, clients, rounds))
                verdicts += map(tables.verdict_figures, judge(workload, clients, rounds))
    except (MissingError, load_wrk.MissingError) as missing:
        print(missing, file=sys.stderr)
        return 1
    facts = machine.facts()
    for case in cases:
        tables.print_case(console, case)
    tables.print_verdicts(console, verdicts)
    console.print(machine.sentence(facts))
    if smoke:
        console.print("A smoke run: these numbers mean nothing, and are not kept.")
        return 0
    RESULTS.write_text(json.dumps({"machine": facts, "cases": cases, "verdicts": verdicts}))
    console.print(f"Numbers: {RESULTS.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
