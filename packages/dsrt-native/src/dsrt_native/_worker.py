"""The child's side of the pool: answer requests, one after the other, until the parent is gone.

Every worker imports this module before the user's own main module, so it brings in no more than dsrt_native
does: NumPy, but neither pyarrow nor Polars nor torch.
"""

import contextlib
import fcntl
import os
import signal
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from dsrt_native._channel import Channel, Packed
from dsrt_native._failure import described

__all__ = ["main"]


def main(connection: Connection, life: Connection, load: Callable[[], Callable[[Any], Any]]) -> None:
    """Serve one parent.

    Args:
        connection: Requests come and replies go here. Its end is a wish to end.
        life: The reading end of a pipe whose other end only the parent holds.
        load: Returns the task.
    """
    # Ctrl-C goes to the whole group; what it means for us, the parent knows.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    _die_with_parent(life)
    if "numpy.random" in sys.modules:
        # Forked workers would all draw what the process that they were forked from was about to draw. Python
        # sees to `random` itself; what must be reproducible has its seed in the request.
        sys.modules["numpy.random"].seed()
    channel = Channel(connection)
    with contextlib.suppress(EOFError, ConnectionError):
        try:
            task = load()
        except BaseException as error:
            channel.send("unready", None, Packed(described(error)))
            return
        channel.send("ready", None, Packed(None))
        while True:
            _serve(channel, task)


def _die_with_parent(life: Connection) -> None:
    """Have the kernel end this process when its parent does, even while native code computes.

    The end of the pipe raises a signal, as new data would. Unlike the signal that Linux sends when the parent
    dies, it works through a fork server and whatever thread of the parent has started us. Where a system
    cannot choose that signal, a worker ends when it has answered.
    """
    if hasattr(fcntl, "F_SETSIG"):
        fcntl.fcntl(life, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(life, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(life, fcntl.F_SETFL, fcntl.fcntl(life, fcntl.F_GETFL) | os.O_ASYNC)
    if life.poll():
        os._exit(1)


def _serve(channel: Channel, task: Callable[[Any], Any]) -> None:
    message = channel.receive()
    try:
        reply = task(channel.open(message))
    except BaseException as error:
        channel.send("error", message.ordinal, Packed(described(error)))
    else:
        _reply(channel, message.ordinal, reply)
    # What was printed is seen even if this process is killed later; a closed stdout is not our affair.
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stdout.flush()


def _reply(channel: Channel, ordinal: int | None, reply: Any) -> None:
    try:
        packed = Packed(reply)
    except Exception as error:
        refusal = TypeError(
            f"the reply to request {ordinal}, of type {type(reply).__qualname__}, cannot be pickled: {error}"
        )
        refusal.__cause__ = error
        channel.send("error", ordinal, Packed(described(refusal)))
        return
    try:
        channel.send("reply", ordinal, packed)
    except (EOFError, ConnectionError):
        raise
    except OSError as error:
        error.add_note(f"for want of memory for the reply to request {ordinal}")
        channel.send("error", ordinal, Packed(described(error)))
