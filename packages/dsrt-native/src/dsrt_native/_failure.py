"""An exception on its way from a worker to the parent."""

import contextlib
import os
import pickle
import traceback
from typing import TypeAlias

__all__ = ["Failure", "described", "rebuilt"]

Failure: TypeAlias = tuple[bytes | None, str, str]
"""The exception and its arguments pickled, if that is possible; in words; and where it came from."""


def described(error: BaseException) -> Failure:
    """Return what the parent needs to raise an error again. To be called by the function that caught it."""
    # The first frame is the caller's, which tells nobody anything.
    trace = error.__traceback__.tb_next if error.__traceback__ is not None else None
    text = "".join(traceback.format_exception(type(error), error, trace))
    words = "".join(traceback.format_exception_only(error)).strip()
    pickled = None
    # An end of the process or of an iteration that a task asks for must not end those of the parent.
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        with contextlib.suppress(Exception):
            # An exception is made again by calling its class, which may make other arguments of those.
            candidate = pickle.dumps((error, error.args), 5)
            if type(pickle.loads(candidate)[0]) is type(error):
                pickled = candidate
    return pickled, words, f"in worker process {os.getpid()}:\n{text}"


def rebuilt(pickled: bytes | None, words: str, trace: str) -> Exception:
    """Return an exception made again; a RuntimeError where it cannot be."""
    error = None
    if pickled is not None:
        try:
            again, args = pickle.loads(pickled)
            if isinstance(again, Exception):
                again.args = args
                error = again
        except Exception as failure:
            words = f"{words} (which cannot be unpickled here: {failure})"
    if error is None:
        error = RuntimeError(words)
    error.add_note(trace)
    return error
