"""For systems that give samples to torch's DataLoader: bytes or, where shapes differ, arrays, as a batch."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from benchmarks import loops, records
from benchmarks.peer import Transform
from benchmarks.workload import Batch, Workload

_WAIT = 0.5
"""Seconds for each worker to end by itself; those of litdata do not. Torch's own are five."""


def joined(workload: Workload, contents: Sequence[Any]) -> Batch:
    """The batch of these samples."""
    shapes = None
    if isinstance(contents[0], np.ndarray):
        shapes = np.array([content.shape for content in contents], np.int64)
        contents = [content.reshape(-1).view(np.uint8) for content in contents]
    return records.joined(workload, contents, shapes)


def sent(
    workload: Workload, transform: Transform | None, content: Callable[[Any], Any], samples: list[Any]
) -> Any:
    """What a worker makes of the samples of a batch; `content` takes each out of what the system gives."""
    # A list of arrays travels in one piece.
    batch = joined(replace(workload, form="packed"), [content(sample) for sample in samples])
    return loops.tensors(batch if transform is None else transform(batch))


def epochs(
    loader: Callable[..., Any],
    dataset: Any,
    workload: Workload,
    batch: int,
    *,
    content: Callable[[Any], Any],
    transform: Transform | None,
    workers: int,
) -> Iterator[Batch]:
    """Epoch after epoch of a class that is like torch's DataLoader."""
    from torch.utils.data import _utils

    _utils.MP_STATUS_CHECK_INTERVAL = _WAIT
    loaded = loader(
        dataset,
        batch_size=batch,
        num_workers=workers,
        collate_fn=partial(sent, workload, transform, content),
        drop_last=True,
        persistent_workers=workers > 0,
    )
    try:
        while True:
            for found in loaded:
                yield loops.arrived(found, workload)
    finally:
        if end := getattr(loaded._iterator, "_shutdown_workers", None):
            end()  # or they stay until this process ends, and work on
