"""Worker processes that compute replies to requests.

The parent decides what is computed and in which order it is used; workers hold a task and nothing else. One
`Pool` serves preprocessing and loading alike, and knows nothing about either.

*Order.* Requests are numbered. Each goes to the worker that has the fewest, at most two at a time: one that
it computes, and one that lies ready in the socket when it has finished. `take` returns replies by number,
whatever finishes first. What is submitted and not yet taken is bounded, and so is memory.

*Transport.* Between parent and worker are a socket pair, on which messages of a few kilobytes travel, and
recycled anonymous memory for everything larger, whose descriptor is sent once (see `_channel` and `_slots`).
Arrays of a reply are views of that memory, and the worker fills it again when the last of them has died.
There is nothing in /dev/shm, no semaphore and no thread.

*Death.* A worker that ends closes its socket and makes its sentinel ready, so that the parent, which waits
for both, knows at once, and the operating system has the exit code or the signal. The parent that ends,
however it ends, closes the writing end of a pipe that it alone holds; the worker has asked the kernel to be
killed then, so that it need not come back from its task to notice (see `_worker`). A process that is forked
from the parent closes its copies of these ends. Ctrl-C reaches the whole group; workers leave it to the
parent.

*Failure.* An exception of the task is the reply to one request, and the next one is served. A worker's death
is the end of the pool: whoever owns it can make another and submit from where they are.
"""

import multiprocessing.util
import os
import weakref
from collections.abc import Iterable, Iterator
from multiprocessing.connection import wait
from types import TracebackType
from typing import Any, Literal, NoReturn, Self, get_args

from dsrt_format import WorkerError
from dsrt_native._channel import Message, Packed
from dsrt_native._death import death
from dsrt_native._failure import rebuilt
from dsrt_native._processes import Member, check, disown, end, start
from dsrt_native._task import ADVICE, Task, loading
from dsrt_native.arguments import callback, whole, word

__all__ = ["DEPTH", "Pool", "StartMethod"]

StartMethod = Literal["forkserver", "spawn", "fork"]

DEPTH = 2

_pools: "weakref.WeakSet[Pool]" = weakref.WeakSet()


def _disown_all() -> None:
    for pool in list(_pools):
        disown(pool._members)


os.register_at_fork(after_in_child=_disown_all)


class Pool:
    """Processes that compute ``task(request)``. To be used by one thread, in the process that made it.

    Args:
        task: Pickled once and sent to every worker, unless they are forked.
        workers: The number of processes. They are started at once and not waited for.
        start_method: As in multiprocessing, and with its rules for the main script: ``"forkserver"``,
            ``"spawn"``, or ``"fork"``, which takes any function but is dangerous when there are threads.

    Raises:
        TypeError: The task cannot be sent; nothing was started.
        RuntimeError: Workers cannot be started here.
        WorkerError: Processes could not be started.
    """

    def __init__(self, task: Task, workers: int, *, start_method: StartMethod = "forkserver") -> None:
        word("start_method", start_method, get_args(StartMethod))
        count = whole("workers", workers, 1, 4096)
        check()
        load = loading(callback("task", task), start_method)
        self._pid = os.getpid()
        self._capacity = count * DEPTH
        self._submitted = 0
        self._taken = 0
        self._arrived: dict[int, tuple[Member, Message]] = {}
        self._members: list[Member] = []
        self._failed: WorkerError | None = None
        _pools.add(self)
        # Unlike atexit and weakref, before multiprocessing waits for its processes; and in this process only.
        self._end = multiprocessing.util.Finalize(self, end, (self._members,), exitpriority=10)
        try:
            for _ in range(count):
                start(load, start_method, self._members.append)
        except BaseException:
            self.close()
            raise

    @property
    def free(self) -> int:
        """How many more requests may be submitted before the next reply is taken."""
        return self._capacity - (self._submitted - self._taken)

    def submit(self, request: Any) -> None:
        """Hand a request to the least busy worker. It may change once this returns.

        That waits only where workers are still busy with requests that were discarded.

        Raises:
            TypeError: The request cannot be pickled; or whatever pickling raises. Nothing was submitted.
            RuntimeError: There is no room, see `free`; or the pool is closed.
            WorkerError: A worker has died.
        """
        self._check()
        if self.free == 0:
            raise RuntimeError(f"{self._capacity} requests are outstanding; take a reply first")
        packed = Packed(request)
        while len((member := min(self._members, key=lambda m: len(m.outstanding))).outstanding) >= DEPTH:
            self._wait()
        try:
            member.channel.send("request", self._submitted, packed)
            member.outstanding.append(self._submitted)
            self._submitted += 1
        except ConnectionError:
            self._hear_out(member)
        except BaseException:
            self.close()
            raise

    def take(self) -> Any:
        """Return the reply to the earliest request that was not taken yet; wait for it.

        Arrays are writable, and are the caller's for good. (One that was read-only in the worker is so here.)

        Raises:
            Exception: What the task raised, with the worker's traceback in a note. The pool goes on. It is a
                RuntimeError where the exception cannot be pickled, or is no `Exception`, or a StopIteration.
            WorkerError: A worker has died, be it this request's or another's; the error names the request
                that it was computing. The pool is closed.
            RuntimeError: Nothing is outstanding, or the pool is closed.
        """
        self._check()
        if self._taken == self._submitted:
            raise RuntimeError("no request is outstanding; submit one first")
        while self._taken not in self._arrived:
            self._wait()
        member, message = self._arrived.pop(self._taken)
        self._taken += 1
        reply = member.channel.open(message)
        if message.kind == "error":
            raise rebuilt(*reply)
        return reply

    def map(self, requests: Iterable[Any]) -> Iterator[Any]:
        """Yield the replies to requests in their order, and draw requests only as there is room for them."""
        waiting = self._submitted - self._taken
        if waiting:
            raise RuntimeError(f"{waiting} requests are outstanding; take or discard them first")
        for request in requests:
            if self.free == 0:
                yield self.take()
            self.submit(request)
        while self._taken < self._submitted:
            yield self.take()

    def discard(self) -> None:
        """Forget the requests that are outstanding. What is being computed is finished and thrown away."""
        self._check()
        self._taken = self._submitted
        for member, message in self._arrived.values():
            member.channel.drop(message)
        self._arrived.clear()

    def close(self) -> None:
        """End the workers. Arrays that were taken stay valid."""
        if os.getpid() == self._pid:
            self._arrived.clear()
            self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _check(self) -> None:
        if os.getpid() != self._pid:
            raise RuntimeError(f"this pool belongs to process {self._pid}; make one in this process")
        if self._failed is not None:
            raise self._failed
        if not self._members:
            raise RuntimeError("the pool is closed")

    def _wait(self) -> None:
        """Wait until something arrives, and take it in."""
        connections = {member.channel.connection: member for member in self._members}
        sentinels = {member.process.sentinel: member for member in self._members}
        ready = wait([*connections, *sentinels])
        spoke = {connections[one] for one in ready if one in connections}
        for member in spoke:
            try:
                self._arrive(member, member.channel.receive())
            except (EOFError, ConnectionError):
                self._fail(death(member))
            except BaseException:
                # Ctrl-C in the middle of a message: what follows could not be told apart, or a reply that has
                # come would be waited for.
                self.close()
                raise
        for one in ready:
            # What a worker said before it died is heard first.
            if one in sentinels and sentinels[one] not in spoke:
                self._fail(death(sentinels[one]))

    def _hear_out(self, member: Member) -> NoReturn:
        """Fail by the death of a worker that takes no more requests; what it said before tells when."""
        try:
            while member.channel.connection.poll():
                self._arrive(member, member.channel.receive())
        except (EOFError, ConnectionError):
            pass
        self._fail(death(member))

    def _arrive(self, member: Member, message: Message) -> None:
        if message.kind == "ready":
            member.ready = True
        elif message.kind == "unready":
            cause = rebuilt(*member.channel.open(message))
            self._fail(WorkerError(f"a worker process cannot load the task: {cause}. {ADVICE}"), cause)
        else:
            ordinal = member.outstanding.popleft()
            if ordinal < self._taken:
                member.channel.drop(message)
            else:
                self._arrived[ordinal] = member, message

    def _fail(self, error: WorkerError, cause: BaseException | None = None) -> NoReturn:
        self._failed = error
        self.close()
        raise error from cause
