"""How far the validator is, in bytes of the files that it reads."""

from collections.abc import Callable

__all__ = ["Progress"]

_STEP = 1 << 20


class Progress:
    """Tells a caller how many bytes are done, at least once a file and not more often than once a MiB.

    Args:
        report: Called with the bytes that are done and those there are in all, or None.
        total: The latter.

    Attributes:
        raised: What `report` raised, if that is what a file could have raised.
    """

    def __init__(self, report: Callable[[int, int], None] | None, total: int) -> None:
        self._report = report
        self._total = total
        self._before = 0
        self._length = 0
        self._passes = 1
        self._seen = 0
        self._reported = 0
        self.raised: OSError | None = None

    def begin(self, length: int, passes: int = 1) -> None:
        """Say that a file is next, which counts for `length` bytes and is read so many times."""
        self._length, self._passes, self._seen = length, passes, 0

    def advance(self, count: int) -> None:
        """Say that bytes of the file were read."""
        self._seen += count
        done = self._before + min(self._seen // self._passes, self._length)
        if done >= self._reported + _STEP:
            self._tell(done)

    def end(self) -> None:
        """Say that the file is done, read to its end or not."""
        self._before += self._length
        self._tell(self._before)

    def give_up(self) -> None:
        """Say that the file cannot be read any further: what was read of it is done."""
        self._before += min(self._seen // self._passes, self._length)
        self._tell(self._before)

    def _tell(self, done: int) -> None:
        self._reported = done
        if self._report is None:
            return
        try:
            self._report(done, self._total)
        except OSError as error:
            self.raised = error
            raise
