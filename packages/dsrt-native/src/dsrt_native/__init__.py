"""The DSRT engine: Rust inside, NumPy out.

Needs neither torch nor Polars, and importing it starts no thread.
"""

from dsrt_native.batch import RaggedArray
from dsrt_native.build import BuildResult, build, build_all
from dsrt_native.cache import Cache
from dsrt_native.dictionary import train_dictionary
from dsrt_native.loader import Loader
from dsrt_native.merge import merge
from dsrt_native.population import HasPopulation, Population
from dsrt_native.progress import BuildProgress
from dsrt_native.sources import Source
from dsrt_native.verify import verify
from dsrt_native.writer import CacheWriter

__all__ = [
    "BuildProgress",
    "BuildResult",
    "Cache",
    "CacheWriter",
    "HasPopulation",
    "Loader",
    "Population",
    "RaggedArray",
    "Source",
    "build",
    "build_all",
    "merge",
    "train_dictionary",
    "verify",
]
