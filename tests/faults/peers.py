"""The same question to the nearest peers: of single flipped bits, how many come back as data?"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import numpy as np

ROOT = Path(__file__).parent.parent.parent
FLIPS = 40

Write = Callable[[Path, list[bytes]], None]
Read = Callable[[Path], list[bytes]]


def _write_loaderx(place: Path, records: list[bytes]) -> None:
    from loaderx.zrecord import Ragged, RaggedBatch

    with Ragged.create(place / "store", np.uint8, ndim=1, codec="raw") as store:
        store.append(RaggedBatch.from_records([np.frombuffer(record, np.uint8) for record in records]))


def _read_loaderx(place: Path) -> list[bytes]:
    from loaderx.zrecord import Ragged

    with Ragged.open(place / "store") as store:
        return [np.from_dlpack(one).tobytes() for one in store[:].to_tensors()]


def _write_dataset_rt(place: Path, records: list[bytes]) -> None:
    from dataset_rt import CacheInput, DatasetRuntime, WriterConfig

    class Source:
        name = "samples"

        def __iter__(self) -> Iterator[CacheInput]:
            return iter(CacheInput(record, {"one": 1}) for record in records)

    config = WriterConfig(show_progress=False, num_processes=0)
    DatasetRuntime(num_workers=1).write_cache(Source(), place / "store", writer_config=config)


def _read_dataset_rt(place: Path) -> list[bytes]:
    from dataset_rt import DatasetRuntime, ReaderConfig

    config = ReaderConfig(seed=0, shuffle=False)
    data = DatasetRuntime(num_workers=1).cached_dataset([place / "store" / "samples"], reader_config=config)
    table = data.get_metadata()
    pairs = zip(table["cache_id"].to_list(), table["sample_id"].to_list(), strict=True)
    return [data.get_item(cache, sample).data for cache, sample in pairs]


PEERS: dict[str, tuple[Write, Read, dict[str, str]]] = {
    "loaderx": (_write_loaderx, _read_loaderx, {"payload": "data_*.zr", "index": "meta.zr"}),
    "dataset_rt": (_write_dataset_rt, _read_dataset_rt, {"payload": "[0-9]*.bin", "index": "index.bin"}),
}


def lines(place: Path, seed: int) -> list[str]:
    """Return what became of the flips in each peer that is installed, in lines to be printed."""
    found = []
    for name, (_, _, parts) in PEERS.items():
        if importlib.util.find_spec(name) is None:
            found.append(f"  {name}: not installed")
            continue
        for part in parts:
            found.append(f"  {name}, {part}: {_outcomes(name, part, place, seed)}")
    return found


def _outcomes(name: str, part: str, place: Path, seed: int) -> str:
    counts: Counter[str] = Counter()
    while counts.total() < FLIPS:
        own = place / f"{name}-{part}-{counts.total()}"
        command = [
            sys.executable,
            "-m",
            "tests.faults.peers",
            name,
            part,
            str(own),
            str(seed),
            str(counts.total()),
        ]
        try:
            done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=60)
            outcomes, how = done.stdout.split(), "ended the process"
        except subprocess.TimeoutExpired as error:
            outcomes, how = (error.stdout or b"").decode().split(), "did not end"
        counts.update(outcome.replace("-", " ") for outcome in outcomes)
        if counts.total() < FLIPS:
            counts[how] += 1
    silent = counts.pop("silently wrong", 0)
    rest = ", ".join(f"{outcome} {count}" for outcome, count in sorted(counts.items()))
    return f"{silent} of {FLIPS} silently wrong; {rest or 'nothing else'}"


def _flip(name: str, part: str, place: Path, seed: int, first: int) -> None:
    """Print a word for each flip from number `first` on. Each has its own path: peers keep what they read."""
    write, read, parts = PEERS[name]
    random = Random(f"peers {seed}")
    records = [random.randbytes(random.randrange(100, 300)) for _ in range(64)]
    sound = place / "sound"
    sound.mkdir(parents=True)
    write(sound, records)
    if read(sound) != records:
        raise AssertionError(f"{name} does not read back what it wrote")
    files = sorted(path.relative_to(sound) for path in sound.rglob(parts[part]))
    for number in range(first, FLIPS):
        draw = Random(f"{seed} {name} {part} {number}")
        copy = place / f"flip-{number}"
        shutil.copytree(sound, copy)
        file = copy / draw.choice(files)
        data = bytearray(file.read_bytes())
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        file.write_bytes(data)
        try:
            same = read(copy) == records
        except Exception:
            outcome = "refused"
        else:
            outcome = "no-effect" if same else "silently-wrong"
        print(outcome, flush=True)


if __name__ == "__main__":
    _flip(sys.argv[1], sys.argv[2], Path(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5]))
