"""Messages between two processes: a few bytes over a socket, large payload in recycled memory.

Objects are pickled with protocol 5. What is small travels in the message itself. Otherwise the pickle and the
buffers that it left out of band, such as the data of arrays, are laid into a slot (see `_slots`):

    uint64 [number of buffers + 1]    length of the pickle, then of each buffer
    pickle
    each buffer, at a multiple of 64 bytes

and the receiver's arrays are views of it. So a message is at most about `_INLINE` bytes on the socket, a few
of them always fit into it, and no side can block the other by sending.
"""

import os
import pickle
from array import array
from collections.abc import Callable
from multiprocessing import reduction
from multiprocessing.connection import Connection
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from dsrt_native._slots import Inbox, Outbox

__all__ = ["Channel", "Message", "Packed"]

Kind: TypeAlias = Literal["ready", "unready", "request", "reply", "error"]

_INLINE = 2**13
_OUT_OF_BAND = 2**12
_ALIGN = 64


class Packed:
    """An object, pickled; the buffers still lie where they were, so it must not change until it is sent."""

    def __init__(self, value: Any) -> None:
        self.buffers: list[memoryview] = []
        self.stream: list[Any] = []
        # The pickler hands over large bytes as they are, so that they are copied once, into the slot.
        _Pickler(self, self._out_of_band).dump(value)

    def write(self, chunk: Any) -> None:
        """Take a piece of the stream from the pickler."""
        self.stream.append(chunk)

    def _out_of_band(self, buffer: pickle.PickleBuffer) -> bool:
        raw = buffer.raw()
        if raw.nbytes < _OUT_OF_BAND:
            return True
        self.buffers.append(raw)
        return False


class _Pickler(pickle.Pickler):
    def __init__(self, file: Packed, buffer_callback: Callable[[pickle.PickleBuffer], bool]) -> None:
        super().__init__(file, 5, buffer_callback=buffer_callback)

    def reducer_override(self, value: Any) -> Any:
        """Take every large array out of band; NumPy does not for strided, bfloat16 and datetime64 ones."""
        if type(value) is not np.ndarray or value.nbytes < _OUT_OF_BAND or value.dtype.hasobject:
            return NotImplemented
        fortran = value.flags.f_contiguous and not value.flags.c_contiguous
        flat = (value.T if fortran else np.ascontiguousarray(value)).reshape(-1)
        data = pickle.PickleBuffer(flat.view(np.uint8).data)
        return _array, (data, value.dtype, value.shape, "CF"[fortran])


def _array(data: Any, dtype: np.dtype[Any], shape: tuple[int, ...], order: Literal["C", "F"]) -> Any:
    return np.ndarray(shape, dtype, data, order=order)


class Message(NamedTuple):
    """What has arrived and was not looked at yet."""

    kind: Kind
    ordinal: int | None
    inline: bytes | None
    slot: int
    size: int
    parts: int


class Channel:
    """One end of the connection of two processes."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._outbox = Outbox()
        self._inbox = Inbox()

    def send(self, kind: Kind, ordinal: int | None, packed: Packed) -> None:
        """Send an object. If there is no memory for it, an OSError says so, and nothing was sent."""
        lengths = array("Q", [sum(map(len, packed.stream)), *(len(part) for part in packed.buffers)])
        table = lengths.itemsize * len(lengths)
        size = table + lengths[0]
        inline, slot, descriptor = None, 0, None
        if size <= _INLINE and not packed.buffers:
            inline = b"".join(packed.stream)
        else:
            starts = []
            for part in packed.buffers:
                starts.append(_aligned(size))
                size = starts[-1] + len(part)
            slot, memory, descriptor = self._outbox.take(size)
            memory[:table] = lengths.tobytes()
            at = table
            for chunk in packed.stream:
                memory[at : at + len(chunk)] = chunk
                at += len(chunk)
            for start, part in zip(starts, packed.buffers, strict=True):
                memory[start : start + len(part)] = part
        message = Message(kind, ordinal, inline, slot, size, len(lengths))
        news = (descriptor is not None, self._outbox.dropped(), self._inbox.returned())
        try:
            self.connection.send_bytes(pickle.dumps((message, *news)))
            if descriptor is not None:
                reduction.send_handle(self.connection, descriptor, 0)
        finally:
            if descriptor is not None:
                os.close(descriptor)

    def receive(self) -> Message:
        """Return the next message; wait for it.

        Raises:
            EOFError: The other side is gone; or an OSError.
        """
        message, fresh, dropped, returned = pickle.loads(self.connection.recv_bytes())
        self._inbox.forget(dropped)
        if fresh:
            self._inbox.add(message.slot, reduction.recv_handle(self.connection))
        self._outbox.release(returned)
        return message  # type: ignore[no-any-return]  # it is what `send` pickled

    def open(self, message: Message) -> Any:
        """Return the object of a message. Its arrays are views of the slot, which returns when they die."""
        if message.inline is not None:
            return pickle.loads(message.inline)
        view = self._inbox.view(message.slot, message.size)
        table = 8 * message.parts
        stream, *lengths = view[:table].cast("Q").tolist()
        buffers, at = [], table + stream
        for length in lengths:
            at = _aligned(at)
            buffers.append(view[at : at + length])
            at += length
        return pickle.loads(view[table : table + stream], buffers=buffers)

    def drop(self, message: Message) -> None:
        """Let the object of a message go, unseen."""
        if message.inline is None:
            self._inbox.release(message.slot)

    def close(self) -> None:
        """Close the connection; what was opened stays valid."""
        self.connection.close()
        self._outbox.close()


def _aligned(offset: int) -> int:
    return -(-offset // _ALIGN) * _ALIGN
