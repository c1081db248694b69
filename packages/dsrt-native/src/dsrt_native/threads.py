"""How many threads the engine takes where nobody says."""

from dsrt_native import _native

__all__ = ["default_threads"]


def default_threads(share: int = 1) -> int:
    """Return how many threads a loader or writer has by default: 4, or a process's share of the CPUs if less.

    Args:
        share: Processes on this machine that do the same.
    """
    return max(1, min(4, _native.cpus() // share))
