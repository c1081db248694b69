import json
import os
import struct
from itertools import accumulate, pairwise
from pathlib import Path

import google_crc32c
import numpy as np
import pytest
from blake3 import blake3
from hypothesis import settings

import dsrt_format
from dsrt_format import Bytes, Dense, Ragged, Text, Zstd, reference

# How long an example takes says more about the machine than about the code.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture(scope="session")
def vectors() -> Path:
    return Path(dsrt_format.__file__).parent / "vectors"


FIELDS = {
    "fix": Dense("int16", (3,)),
    "rag": Ragged("int32"),
    "zst": Ragged("uint8", codec="zstd"),
    "dic": Text(codec=Zstd(dictionary=bytes(range(100)))),
    "raw": Bytes(),
    "txt": Text(),
    "yes": Ragged("bool"),
}
COLUMNS = {"n": "int32", "s": "string", "b": "bool", "weight": "float64"}


def sample(i):
    return {
        "fix": np.full(3, i, np.int16),
        "rag": np.arange(i, dtype=np.int32),
        "zst": np.full(50 + i, i, np.uint8),
        "dic": "text" * i,
        "raw": b"x" * i,
        "txt": "ü" * i,
        "yes": np.ones(i, bool),
        "n": None if i == 2 else i,
        "s": None if i == 3 else "long enough to be out of line" + "ß" * i,
        "b": None if i == 1 else i % 2 == 0,
        "weight": float(i),
    }


class Forgery:
    """A sound cache to be damaged: six samples, four in the first shard."""

    fields = FIELDS

    def __init__(self, path):
        self.path = path
        reference.write(path, FIELDS, [sample(i) for i in range(6)], COLUMNS, samples_per_shard=4)
        self.manifest = json.loads((path / "manifest.json").read_bytes())

    def field(self, name):
        return next(field for field in self.manifest["fields"] if field["name"] == name)

    def seal(self):
        """Write the manifest with its digest made anew."""
        self.manifest.pop("digest", None)
        self.write_manifest(json.dumps(self.manifest, ensure_ascii=False).encode())

    def write_manifest(self, content):
        data = b'{"digest":"' + blake3(content).hexdigest().encode() + b'",' + content[1:]
        (self.path / "manifest.json").write_bytes(data)

    def shard(self, name, shard=1, *, stored=None, entry=None, keep_crc=False, pad=None):
        """Change the first record of a shard: its stored bytes or its entry (end, crc without key, shape)."""
        field, fixed = self.field(name), name == "fix"
        file = self.path / "fields" / name / f"{shard:05d}.shard"
        data, count = file.read_bytes(), self.manifest["shards"][shard]
        layout = [("crc", "<u4")] if fixed else [("end", "<u8"), ("crc", "<u4"), ("shape", "<u8", (1,))]
        index = np.frombuffer(data[-count * np.dtype(layout).itemsize :], layout).copy()
        index["crc"] ^= np.frombuffer(data[32:36], "<u4")
        ends = [64 + 6 * (i + 1) for i in range(count)] if fixed else index["end"].tolist()
        records = [data[low:high] for low, high in pairwise([64, *ends])]
        if stored is not None:
            records[0] = stored(records[0])
        if not fixed:
            index["end"] = list(accumulate(map(len, records), initial=64))[1:]
        if entry is not None:
            entry(index[0])
        if not keep_crc:
            shape = b"" if fixed else index[0]["shape"].tobytes()
            index[0]["crc"] = google_crc32c.value(records[0] + bytes(8) + shape)
        records = b"".join(records)
        records += bytes(-len(records) % 8) if pad is None else pad
        digest = blake3(records + index.tobytes()).digest()
        index["crc"] ^= np.frombuffer(digest[:4], "<u4")
        body = records + index.tobytes()
        file.write_bytes(data[:24] + struct.pack("<Q", len(body)) + digest + body)
        made = {"bytes": 64 + len(body), "body_blake3": digest.hex()}
        if not fixed:
            made["index_blake3"] = blake3(index.tobytes()).hexdigest()
        field["files"][shard] = made
        self.seal()

    def dictionary(self, body):
        field = self.field("dic")
        header = (self.path / "fields" / "dic" / "dictionary.bin").read_bytes()[:24]
        digest = blake3(body).digest()
        data = header + struct.pack("<Q", len(body)) + digest + body
        (self.path / "fields" / "dic" / "dictionary.bin").write_bytes(data)
        field["dictionary"] = {"bytes": len(data), "body_blake3": digest.hex()}
        self.seal()

    def change(self, name, at, data):
        """Overwrite bytes of a file and leave every digest as it is."""
        with open(self.path / name, "r+b") as file:
            file.seek(at, os.SEEK_END if at < 0 else os.SEEK_SET)
            file.write(data)

    def digest(self, name, shard=1):
        """Give a shard another digest of its body, with header, checksums and index to match."""
        field = self.field(name)
        file = self.path / "fields" / name / f"{shard:05d}.shard"
        data, count = file.read_bytes(), self.manifest["shards"][shard]
        layout = (
            [("crc", "<u4")] if name == "fix" else [("end", "<u8"), ("crc", "<u4"), ("shape", "<u8", (1,))]
        )
        start = len(data) - count * np.dtype(layout).itemsize
        index = np.frombuffer(data[start:], layout).copy()
        index["crc"] ^= np.frombuffer(data[32:36], "<u4") ^ np.uint32(0xFFFFFFFF)
        digest = b"\xff" * 32
        file.write_bytes(data[:32] + digest + data[64:start] + index.tobytes())
        field["files"][shard]["body_blake3"] = digest.hex()
        if name != "fix":
            field["files"][shard]["index_blake3"] = blake3(index.tobytes()).hexdigest()
        self.seal()

    def metadata(self, data):
        self.manifest["metadata"] = {"bytes": len(data), "chunks": [blake3(data).hexdigest()]}
        (self.path / "metadata.arrow").write_bytes(data)
        self.seal()


@pytest.fixture
def change_manifest():
    """Changes the manifest of any cache by a function and makes its digest anew."""

    def change_manifest(path, change):
        file = path / "manifest.json"
        manifest = json.loads(file.read_bytes())
        del manifest["digest"]
        change(manifest)
        content = json.dumps(manifest, ensure_ascii=False).encode()
        file.write_bytes(b'{"digest":"' + blake3(content).hexdigest().encode() + b'",' + content[1:])

    return change_manifest


@pytest.fixture
def forgery(tmp_path):
    return Forgery(tmp_path / "c")
