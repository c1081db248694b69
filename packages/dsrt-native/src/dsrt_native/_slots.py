"""Memory that one process fills and another one reads, filled again when nobody looks at it any more.

A slot is anonymous memory: of ``memfd_create``, or an unlinked temporary file where the system has none.
Neither leaves a name behind, whatever kills whom. Its descriptor travels once; afterwards only its number
does. The side that writes owns an `Outbox`, the side that reads an `Inbox`. A slot returns to its outbox when
the last view of it on the other side has died, and its pages, once touched, are touched again without a
fault, which is most of the time that fresh memory takes.
"""

import mmap
import os
import tempfile
import weakref
from collections import deque
from dataclasses import dataclass

import numpy as np

__all__ = ["Inbox", "Outbox"]

_SMALLEST = 2**16

# A slot that was not wanted for so many messages is given back to the system.
_IDLE_MESSAGES = 32

# A message may use a slot of up to so many times its size; a giant must be able to become idle.
_ROOMY = 4

# Views of so many slots may live at once, each with a descriptor. Readers that keep more get copies.
_MOST_LEASES = 16


@dataclass
class _Slot:
    memory: mmap.mmap
    used: int

    @property
    def size(self) -> int:
        return len(self.memory)


class Outbox:
    """The slots that this process fills."""

    def __init__(self) -> None:
        self._slots: dict[int, _Slot] = {}
        self._free: set[int] = set()
        self._dropped: list[int] = []
        self._numbers = 0
        self._messages = 0

    def take(self, size: int) -> tuple[int, mmap.mmap, int | None]:
        """Return a free slot of at least `size` bytes.

        Returns:
            Its number, its memory, and its descriptor if it is new, for the caller to send and to close.
        """
        room = max(_ROOMY * size, _SMALLEST)
        fitting = [n for n in self._free if size <= self._slots[n].size <= room]
        descriptor = None
        if fitting:
            number = min(fitting, key=lambda n: self._slots[n].size)
        else:
            number, descriptor = self._create(size)
            # It replaces one that is too small, so that growing messages do not leave a trail of slots.
            small = [n for n in self._free if self._slots[n].size < size]
            if small:
                self._drop(max(small, key=lambda n: self._slots[n].size))
        self._free.discard(number)
        slot = self._slots[number]
        slot.used = self._messages
        return number, slot.memory, descriptor

    def dropped(self) -> list[int]:
        """Drop what has lain idle; return, once a message, the numbers of slots that exist no longer."""
        self._messages += 1
        for number in [n for n in self._free if self._messages - self._slots[n].used > _IDLE_MESSAGES]:
            self._drop(number)
        numbers, self._dropped = self._dropped, []
        return numbers

    def release(self, numbers: list[int]) -> None:
        """Take back slots that the other side no longer looks at."""
        self._free.update(numbers)

    def close(self) -> None:
        """Give up all slots; what the other side has of them stays its own."""
        for slot in self._slots.values():
            slot.memory.close()
        self._slots.clear()
        self._free.clear()

    def _drop(self, number: int) -> None:
        self._free.discard(number)
        self._slots.pop(number).memory.close()
        self._dropped.append(number)

    def _create(self, size: int) -> tuple[int, int]:
        # Powers of two settle soon where sizes vary. Pages that are never touched cost nothing.
        whole = max(_SMALLEST, 1 << (size - 1).bit_length())
        descriptor = _anonymous(whole)
        try:
            memory = mmap.mmap(descriptor, whole)
        except BaseException:
            os.close(descriptor)
            raise
        self._numbers += 1
        self._slots[self._numbers] = _Slot(memory, self._messages)
        return self._numbers, descriptor


def _anonymous(size: int) -> int:
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("dsrt", os.MFD_CLOEXEC)
        os.ftruncate(descriptor, size)
        return descriptor
    with tempfile.TemporaryFile(buffering=0) as file:
        # A full disk is an error here and not SIGBUS at the first touch.
        os.posix_fallocate(file.fileno(), 0, size)
        return os.dup(file.fileno())


class Inbox:
    """The slots of the other process that this one reads."""

    def __init__(self) -> None:
        self._memory: dict[int, mmap.mmap] = {}
        self._leased: set[int] = set()
        # Filled by finalizers, which run at any time and in any thread: appending is all they may do.
        self._unseen: deque[int] = deque()
        self._returned: list[int] = []

    def add(self, number: int, descriptor: int) -> None:
        """Map a slot of which the descriptor has arrived; the descriptor is closed."""
        try:
            self._memory[number] = mmap.mmap(descriptor, os.fstat(descriptor).st_size)
        finally:
            os.close(descriptor)

    def forget(self, numbers: list[int]) -> None:
        """Unmap slots that exist no longer."""
        for number in numbers:
            del self._memory[number]

    def view(self, number: int, size: int) -> memoryview:
        """Return the first `size` bytes of a slot, writable. It returns when no view of them is left."""
        self._settle()
        memory = self._memory[number]
        if len(self._leased) >= _MOST_LEASES:
            copy = np.empty(size, np.uint8)
            copy[:] = np.frombuffer(memory, np.uint8, size)
            self.release(number)
            return copy.data
        # Arrays made of slices of the memoryview keep it, and so this array, alive; and unlike a memoryview
        # an array can be watched.
        lease = np.frombuffer(memory, np.uint8, size)
        weakref.finalize(lease, self._unseen.append, number).atexit = False
        self._leased.add(number)
        return lease.data

    def release(self, number: int) -> None:
        """Return a slot unread."""
        self._returned.append(number)

    def returned(self) -> list[int]:
        """Return, once, the numbers of the slots that may be filled again."""
        self._settle()
        numbers, self._returned = self._returned, []
        return numbers

    def _settle(self) -> None:
        while self._unseen:
            number = self._unseen.popleft()
            self._leased.discard(number)
            self._returned.append(number)
