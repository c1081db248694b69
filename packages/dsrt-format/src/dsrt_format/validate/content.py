"""What the bytes of a record must be by their type: UTF-8 (R038), bools of 0 and 1 (R052)."""

import codecs

import numpy as np

from dsrt_format.directory import PIECE_BYTES
from dsrt_format.entries import Field
from dsrt_format.rules import Violation

__all__ = ["Content", "content_of"]


class Content:
    """Any bytes at all; the base of what says more."""

    def __init__(self) -> None:
        self._at = 0

    def feed(self, piece: bytes | memoryview) -> None:
        """Look at the next bytes of a record.

        Raises:
            Violation: R038 or R052.
        """

    def end(self) -> None:
        """Say that the record ends here.

        Raises:
            Violation: R038.
        """

    def check(self, data: bytes) -> None:
        """Look at a whole record.

        Raises:
            Violation: R038 or R052.
        """
        view = memoryview(data)
        for start in range(0, len(data), PIECE_BYTES):
            self.feed(view[start : start + PIECE_BYTES])
        self.end()


class _Text(Content):
    def __init__(self) -> None:
        super().__init__()
        self._decoder = codecs.getincrementaldecoder("utf-8")()

    def feed(self, piece: bytes | memoryview) -> None:
        self._decode(bytes(piece), last=False)
        self._at += len(piece)

    def end(self) -> None:
        self._decode(b"", last=True)

    def _decode(self, piece: bytes, *, last: bool) -> None:
        waiting = len(self._decoder.getstate()[0])
        try:
            self._decoder.decode(piece, last)
        except UnicodeDecodeError as error:
            at = self._at - waiting + error.start
            raise Violation("R038", f"the text is not UTF-8 at byte {at}") from None


class _Bools(Content):
    def feed(self, piece: bytes | memoryview) -> None:
        values = np.frombuffer(piece, np.uint8)
        wrong = values > 1
        if wrong.any():
            first = int(wrong.argmax())
            raise Violation(
                "R052", f"byte {self._at + first} of the record is {values[first]}, a bool is 0 or 1"
            )
        self._at += len(piece)


def content_of(field: Field) -> Content:
    """Return what looks at one record of a field."""
    if field.kind == "text":
        return _Text()
    return _Bools() if field.dtype == "bool" else Content()
