"""The systems that are measured. A new one: a file like those here, and its name below.

A module has the functions of `benchmarks.peer.Peer`, and is imported only in a process of its own.
"""

FIRST = "dsrt"
"""The one that the others are compared with."""

MACHINE = "machine"
"""The one that is no system but the limits of the machine."""

QUICK = (FIRST, "loaderx", "dataset_rt", "memmap", "torch", "lmdb", "grain", MACHINE)
"""In every run, in the order of the report."""

FULL = ("hdf5", "arrow_ipc", "parquet", "lance", "huggingface", "webdataset", "litdata", "mosaicml")
"""Those that a full run adds."""

ALL = QUICK + FULL
SYSTEMS = tuple(peer for peer in ALL if peer != MACHINE)
