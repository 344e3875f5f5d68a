"""How long a whole run of CanaryBench takes: generate, plant, cluster, summarize, redact, audit.

python -m benchmarks.canary_run                 # 3,000 and 100,000 conversations
python -m benchmarks.canary_run 3000 20000
"""

from __future__ import annotations

import resource
import sys
import time

from dynaserve.canarybench import audit_release, plant, publish
from dynaserve.canarybench.corpus import generate


def seconds(conversations: int, *, seed: int = 0) -> tuple[float, int]:
    """Return how long a run took whose release passed, and how many canaries it had."""
    started = time.perf_counter()
    planted, manifest = plant(generate(conversations, seed=seed), seed=seed)
    report = audit_release(manifest, publish(planted, seed=seed))
    if not report.passed:
        raise RuntimeError("the defended release leaks")
    return time.perf_counter() - started, len(manifest.canaries)


def main() -> None:
    """Measure, then print; the first run only loads what is imported on the way."""
    seconds(1500)
    for conversations in [int(word) for word in sys.argv[1:]] or [3_000, 100_000]:
        taken, canaries = seconds(conversations)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(
            f"{conversations:7,} conversations, {canaries:6,} canaries: {taken:5.1f} s, "
            f"peak memory {peak:.2f} GiB"
        )


if __name__ == "__main__":
    main()
