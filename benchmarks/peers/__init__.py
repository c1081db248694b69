"""The systems that are measured. A new one: a file like those here, and its entry below.

The module of a peer is imported only in a process of its own. It has `write(workload, folder)`, which stores
all samples in order in an empty folder, and `opened(workload, folder)`, the `Reader` that is timed.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class About:
    """What a report says about a system."""

    distribution: str
    how: str


FIRST = "dsrt"
"""The one that the others are compared with."""

PEERS = {
    FIRST: About(
        "dsrt-native",
        "`Population.gather`; `Loader(order='permuted')`, all else as it is by default; every record's "
        "checksum is verified at every read",
    ),
    "loaderx": About(
        "loaderx",
        "`Dense` or `Ragged` store with codec raw, `__getitems__`; `Loader` over a cyclic `Sampler`, with "
        "one worker, which was the fastest number of them, and its default prefetch of 4; no checksums",
    ),
    "dataset_rt": About(
        "dataset-rt",
        "samples are bytes; `get_item` in a loop, as it has no call for many; its iterator, which draws by "
        "weight, cut into batches; the bytes of a batch are joined into one array; 4 threads; no checksums",
    ),
    "memmap": About(
        "numpy",
        "one indexing of a `np.memmap`, for tokens `np.concatenate` of slices; the same in the loop of the "
        "loader, without threads; no checksums",
    ),
}
