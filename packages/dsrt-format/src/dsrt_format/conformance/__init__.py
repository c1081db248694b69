"""Does a reader read what the format says, and refuse what it must? Anyone's reader, in any language.

`run` shows every vector to a reader that offers the few questions of `CacheReader`. A reader in another
language is a program that prints what it read, see `python -m dsrt_format.conformance --help`.
"""

from dsrt_format.conformance.reader import CacheReader, OpenCache
from dsrt_format.conformance.run import Problem, run

__all__ = ["CacheReader", "OpenCache", "Problem", "run"]
