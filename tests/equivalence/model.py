"""The stream of a loader as docs/spec/order.md tells it in plain words: the oracle of the state machine.

Knows positions only; rows come from `dsrt_format.reference.rows`, steps from `dsrt_format.reference.plan`.
"""

from dataclasses import dataclass, field
from typing import Literal

from dsrt_format import reference


class Superseded(Exception):
    """The pass has ended because something else began."""


@dataclass
class Pass:
    """One `for` over the loader, or one `steps(n)`; it begins at its first step."""

    steps: bool
    limit: int | None = None
    begun: bool = False
    exhausted: bool = False


@dataclass
class Stream:
    """Position, window and passes of a loader with a global batch of `G`."""

    epoch_len: int
    G: int
    last: Literal["drop", "pad", "short"]
    position: int = 0
    window: int = 0
    first: bool = True
    moved_at_rest: bool = True  # nothing was handed out since a seek or a load
    running: Pass | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return self.epoch_len // self.G if self.last == "drop" else -(-self.epoch_len // self.G)

    @property
    def epoch(self) -> int:
        return self.position // self.epoch_len

    def seek(self, position: int) -> None:
        self.position, self.first, self.running, self.moved_at_rest = position, True, None, True

    def set_epoch(self, epoch: int) -> None:
        if self.moved_at_rest and self.epoch == epoch:
            return
        self.position, self.first, self.running = epoch * self.epoch_len, True, None

    def close(self) -> None:
        self.running = None

    def _begin(self, one: Pass) -> None:
        one.begun, self.running = True, one
        if one.steps:
            self.first = True
            return
        if self.first:
            self.window = self.epoch
            end = (self.window + 1) * self.epoch_len
            if self.last == "drop" and end - self.position < self.G:
                self.position = end
        else:
            self.window += 1
            self.position = self.window * self.epoch_len
        self.first = False

    def next(self, one: Pass) -> list[tuple[int, bool]]:
        """Return (position, valid) of every element over all ranks; StopIteration or Superseded at an end."""
        if one.exhausted:
            raise StopIteration
        if not one.begun:
            self._begin(one)
        if self.running is not one:
            raise Superseded
        if one.steps:
            if one.limit == 0:
                one.exhausted, self.running = True, None
                raise StopIteration
            if one.limit is not None:
                one.limit -= 1
            step = [(p, True) for p in range(self.position, self.position + self.G)]
            self.position += self.G
        else:
            if self.position >= (self.window + 1) * self.epoch_len:
                one.exhausted, self.running = True, None
                raise StopIteration
            step, self.position = reference.plan(self.position, self.epoch_len, self.G, self.last)
        self.moved_at_rest = False
        return step
