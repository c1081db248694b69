"""For every rule of reading, a cache that breaks just this one: digests above the damage are made anew."""

import json
import os
import shutil
import struct
from itertools import accumulate, pairwise

import google_crc32c
import numpy as np
import pytest
from blake3 import blake3

from dsrt_format import Bytes, DataError, Dense, FormatError, Ragged, Text, Zstd, reference, validate
from dsrt_format.rules import RULES

FIELDS = {
    "fix": Dense("int16", (3,)),
    "rag": Ragged("int32"),
    "zst": Ragged("uint8", codec="zstd"),
    "dic": Text(codec=Zstd(dictionary=bytes(range(100)))),
    "raw": Bytes(),
    "txt": Text(),
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
        "n": None if i == 2 else i,
        "s": None if i == 3 else "long enough to be out of line" + "ß" * i,
        "b": None if i == 1 else i % 2 == 0,
        "weight": float(i),
    }


class Forgery:
    """A sound cache to be damaged."""

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

    def shard(self, name, shard=1, *, stored=None, entry=None, keep_crc=False):
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
        records += bytes(-len(records) % 8)
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


def skip_shape(entry):
    entry["shape"] = [2**60]


def no_utf8(stored):
    return b"\xff" + stored[1:]


def header_flag(stored):
    return stored[:4] + bytes([stored[4] | 4]) + stored[5:]


def missing(forgery):
    (forgery.path / "manifest.json").unlink()


def too_long(forgery):
    os.truncate(forgery.path / "manifest.json", 2**26 + 1)


def version(forgery):
    forgery.manifest["format"] = 2
    forgery.seal()


def manifest(change):
    def forge(forgery):
        change(forgery.manifest)
        forgery.seal()

    return forge


def field(name, **changes):
    def forge(forgery):
        forgery.field(name).update(changes)
        forgery.seal()

    return forge


def shard(name, **changes):
    return lambda forgery: forgery.shard(name, **changes)


def index_digest(forgery):
    forgery.field("rag")["files"][1]["index_blake3"] = "0" * 64
    forgery.seal()


def dictionary_digest(forgery):
    forgery.change("fields/dic/dictionary.bin", 70, b"\xff")


def no_shape(value):
    del value["fields"][0]["shape"]


def first_twice(value):
    value["fields"][1]["name"] = "FIX"


def one_file_more(value):
    value["fields"][0]["files"].append(value["fields"][0]["files"][0])


def odd_length(value):
    value["fields"][1]["files"][1]["bytes"] += 1


# A rule, what breaks it, and the place that is named: field, shard and sample.
CASES = [
    ("R000", missing, (None, None, None)),
    ("R001", too_long, (None, None, None)),
    ("R002", lambda forgery: forgery.change("manifest.json", 0, b"["), (None, None, None)),
    ("R003", lambda forgery: forgery.change("manifest.json", -1, b" "), (None, None, None)),
    ("R004", lambda forgery: forgery.write_manifest(b'{"format":-0}'), (None, None, None)),
    ("R005", version, (None, None, None)),
    ("R006", manifest(no_shape), (None, None, None)),
    ("R007", manifest(lambda m: m.update(name="a.b")), (None, None, None)),
    ("R008", manifest(first_twice), ("FIX", None, None)),
    ("R010", manifest(lambda m: m.update(shards=[6, 0])), (None, 1, None)),
    ("R011", manifest(lambda m: m.update(samples=7)), (None, None, None)),
    ("R012", manifest(lambda m: m["metadata"].update(chunks=[])), (None, None, None)),
    ("R013", manifest(lambda m: m.update(fields=[])), (None, None, None)),
    ("R014", field("rag", kind="sparse"), ("rag", None, None)),
    ("R015", field("rag", codec="lz4"), ("rag", None, None)),
    ("R016", field("rag", dtype="int33"), ("rag", None, None)),
    ("R017", field("zst", delta=0), ("zst", None, None)),
    ("R018", field("rag", ndim=32), ("rag", None, None)),
    ("R019", lambda f: f.dictionary(b"1234567"), ("dic", None, None)),
    ("R020", manifest(one_file_more), ("fix", None, None)),
    ("R021", manifest(odd_length), ("rag", 1, None)),
    ("R030", lambda f: os.truncate(f.path / "fields/raw/00001.shard", 100), ("raw", 1, None)),
    ("R030", lambda f: (f.path / "fields/raw/00000.shard").unlink(), ("raw", 0, None)),
    ("R030", lambda f: (f.path / "fields/dic/dictionary.bin").unlink(), ("dic", None, None)),
    ("R030", lambda f: (f.path / "metadata.arrow").unlink(), (None, None, None)),
    ("R031", lambda f: f.change("fields/fix/00001.shard", 16, b"\x03"), ("fix", 1, None)),
    ("R031", lambda f: f.change("fields/dic/dictionary.bin", 10, b"\x01"), ("dic", None, None)),
    ("R032", shard("raw", entry=lambda e: e.__setitem__("end", 63), keep_crc=True), ("raw", 1, 4)),
    ("R032", shard("raw", entry=lambda e: e.__setitem__("end", 2**63), keep_crc=True), ("raw", 1, 4)),
    ("R033", shard("fix", stored=lambda s: b"\xff" * 6, keep_crc=True), ("fix", 1, 4)),
    ("R033", shard("rag", entry=lambda e: e.__setitem__("shape", [1]), keep_crc=True), ("rag", 1, 4)),
    ("R034", shard("rag", entry=lambda e: e.__setitem__("shape", [3])), ("rag", 1, 4)),
    ("R034", shard("zst", entry=skip_shape), ("zst", 1, 4)),
    ("R035", shard("zst", entry=lambda e: e.__setitem__("shape", [2**30])), ("zst", 1, 4)),
    ("R036", shard("zst", stored=header_flag), ("zst", 1, 4)),
    ("R036", shard("zst", entry=lambda e: e.__setitem__("shape", [53])), ("zst", 1, 4)),
    ("R037", shard("zst", stored=lambda s: s + b"x"), ("zst", 1, 4)),
    ("R037", shard("zst", stored=lambda s: s[:-1]), ("zst", 1, 4)),
    ("R038", shard("txt", stored=no_utf8), ("txt", 1, 4)),
    ("R039", index_digest, ("rag", 1, None)),
    ("R040", dictionary_digest, ("dic", 0, 0)),
    ("R040", lambda f: f.dictionary(bytes.fromhex("37a430ec") + bytes(60)), ("dic", 0, 0)),
    ("R041", lambda f: f.change("metadata.arrow", 200, b"\xff"), (None, None, None)),
]
ELSEWHERE = {"R042", "R043", "R044", "R045", "R046"}  # test_metadata.py


@pytest.fixture
def forgery(tmp_path):
    return Forgery(tmp_path / "c")


def test_the_cache_is_sound_before_it_is_damaged(forgery):
    assert len(reference.read(forgery.path)) == 6
    assert validate(forgery.path) == []
    forgery.seal()
    for name in "fix", "rag", "zst", "dic", "raw", "txt":
        forgery.shard(name)
    forgery.dictionary(bytes(range(100)))
    assert len(reference.read(forgery.path)) == 6
    assert validate(forgery.path) == []


@pytest.mark.parametrize(("rule", "forge", "place"), CASES)
def test_reader_and_validator_name_the_rule_and_the_place(forgery, rule, forge, place):
    forge(forgery)
    with pytest.raises(FormatError) as caught:
        reference.read(forgery.path)
    error = caught.value
    assert (error.rule, error.cache) == (rule, str(forgery.path))
    if rule != "R040" and (rule, place[0]) != ("R031", "dic"):
        assert (error.field, error.shard, error.sample) == place
    else:
        # A reader finds out when the first record needs the dictionary.
        assert (error.field, error.shard, error.sample) == ("dic", 0, 0)
    assert isinstance(error, DataError) == (rule > "R030")
    problems = validate(forgery.path)
    assert {problem.rule for problem in problems} == {rule} | ({"R043"} if rule == "R011" else set())
    where = (place[0], None, None) if rule == "R040" else place
    assert where in {(problem.field, problem.shard, problem.sample) for problem in problems}
    assert all(problem.cache == str(forgery.path) for problem in problems)


def test_every_rule_has_a_case():
    assert {rule for rule, _, _ in CASES} | ELSEWHERE == set(RULES)


def test_the_validator_returns_every_damaged_record(forgery):
    for shard in 0, 1:
        forgery.shard("rag", shard, entry=lambda e: e.__setitem__("shape", [7]))
    forgery.shard("txt", stored=no_utf8)
    forgery.change("fields/fix/00000.shard", 64, b"\xff")
    found = [(p.rule, p.field, p.shard, p.sample, p.kind) for p in validate(forgery.path)]
    assert found == [
        ("R033", "fix", 0, 0, "record"),
        ("R034", "rag", 0, 0, "record"),
        ("R034", "rag", 1, 4, "record"),
        ("R038", "txt", 1, 4, "record"),
    ]


def test_the_validator_lists_a_thousand_problems_per_rule_and_counts_the_rest(tmp_path):
    reference.write(tmp_path / "c", {"x": Bytes()}, [{"x": bytes([i % 256])} for i in range(1500)])
    with open(tmp_path / "c" / "fields" / "x" / "00000.shard", "r+b") as file:
        file.seek(64)
        file.write(bytes([(i + 1) % 256 for i in range(1500)]))
    problems = validate(tmp_path / "c")
    assert [problem.sample for problem in problems] == [*range(1000), None]
    assert problems[-1].rule == "R033"
    assert problems[-1].message == "500 more are not listed"


def test_a_damaged_dictionary_leaves_the_checksums_of_records(forgery):
    dictionary_digest(forgery)
    forgery.change("fields/dic/00001.shard", 64, b"\xff")
    assert [(p.rule, p.field, p.sample) for p in validate(forgery.path)] == [
        ("R040", "dic", None),
        ("R033", "dic", 4),
    ]


def test_a_wrong_header_does_not_end_a_file(forgery):
    forgery.change("fields/raw/00001.shard", 0, b"\0")
    forgery.change("fields/raw/00001.shard", 64, b"\0")
    assert [(p.rule, p.sample, p.kind) for p in validate(forgery.path)] == [
        ("R031", None, "file"),
        ("R033", 4, "record"),
    ]


def test_files_that_the_manifest_describes_wrongly_are_not_opened(forgery):
    for name in FIELDS:
        shutil.rmtree(forgery.path / "fields" / name)
    for i, change in enumerate(
        ({"name": "../x"}, {"kind": "y"}, {"codec": "y"}, {"dtype": "y"}, {"files": []})
    ):
        forgery.manifest["fields"][i].update(change)
    forgery.field("txt")["files"][0]["bytes"] = 1
    forgery.seal()
    rules = [problem.rule for problem in validate(forgery.path)]
    assert rules == ["R007", "R014", "R015", "R016", "R020", "R021", "R030"]
    forgery.manifest["shards"] = [6, 0]
    forgery.seal()
    assert "R030" not in [problem.rule for problem in validate(forgery.path)]


def test_progress_ends_with_all_bytes_done(forgery):
    calls = []
    validate(forgery.path, progress=lambda done, total: calls.append((done, total)))
    sizes = [os.path.getsize(os.path.join(d, f)) for d, _, fs in os.walk(forgery.path) for f in fs]
    total = sum(sizes) - os.path.getsize(forgery.path / "manifest.json")
    assert calls[-1] == (total, total)
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)
    calls.clear()
    field("zst", delta=0)(forgery)
    validate(forgery.path, progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (total, total)


def damage(path):
    try:
        reference.read(path)
    except DataError as error:
        return error
    return None


def test_no_flipped_bit_is_silent(vectors, tmp_path):
    expected = reference.read(vectors / "example" / "demo")
    path = shutil.copytree(vectors / "example" / "demo", tmp_path / "c")
    pads = 0
    for folder, _, names in os.walk(path / "fields"):
        for name in names:
            file = os.path.join(folder, name)
            with open(file, "r+b") as handle:
                data = handle.read()
                for at in range(0, len(data), 3):
                    handle.seek(at)
                    handle.write(bytes([data[at] ^ 1 << at % 8]))
                    handle.flush()
                    error = damage(path)
                    if error is None:
                        # The padding before an index is used by nobody.
                        pads += 1
                        assert str(reference.read(path)) == str(expected)
                    else:
                        assert error.field == os.path.basename(folder)
                        assert error.rule in ("R031", "R032", "R033", "R040")
                    handle.seek(at)
                    handle.write(data[at : at + 1])
    assert pads < 12


def test_garbage_with_good_digests_raises_nothing_but_data_errors(forgery):
    random = np.random.default_rng(5)
    for name in "rag", "zst", "dic", "raw", "txt":
        for _ in range(40):
            junk = random.integers(0, 256, random.integers(0, 40), np.uint8).tobytes()
            keep = random.random() < 0.5
            forgery.shard(
                name,
                stored=lambda s, junk=junk, keep=keep: (s[:8] + junk) if keep else junk,
                entry=lambda e: e.__setitem__("shape", [random.integers(0, 60)]),
            )
            error = damage(forgery.path)
            if error is not None:
                assert error.rule in ("R034", "R035", "R036", "R037", "R038")
                assert (error.field, error.shard, error.sample) == (name, 1, 4)
        shutil.rmtree(forgery.path)
        forgery = Forgery(forgery.path)


def test_symbolic_links_are_followed(forgery, tmp_path):
    (forgery.path / "fields").rename(tmp_path / "elsewhere")
    (forgery.path / "fields").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "link").symlink_to(forgery.path)
    assert len(reference.read(tmp_path / "link")) == 6


def test_other_files_are_ignored(forgery):
    (forgery.path / "fields" / "fix" / "notes.txt").write_text("x")
    (forgery.path / "README").write_text("x")
    assert len(reference.read(forgery.path)) == 6
