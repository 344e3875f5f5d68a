"""How many threads a model should use: one for each physical core that this process may have.

Two threads on one core wait for each other, and so do more threads than the container may run.
"""

from __future__ import annotations

import os
from pathlib import Path

_CPUS = Path("/sys/devices/system/cpu")
_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def physical_cores(cpus: Path = _CPUS, quota: Path = _QUOTA) -> int:
    """Return the physical cores that this process may use, at least 1.

    Where the system does not tell which of its processors share a core (macOS), all count.

    Parameters
    ----------
    cpus, quota
        Where Linux tells of processors and of a container's share of them.
    """
    allowed = _allowed()
    cores = len({_core(cpus, cpu) for cpu in allowed})
    return max(1, min(cores, _share(quota, cores)))


def _allowed() -> set[int]:
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return set(range(os.cpu_count() or 1))


def _core(cpus: Path, cpu: int) -> str:
    """Name the core that a processor belongs to: the list of all that share it."""
    try:
        return (cpus / f"cpu{cpu}" / "topology" / "thread_siblings_list").read_text().strip()
    except OSError:
        return str(cpu)


def _share(quota: Path, cores: int) -> int:
    try:
        limit, period = quota.read_text().split()
        return round(int(limit) / int(period))
    except (OSError, ValueError):  # no cgroup, or "max": no limit
        return cores
