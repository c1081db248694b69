"""The DSRT cache format as plain Python: the specification as code.

Field specs, the manifest, errors and `fingerprint` are here for everybody. `dsrt_format.reference` is a plain
and slow implementation of the whole format, with which faster ones are compared.
"""

import sys

from dsrt_format import errors
from dsrt_format.errors import (
    CacheExistsError,
    CacheLockedError,
    DataError,
    DsrtError,
    FormatError,
    InternalError,
    NotPublishedError,
    SchemaError,
    StaleCacheError,
    StateMismatchError,
    UnknownVersionError,
    UnreadError,
    WorkerError,
)
from dsrt_format.fields import Bytes, Dense, Ragged, Text, Zstd
from dsrt_format.fingerprint import fingerprint
from dsrt_format.manifest import Manifest
from dsrt_format.validate import Problem, validate

if sys.byteorder != "little":
    raise ImportError("DSRT caches are little-endian and this host is big-endian; it is not supported")

__all__ = [
    "Bytes",
    "CacheExistsError",
    "CacheLockedError",
    "DataError",
    "Dense",
    "DsrtError",
    "FormatError",
    "InternalError",
    "Manifest",
    "NotPublishedError",
    "Problem",
    "Ragged",
    "SchemaError",
    "StaleCacheError",
    "StateMismatchError",
    "Text",
    "UnknownVersionError",
    "UnreadError",
    "WorkerError",
    "Zstd",
    "errors",
    "fingerprint",
    "validate",
]
