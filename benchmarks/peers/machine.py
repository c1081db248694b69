"""The machine itself: records out of one mapped file into buffers that are used again. A yardstick."""

import mmap
import os
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.limits import LIBZSTD, Decoder, NoLimits, Pages, Records, streaming
from benchmarks.loops import Permutations
from benchmarks.peer import About, Array, Cannot, Numbers, Transform
from benchmarks.workload import LEVEL, Batch, Joined, Packed, Workload

ABOUT = About(
    "zstandard",
    "compiled C: records copied out of the mapped file by stores that bypass the caches, or by memcpy, or "
    "decoded by libzstd, python-zstandard's or the system's, with one context a thread and the dictionary "
    "prepared once; the buffer is used again, in huge pages if the machine grants them; the loop is that in "
    "threads, a batch in one; cold files with each advice to the kernel; no checksums",
    "one file of all records on one thread, raw batches each by one `file.write`, zstd frames one by one by "
    "python-zstandard; where they lie is kept beside it",
)

LENDS = True
"""Its batches are lent for a while, which no system can do that gives them away."""

AT_ONCE = 1 << 20  # bytes that a call of the loop fills in, or one batch

COPIES = "bypass", "memcpy"
_ADVICE = {"none": mmap.MADV_NORMAL, "random": mmap.MADV_RANDOM, "sequential": mmap.MADV_SEQUENTIAL}
_THREADS = [{"threads": threads} for threads in dict.fromkeys((1, len(os.sched_getaffinity(0))))]
SWEEP: dict[str, list[dict[str, Any]]] = {
    "open": [{"way": way} for way in (*COPIES, *LIBZSTD)],
    "cold": [{"advice": advice} for advice in _ADVICE],
    "loop": _THREADS,
    "workers": _THREADS,
}


def write(workload: Workload, samples: Iterable[npt.NDArray[np.generic]], folder: Path) -> None:
    """Records back to back, as they are or each as a frame."""
    sizes = []
    frame = _compressor(workload, folder / "dictionary")
    with (folder / "records").open("wb") as file:
        for sample in samples:
            sizes.append(file.write(frame.compress(sample.tobytes()) if frame else sample.data))
    np.save(folder / "sizes.npy", np.array(sizes, np.int64))


def write_batches(workload: Workload, batches: Iterable[Joined], folder: Path) -> None:
    """The same file."""
    if workload.codec != "raw":
        write(workload, chain.from_iterable(batches), folder)
        return
    with (folder / "records").open("wb") as file:
        for batch in batches:
            file.write(batch.values.data if isinstance(batch, Packed) else batch.data)
    np.save(folder / "sizes.npy", np.diff(workload.offsets) * np.dtype(workload.dtype).itemsize)


def _compressor(workload: Workload, dictionary: Path) -> Any:
    if workload.codec == "raw":
        return None
    from zstandard import ZstdCompressionDict, ZstdCompressor

    if workload.codec == "zstd":
        return ZstdCompressor(LEVEL)
    dictionary.write_bytes(workload.dictionary)
    return ZstdCompressor(LEVEL, ZstdCompressionDict(workload.dictionary), write_dict_id=False)


def _records(workload: Workload, folder: Path, advice: str) -> Records:
    with (folder / "records").open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    mapped.madvise(_ADVICE[advice])
    sizes = np.load(folder / "sizes.npy")
    item = np.dtype(workload.dtype).itemsize
    lengths = np.diff(workload.offsets) * item
    return Records(np.frombuffer(mapped, np.uint8), np.cumsum(sizes) - sizes, sizes, lengths, item)


class Handle:
    """An open file."""

    def __init__(self, workload: Workload, folder: Path, way: str, advice: str) -> None:
        if (way in LIBZSTD) == (workload.codec == "raw"):
            raise Cannot("nothing to decode" if workload.codec == "raw" else "a copy is no decoding")
        self.workload, self.way = workload, way
        self.records = _records(workload, folder, advice)
        self.dictionary = (folder / "dictionary").read_bytes() if workload.codec == "zstd-dict" else None
        try:
            if way == "bypass":
                streaming()
            self.desk = Desk(self, workload.batch)
            self.desk.fill(np.zeros(1, np.int64))
        except NoLimits as reason:
            raise Cannot(str(reason)) from None

    def together(self, batch: int) -> int:
        """Samples for a call: some batches, if they are small, so that the calls cost nothing."""
        return batch * max(1, min(AT_ONCE // (batch * self.records.longest), self.workload.samples // batch))

    def touch(self) -> None:
        """Map every page of the file before anything is timed."""
        file, *_ = self.records.arrays
        file[:: mmap.PAGESIZE].max()


class Desk:
    """A buffer for so many samples, and what fills it: of one thread at a time."""

    def __init__(self, handle: Handle, count: int) -> None:
        self.records, self.workload, self.way = handle.records, handle.workload, handle.way
        self.pages = Pages(handle.records, count)
        self.decoder = Decoder(handle.way, handle.dictionary) if handle.way in LIBZSTD else None

    def fill(self, numbers: Numbers) -> "Desk":
        """One call."""
        if self.decoder:
            self.records.decode(numbers, self.pages, self.decoder)
        else:
            self.records.copy(numbers, self.pages, bypass=self.way == "bypass")
        return self

    def batch(self, numbers: Numbers, first: int = 0) -> Batch:
        """Of what was filled in, the samples from `first` on, which have these numbers."""
        workload, ends = self.workload, self.pages.ends[first : first + len(numbers) + 1]
        values = self.pages.bytes.view(workload.dtype)[ends[0] : ends[-1]]
        if not workload.ragged:
            return values.reshape(-1, *workload.shape)
        shapes = workload.shapes[numbers] if workload.ndim > 1 else None
        packed = Packed(values, ends - ends[0] if first else ends, shapes)
        return packed if workload.form == "packed" else list(packed)


def open(workload: Workload, folder: Path, *, way: str | None = None, advice: str = "none") -> Handle:
    """Map the file."""
    return Handle(workload, folder, way or ("memcpy" if workload.codec == "raw" else LIBZSTD[0]), advice)


def gather(handle: Handle, numbers: Numbers) -> Batch:
    """At most so many samples as the workload's batches have, in this thread."""
    return handle.desk.fill(numbers).batch(numbers)


def loop(
    handle: Handle, batch: int, *, seed: int, transform: Transform | None = None, threads: int = 1
) -> Iterator[Batch]:
    """Permutations."""
    workload, together = handle.workload, handle.together(batch)
    desks = deque(Desk(handle, together) for _ in range(2 * threads + 1))
    with ThreadPoolExecutor(threads) as pool:
        ahead: deque[tuple[Numbers, Future[Desk]]] = deque()
        for numbers in Permutations(workload.samples, together, seed):
            ahead.append((numbers, pool.submit(desks[0].fill, numbers)))
            # The last of them is the one that the consumer still has.
            desks.rotate(-1)
            if len(ahead) < 2 * threads:
                continue
            numbers, filling = ahead.popleft()
            filled = filling.result()
            for first in range(0, together, batch):
                lent = filled.batch(numbers[first : first + batch], first)
                yield transform(lent) if transform else lent


def samples(handle: Handle, *, seed: int, shuffled: bool) -> Iterator[Array]:
    """Rows of what a call has filled in, pass after pass."""
    count, rng = handle.workload.samples, np.random.default_rng(seed)
    together = handle.together(handle.workload.batch)
    desk = Desk(handle, together)
    while True:
        order = rng.permutation(count) if shuffled else np.arange(count)
        for first in range(0, count, together):
            numbers = order[first : first + together]
            yield from desk.fill(numbers).batch(numbers)
