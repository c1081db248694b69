"""Sources of the tests; a module of its own, so that worker processes can import it."""

import mmap
import os
import signal
import time
from array import array
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dsrt_format import Bytes, Dense, Ragged, Text


class Squares:
    """Samples with random access, every kind of field, and a note of each call where one is wished."""

    fields: ClassVar = {
        "x": Dense("int64"),
        "a": Ragged("int32", codec="zstd"),
        "b": Bytes(),
        "t": Text(codec="zstd"),
    }
    metadata: ClassVar = {"half": "int32", "word": "string"}

    def __init__(
        self,
        count: int,
        *,
        name: str = "squares",
        fingerprint: str | None = None,
        samples_per_shard: int | None = None,
        calls: Path | None = None,
    ) -> None:
        self.count = count
        self.name = name
        self.fingerprint = fingerprint
        self.samples_per_shard = samples_per_shard
        self.calls = calls

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, i: int) -> dict[str, Any]:
        if self.calls is not None:
            with self.calls.open("a") as file:
                file.write(f"{i} {os.getpid()}\n")
        return {
            "x": i * i,
            "a": np.arange(i % 50, dtype=np.int32),
            "b": bytes([i % 256]) * (i % 7),
            "t": f"{i} squared",
            "half": None if i % 5 == 0 else i // 2,
            "word": f"word {i}",
        }


class Failing(Squares):
    """Raises something at one sample."""

    error: BaseException = LookupError("no such file")

    def __getitem__(self, i: int) -> dict[str, Any]:
        if i == self.count - 1:
            raise self.error
        return super().__getitem__(i)


class Misfit(Squares):
    """Its last sample does not fit."""

    def __getitem__(self, i: int) -> dict[str, Any]:
        return super().__getitem__(i) | ({"half": "a half"} if i == self.count - 1 else {})


class Leaving(Squares):
    """Ends its process at its last sample."""

    def __getitem__(self, i: int) -> dict[str, Any]:
        if i == self.count - 1:
            os._exit(9)
        return super().__getitem__(i)


class LeavingLate(Squares):
    """Ends its process at its last sample, once four shards are in the journal."""

    def __init__(self, count: int, *, root: Path, **arguments: Any) -> None:
        super().__init__(count, **arguments)
        self.journal = root / f".{self.name}.building" / "journal"

    def __getitem__(self, i: int) -> dict[str, Any]:
        if i == self.count - 1:
            while self.journal.read_bytes().count(b"\n") < 5:
                time.sleep(0.005)
            os._exit(9)
        return super().__getitem__(i)


class Killed(Squares):
    """Is killed at its last sample."""

    def __getitem__(self, i: int) -> dict[str, Any]:
        if i == self.count - 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__getitem__(i)


class Slow(Squares):
    """Takes three fifths of what a worker is given at a time."""

    def __getitem__(self, i: int) -> dict[str, Any]:
        time.sleep(0.03)
        return super().__getitem__(i)


class Reusing:
    """Fills the same arrays for every sample, and gives views of them."""

    name = "reusing"
    fields: ClassVar = {
        "a": Dense("float64", (3,)),
        "m": Ragged("uint8"),
        "b": Bytes(),
        "v": Ragged("int16"),
        "w": Dense("int64", (2,)),
        "c": Bytes(),
    }
    metadata: ClassVar = {}

    def __init__(self) -> None:
        self.array = np.zeros(3)
        self.bytes = bytearray(5)
        self.words = array("q", [0, 0])
        self.sample: dict[str, Any] = {}

    def __len__(self) -> int:
        return 300

    def __getitem__(self, i: int) -> dict[str, Any]:
        self.array[:] = i
        self.bytes[:] = bytes([i % 256]) * 5
        self.words[:] = array("q", [i, -i])
        letters = mmap.mmap(-1, 2)
        letters[:] = bytes([i % 256, 0])
        view = memoryview(self.bytes)
        shorts = memoryview(np.array([i, 0, -i], np.int16))[::2]
        self.sample.update(a=self.array, m=view[:3], b=self.bytes, v=shorts, w=self.words, c=letters)
        return self.sample


class Large:
    """Samples of 1 MiB."""

    name = "large"
    fields: ClassVar = {"a": Dense("uint8", (1 << 20,))}
    metadata: ClassVar = {}

    def __len__(self) -> int:
        return 60

    def __getitem__(self, i: int) -> dict[str, Any]:
        return {"a": np.full(1 << 20, i, np.uint8)}


class Growing:
    """Samples of a few bytes, and at the end of 1 MiB."""

    name = "growing"
    fields: ClassVar = {"x": Dense("int64"), "a": Ragged("uint8", codec="zstd")}
    metadata: ClassVar = {}

    def __len__(self) -> int:
        return 3100

    def __getitem__(self, i: int) -> dict[str, Any]:
        return {"x": i, "a": np.full(1 << 20 if i >= 3000 else 3, i % 256, np.uint8)}


class Text1(Squares):
    """Samples that are no dicts."""

    def __getitem__(self, i: int) -> Any:
        return f"sample {i}"


class Yielding(Squares):
    """Samples that are generators, by mistake."""

    def __getitem__(self, i: int) -> Any:
        yield super().__getitem__(i)


class Functions(Squares):
    """The last sample has a value that cannot be pickled."""

    def __getitem__(self, i: int) -> dict[str, Any]:
        return super().__getitem__(i) | ({"word": lambda: i} if i == self.count - 1 else {})
