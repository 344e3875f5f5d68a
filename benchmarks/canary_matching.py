"""How fast a release is searched: lines a second against ever more canaries and lines.

``python benchmarks/canary_matching.py`` prints the rate, the time to build the matcher and the
memory in use. Time is that of the process, one thread. One line in a thousand holds a canary.
"""

from __future__ import annotations

import argparse
import random
import resource
import time
from collections.abc import Sequence

from benchmarks.canary_variants import minted
from dynaserve.canarybench.canaries import KINDS
from dynaserve.canarybench.carriers import CARRIERS
from dynaserve.canarybench.manifest import Canary
from dynaserve.canarybench.matching import Matcher

_LEAK_EVERY = 1000


def release_lines(count: int, canaries: Sequence[Canary], seed: int) -> list[str]:
    """Return lines as long as sentences of a release, of which one in a thousand leaks."""
    rng = random.Random(seed)
    sentences = [line.format(value="them") for lines in CARRIERS.values() for line in lines]
    lines = [f"{rng.choice(sentences)} {rng.choice(sentences)}" for _ in range(count)]
    for at in range(0, count, _LEAK_EVERY):
        lines[at] += f" {rng.choice(canaries).value}"
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--canaries", type=int, default=100_000)
    parser.add_argument("--lines", type=int, default=1_000_000)
    arguments = parser.parse_args()

    canaries = minted(arguments.canaries // len(KINDS), seed=1)
    begin = time.process_time()
    matcher = Matcher(canaries)
    print(f"{len(canaries)} canaries: built in {time.process_time() - begin:.1f} s")
    for count in (arguments.lines // 10, arguments.lines // 3, arguments.lines):
        lines = release_lines(count, canaries, seed=2)
        begin = time.process_time()
        found = matcher.find_in_fields(lines)
        seconds = time.process_time() - begin
        length = sum(map(len, lines)) / count
        print(
            f"{count:>9} lines of {length:.0f} characters: {seconds:6.1f} s, "
            f"{count / seconds:>7.0f} lines/s, {len(found)} found of {-(-count // _LEAK_EVERY)}"
        )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory {peak:.0f} MiB")


if __name__ == "__main__":
    main()
