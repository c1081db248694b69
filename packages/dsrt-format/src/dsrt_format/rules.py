"""The numbered rules of a cache, and how a check says that one is broken.

Reading enforces R000 to R046, the validator R050 to R053, too; readers ignore what R053 speaks of.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from dsrt_format.errors import FormatError, NotPublishedError, UnknownVersionError

__all__ = ["RULES", "Violation", "raising"]

RULES: dict[str, str] = {
    "R000": "manifest.json exists and is a regular file",
    "R001": "the manifest has at most 64 MiB",
    "R002": "the manifest begins with its digest",
    "R003": "the digest matches",
    "R004": "the manifest is strict JSON",
    "R005": "the format is version 1",
    "R006": "the manifest has exactly the known keys, of the right types",
    "R007": "the names of the cache and of the fields are legal",
    "R008": "names of fields differ in more than case",
    "R010": "a shard has 1 to 2^20 samples",
    "R011": "the number of samples is the sum of the shards'",
    "R012": "metadata has at least one byte and one chunk digest per 4 MiB",
    "R013": "there are 1 to 256 fields",
    "R014": "the kind is known",
    "R015": "the codec is known",
    "R016": "the dtype is known, and uint8 for bytes and text",
    "R017": "delta is 1 to 255, for uint8 and a codec other than raw",
    "R018": "axes and their product are in range",
    "R019": "a dictionary file has 72 to 1048640 bytes",
    "R020": "a field has one file per shard",
    "R021": "the length of a file is possible",
    "R030": "a file is there, regular and of the manifest's length",
    "R031": "the header of a file is the one the manifest implies",
    "R032": "a record lies inside the record area",
    "R033": "the checksum of a record matches",
    "R034": "the shape of a record is within the limits and agrees with a raw record's length",
    "R035": "a record expands at most 32768-fold",
    "R036": "the header of a zstd frame is as the format wants it",
    "R037": "a zstd frame decodes to exactly its record and nothing is left",
    "R038": "text is valid UTF-8",
    "R039": "the digest of an index matches",
    "R040": "the digest of a dictionary matches and it loads",
    "R041": "the digest of each chunk of metadata matches",
    "R042": "metadata is a sound Arrow file",
    "R043": "metadata has one row per sample",
    "R044": "metadata is in batches of 262144 rows",
    "R045": "the schema of metadata is one the format allows",
    "R046": "weights are float64, finite, >= 0 and never null",
    "R050": "the digest of the body of a shard matches",
    "R051": "the last record ends where the index begins but for a pad of zeros",
    "R052": "the bytes of bools are 0 or 1",
    "R053": "nothing else lies in the directory of a cache",
}
"""One line for each rule, by id."""


class Violation(Exception):  # never leaves the package: callers see a FormatError or a Problem
    """A check failed. Whoever called the check knows the rest of the place and what is to become of it."""

    def __init__(
        self,
        rule: str,
        message: str,
        *,
        field: str | None = None,
        shard: int | None = None,
        sample: int | None = None,
    ) -> None:
        super().__init__(message)
        self.rule = rule
        self.message = message
        self.field = field
        self.shard = shard
        self.sample = sample

    def at(
        self, *, field: str | None = None, shard: int | None = None, sample: int | None = None
    ) -> "Violation":
        """Fill in what is not yet known of the place, and return the violation itself."""
        self.field = field if self.field is None else self.field
        self.shard = shard if self.shard is None else self.shard
        self.sample = sample if self.sample is None else self.sample
        return self


@contextmanager
def raising(cls: type[FormatError], cache: str) -> Iterator[None]:
    """Turn a violation inside the block into an exception for callers; R000 and R005 have their own classes.

    Args:
        cls: The class of all others.
        cache: The path of the cache as it was opened.
    """
    try:
        yield
    except Violation as violation:
        special: dict[str, type[FormatError]] = {"R000": NotPublishedError, "R005": UnknownVersionError}
        raise special.get(violation.rule, cls)(
            violation.message,
            rule=violation.rule,
            cache=cache,
            field=violation.field,
            shard=violation.shard,
            sample=violation.sample,
        ) from None
