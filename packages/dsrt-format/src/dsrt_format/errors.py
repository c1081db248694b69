"""Every exception that a DSRT package raises on purpose, once.

Each class also derives from the builtin that Python people would catch. The Rust engine raises these very
classes. `FormatError` and its subclasses carry the rule of the specification that is broken and the place
where it was found; branch on those attributes, never on the text.
"""

import errno
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dsrt_format.validate.problem import Problem

__all__ = [
    "CacheExistsError",
    "CacheLockedError",
    "DataError",
    "DsrtError",
    "FormatError",
    "InternalError",
    "NotPublishedError",
    "SchemaError",
    "StaleCacheError",
    "StateMismatchError",
    "UnknownVersionError",
    "UnreadError",
    "WorkerError",
]


class DsrtError(Exception):
    """The base of every DSRT exception."""


class FormatError(DsrtError, ValueError):
    """A file of a cache breaks a rule of the format.

    Args:
        message: What was found and expected, and what to do about it. `str()` of the error adds the rule
            and the place, so the message need not repeat them.
        rule: The id of the broken rule, such as ``"R033"``.
        cache: The path of the cache as it was opened, or None where unknown; likewise below.
        field: The name of the field.
        shard: The number of the shard, from 0.
        sample: The position of the sample in the cache, from 0.
    """

    def __init__(
        self,
        message: str,
        *,
        rule: str,
        cache: str | None = None,
        field: str | None = None,
        shard: int | None = None,
        sample: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.rule = rule
        self.cache = cache
        self.field = field
        self.shard = shard
        self.sample = sample

    def __str__(self) -> str:
        return described(self.rule, self.message, self.cache, self.field, self.shard, self.sample)

    def __reduce__(self) -> tuple[Any, ...]:
        # Keyword-only arguments do not fit the default protocol, which calls cls(*args).
        return _rebuild, (type(self), self.message, self.rule), self.__dict__


def described(
    rule: str, message: str, cache: str | None, field: str | None, shard: int | None, sample: int | None
) -> str:
    """Return the one form in which a broken rule and its place are shown, of errors and of problems."""
    # A damaged manifest can hold a name of millions of letters; a legal one has 63.
    names = {"cache": cache, "field": None if field is None else field[:80], "shard": shard, "sample": sample}
    places = [f"{name} {value!r}" for name, value in names.items() if value is not None]
    return f"{rule}: {message}" + (f" ({', '.join(places)})" if places else "")


def _rebuild(cls: type[FormatError], message: str, rule: str) -> FormatError:
    return cls(message, rule=rule)


class DataError(FormatError):
    """Damage found by reading records or metadata of a cache that opened well (rules R030 to R046)."""


class UnknownVersionError(FormatError):
    """The manifest is sound but of another version of the format than 1 (rule R005)."""


class NotPublishedError(FormatError, FileNotFoundError):
    """There is no cache: no regular file manifest.json at the path (rule R000). ``errno`` is ENOENT."""

    def __init__(
        self,
        message: str,
        *,
        rule: str = "R000",
        cache: str | None = None,
        field: str | None = None,
        shard: int | None = None,
        sample: int | None = None,
    ) -> None:
        super().__init__(message, rule=rule, cache=cache, field=field, shard=shard, sample=sample)
        self.errno = errno.ENOENT


class StaleCacheError(DsrtError, ValueError):
    """Another cache now lies at a path than the one that was meant."""


class CacheLockedError(DsrtError, BlockingIOError):
    """Another writer holds the lock of the cache. ``errno`` is EWOULDBLOCK."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.errno = errno.EWOULDBLOCK


class CacheExistsError(DsrtError, FileExistsError):
    """Something already lies where a cache was to be published. ``errno`` is EEXIST."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.errno = errno.EEXIST


class SchemaError(DsrtError, ValueError):
    """What is given does not fit the fields or columns, or those are not legal themselves."""


class StateMismatchError(DsrtError, ValueError):
    """A saved state belongs to another order, other rows or other weights."""


class WorkerError(DsrtError, RuntimeError):
    """A worker process has ended, or could not begin.

    Args:
        message: What became of it, when, and what to do.
        exit: The exit code, or None if it was killed or has not ended.
        signal: The number of the signal that killed it, or None.
        batch: The number of the request that it was computing, or None if it was starting or idle.
    """

    def __init__(
        self,
        message: str,
        *,
        exit: int | None = None,  # noqa: A002  # the attribute's name, which nobody calls here
        signal: int | None = None,
        batch: int | None = None,
    ) -> None:
        super().__init__(message)
        self.exit = exit
        self.signal = signal
        self.batch = batch


class UnreadError(DsrtError, OSError):
    """Files of a cache that is verified cannot be read: the system refuses them (EIO, EACCES).

    Everything else of the cache was looked at. ``errno``, ``strerror`` and ``filename`` are those of the
    first such file.

    Args:
        cache: The path of the cache as it was given.
        unread: The error of each file or directory, at least one, in the order in which problems are listed;
            ``filename`` is the path inside the cache.
        problems: What was found in all others, and in these up to where they could not be read.
    """

    def __init__(self, cache: str, unread: "list[OSError]", problems: "list[Problem]") -> None:
        super().__init__(unread[0].errno, unread[0].strerror, unread[0].filename)
        self.cache = cache
        self.unread = unread
        self.problems = problems

    def __str__(self) -> str:
        more = f" and {len(self.unread) - 1} more files or directories" if len(self.unread) > 1 else ""
        return (
            f"cache {self.cache!r}: {super().__str__()}{more}; all else was verified, and what was "
            "found is in the attribute problems"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.cache, self.unread, self.problems), self.__dict__


class InternalError(DsrtError, RuntimeError):
    """A defect of DSRT itself, such as a panic in the engine. Please report it."""
