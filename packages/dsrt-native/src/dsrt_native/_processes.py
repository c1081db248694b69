"""How worker processes begin and end."""

import contextlib
import multiprocessing
import multiprocessing.forkserver
import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing import process, resource_tracker
from multiprocessing.connection import Connection

from dsrt_format import WorkerError
from dsrt_native import _worker
from dsrt_native._channel import Channel
from dsrt_native._task import ADVICE, Load, importable_main

__all__ = ["GRACE_SECONDS", "UNGUARDED", "Member", "check", "disown", "end", "start"]

# The exit code of a worker in which the main script, imported anew, wanted to start workers itself.
UNGUARDED = 87

# So long an idle worker may take to end, and an ended one to be known as such.
GRACE_SECONDS = 5.0

_NAME = "dsrt-worker"


@dataclass(eq=False)
class Member:
    """A worker, as its parent sees it."""

    process: process.BaseProcess
    channel: Channel
    life: Connection
    ready: bool = False
    outstanding: deque[int] = field(default_factory=deque)


def check() -> None:
    """Refuse to start workers where that cannot work.

    Raises:
        RuntimeError: This process is only importing a main script, or is a daemonic process itself.
    """
    current = process.current_process()
    if getattr(current, "_inheriting", False):
        if current.name == _NAME:
            # The parent says what is wrong, once; a traceback from every worker would bury it.
            for stream in (sys.stdout, sys.stderr):
                with contextlib.suppress(OSError, ValueError, AttributeError):
                    stream.flush()
            os._exit(UNGUARDED)
        raise RuntimeError(f"the main script starts worker processes while it is imported. {ADVICE}")
    if current.daemon:
        raise RuntimeError("a daemonic process, such as a worker process, cannot have worker processes")


def start(load: Load, start_method: str, register: Callable[[Member], None]) -> None:
    """Start a worker, and register it just before, so that a fork closes what is the parent's alone."""
    context = multiprocessing.get_context(start_method)
    here, there = context.Pipe()
    watched, life = context.Pipe(duplex=False)
    child: process.BaseProcess = getattr(context, "Process")(  # noqa: B009  # each context has it, their base has not
        target=_worker.main, args=(there, watched, load), name=_NAME, daemon=True
    )
    register(Member(child, Channel(here), life))
    try:
        if start_method == "forkserver":
            _preload()
            with importable_main():
                child.start()
        else:
            with _without_interrupts(), importable_main():
                child.start()
    except (EOFError, OSError) as error:
        raise WorkerError(f"a worker process could not be started: {error!r}. {ADVICE}") from error
    finally:
        there.close()
        watched.close()


def _preload() -> None:
    """Have the fork server import our modules once, so that workers begin with them and share their pages.

    The server belongs to the whole program. A list of the user's is kept and ours added at its end: a module
    that this process has imported anyway. A server that runs already stays as it is. multiprocessing has no
    public way to add to its list; if it is not where it was, each worker imports the module itself.
    """
    server = getattr(multiprocessing.forkserver, "_forkserver", None)
    modules = getattr(server, "_preload_modules", None)
    if isinstance(modules, list) and _worker.__name__ not in modules:
        multiprocessing.set_forkserver_preload([*modules, _worker.__name__])


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    # A child inherits the mask, so that Ctrl-C cannot hit it before it ignores it. Not with a fork server:
    # that, and all that the user starts through it, would inherit it as well.
    resource_tracker.ensure_running()  # which would lift the mask if it began later
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def end(members: list[Member]) -> None:
    """End workers and wait until they have: idle ones by closing their connection, others by a signal."""
    for member in members:
        member.channel.close()
        if member.process.pid is not None and (member.outstanding or not member.ready):
            member.process.terminate()
    for member in members:
        if member.process.pid is not None:
            member.process.join(GRACE_SECONDS)
            if member.process.exitcode is None:
                member.process.kill()
                member.process.join()
            with contextlib.suppress(ValueError):
                # Where somebody else has waited for our child, nobody can say any more that it has ended.
                member.process.close()
        member.life.close()
    members.clear()


def disown(members: list[Member]) -> None:
    """In a forked child: close what is the parent's alone, so that its end can be seen."""
    for member in members:
        member.channel.connection.close()
        member.life.close()
    members.clear()
