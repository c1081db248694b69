"""Whose code an exception comes from: that of a source, or ours."""

import sys
import traceback

__all__ = ["is_of_a_source"]

# What `dsrt build` runs beside a source: our packages, and what these call.
_OURS = frozenset({*sys.stdlib_module_names, "dsrt_cli", "dsrt_format", "dsrt_native", "numpy", "rich"})


def is_of_a_source(error: BaseException) -> bool:
    """Return whether code that is neither ours nor called by ours alone was running when this was raised.

    An error of ours says all there is to say, a missing file of a source hardly: where it was opened counts.

    Args:
        error: As it was caught in a function that runs a source; frames above that function do not count.
    """
    modules = (frame.f_globals.get("__name__", "") for frame, _ in traceback.walk_tb(error.__traceback__))
    return any(name.partition(".")[0] not in _OURS for name in modules)
