"""The systems that are measured. A new one: a file like those here, and its entry below.

A module has the functions of `benchmarks.peer.Peer`, and is imported only in a process of its own.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class About:
    """What a report says about a system."""

    distribution: str
    reads: str
    writes: str


FIRST = "dsrt"
"""The one that the others are compared with."""

PEERS = {
    FIRST: About(
        "dsrt-native",
        "`Population.gather`; `Loader(order='permuted')`, all else as it is by default; every record's "
        "checksum is verified at every read",
        "`CacheWriter.append` and `append_batch`, `build` with workers, all else as it is by default: "
        "checksums of records, BLAKE3 of files, everything synced before it is published",
    ),
    "loaderx": About(
        "loaderx",
        "`Dense` or `Ragged` store with codec raw, `__getitems__`; `Loader` over a cyclic `Sampler`, with "
        "one worker, which was the fastest number of them, and its default prefetch of 4; no checksums",
        "`append` of 4 MiB at once, with zstd 64: faster than other sizes and than all at once; single "
        "samples are stacked or packed to as much; `data_shards` 4, the default, which was faster than 1 "
        "and 2; a thread a core, which is its own choice; metadata are stores of their own; no checksums, no "
        "digests, no syncs",
    ),
    "dataset_rt": About(
        "dataset-rt",
        "samples are bytes; `get_item` in a loop, as it has no call for many; its iterator, which draws by "
        "weight, cut into batches; the bytes of a batch are joined into one array; 4 threads; no checksums",
        "`write_cache` of a source that makes bytes of each array, with 2 threads; its processes are for "
        "several sources",
    ),
    "memmap": About(
        "numpy",
        "one indexing of a `np.memmap`, for tokens `np.concatenate` of slices; the same in the loop of the "
        "loader, without threads; no checksums",
        "`file.write` of every array, into a file for each column; processes are "
        "`multiprocessing.Pool.imap` with 16 samples at once",
    ),
}
