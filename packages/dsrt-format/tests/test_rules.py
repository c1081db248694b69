"""For every rule of reading, a cache that breaks just this one: digests above the damage are made anew."""

import os
import shutil

import numpy as np
import pyarrow as pa
import pytest

from dsrt_format import DataError, FormatError, reference, validate
from dsrt_format.rules import RULES


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


def arrow(**columns):
    """A metadata file of one batch, well made but for what stands in it."""
    table = pa.table({name: pa.array(values, kind) for name, (kind, values) in columns.items()})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table, 2**18)
    return sink.getvalue().to_pybytes()


def metadata(**columns):
    return lambda forgery: forgery.metadata(arrow(**columns))


def empty_batch(forgery):
    forgery.manifest.update(samples=0, shards=[])
    for entry in forgery.manifest["fields"]:
        entry["files"] = []
    for file in forgery.path.rglob("*.shard"):
        file.unlink()
    sink = pa.BufferOutputStream()
    schema = pa.schema([("n", pa.int32())])
    with pa.ipc.new_file(sink, schema) as writer:
        writer.write_batch(pa.record_batch([pa.array([], pa.int32())], schema=schema))
    forgery.metadata(sink.getvalue().to_pybytes())


R032_TWICE = "R032 raw 1 4, R032 raw 1 5"

# A rule, what breaks it, and all that the validator finds: rule, field, shard and sample.
CASES = [
    ("R000", missing, "R000 - - -"),
    ("R001", too_long, "R001 - - -"),
    ("R002", lambda forgery: forgery.change("manifest.json", 0, b"["), "R002 - - -"),
    ("R003", lambda forgery: forgery.change("manifest.json", -1, b" "), "R003 - - -"),
    ("R004", lambda forgery: forgery.write_manifest(b'{"format":-0}'), "R004 - - -"),
    ("R005", version, "R005 - - -"),
    ("R006", manifest(no_shape), "R006 - - -"),
    ("R007", manifest(lambda m: m.update(name="a.b")), "R007 - - -"),
    ("R008", manifest(first_twice), "R008 FIX - -, R053 - - -"),
    ("R010", manifest(lambda m: m.update(shards=[6, 0])), "R010 - 1 -"),
    ("R011", manifest(lambda m: m.update(samples=7)), "R011 - - -, R043 - - -"),
    ("R012", manifest(lambda m: m["metadata"].update(chunks=[])), "R012 - - -"),
    ("R013", manifest(lambda m: m.update(fields=[])), "R013 - - -, " + ", ".join(["R053 - - -"] * 7)),
    ("R014", field("rag", kind="sparse"), "R014 rag - -"),
    ("R015", field("rag", codec="lz4"), "R015 rag - -"),
    ("R016", field("rag", dtype="int33"), "R016 rag - -"),
    ("R017", field("zst", delta=0), "R017 zst - -"),
    ("R018", field("rag", ndim=32), "R018 rag - -"),
    ("R019", lambda f: f.dictionary(b"1234567"), "R019 dic - -"),
    ("R020", manifest(one_file_more), "R020 fix - -"),
    ("R021", manifest(odd_length), "R021 rag 1 -"),
    ("R030", lambda f: os.truncate(f.path / "fields/raw/00001.shard", 100), "R030 raw 1 -"),
    ("R030", lambda f: (f.path / "fields/raw/00000.shard").unlink(), "R030 raw 0 -"),
    ("R030", lambda f: (f.path / "fields/dic/dictionary.bin").unlink(), "R030 dic - -"),
    ("R030", lambda f: (f.path / "metadata.arrow").unlink(), "R030 - - -"),
    ("R031", lambda f: f.change("fields/fix/00001.shard", 16, b"\x03"), "R031 fix 1 -"),
    ("R031", lambda f: f.change("fields/dic/dictionary.bin", 10, b"\x01"), "R031 dic - -"),
    (
        "R032",
        shard("raw", entry=lambda e: e.__setitem__("end", 63), keep_crc=True),
        R032_TWICE,
    ),
    (
        "R032",
        shard("raw", entry=lambda e: e.__setitem__("end", 2**63), keep_crc=True),
        R032_TWICE,
    ),
    ("R033", shard("fix", stored=lambda s: b"\xff" * 6, keep_crc=True), "R033 fix 1 4"),
    ("R033", shard("rag", entry=lambda e: e.__setitem__("shape", [1]), keep_crc=True), "R033 rag 1 4"),
    ("R034", shard("rag", entry=lambda e: e.__setitem__("shape", [3])), "R034 rag 1 4"),
    ("R034", shard("zst", entry=skip_shape), "R034 zst 1 4"),
    ("R035", shard("zst", entry=lambda e: e.__setitem__("shape", [2**30])), "R035 zst 1 4"),
    ("R036", shard("zst", stored=header_flag), "R036 zst 1 4"),
    ("R036", shard("zst", entry=lambda e: e.__setitem__("shape", [53])), "R036 zst 1 4"),
    ("R037", shard("zst", stored=lambda s: s + b"x"), "R037 zst 1 4"),
    ("R037", shard("zst", stored=lambda s: s[:-1]), "R037 zst 1 4"),
    ("R038", shard("txt", stored=no_utf8), "R038 txt 1 4"),
    ("R039", index_digest, "R039 rag 1 -"),
    ("R040", dictionary_digest, "R040 dic - -"),
    ("R040", lambda f: f.dictionary(bytes.fromhex("37a430ec") + bytes(60)), "R040 dic - -"),
    ("R041", lambda f: f.change("metadata.arrow", 200, b"\xff"), "R041 - - -"),
    ("R042", lambda f: f.metadata(b"ARROW1" + bytes(90)), "R042 - - -"),
    ("R043", metadata(n=(pa.int32(), [1] * 5)), "R043 - - -"),
    ("R044", empty_batch, "R044 - - -"),
    ("R045", metadata(n=(pa.int32(), [1] * 6), fix=(pa.int32(), [1] * 6)), "R045 fix - -"),
    ("R046", metadata(weight=(pa.float64(), [0, -1, 1, None, 2, 3])), "R046 weight - 1, R046 weight - 3"),
    ("R046", metadata(weight=(pa.float32(), [0] * 6)), "R046 weight - -"),
    ("R050", lambda f: f.digest("fix"), "R050 fix 1 -"),
    ("R050", lambda f: f.digest("rag"), "R050 rag 1 -"),
    ("R051", lambda f: f.shard("fix", pad=b"\1\0\0\0"), "R051 fix 1 -"),
    ("R051", lambda f: f.shard("txt", pad=b"\0\0\0\0\0\x80"), "R051 txt 1 -"),
    ("R051", lambda f: f.shard("raw", pad=bytes(15)), "R051 raw 1 -"),
    ("R052", lambda f: f.shard("yes", stored=lambda s: s[:-1] + b"\2"), "R052 yes 1 4"),
    ("R053", lambda f: (f.path / "fields" / "fix" / "notes").touch(), "R053 - - -"),
    ("R053", lambda f: (f.path / "fields" / "fix" / "dictionary.bin").touch(), "R053 - - -"),
    ("R053", lambda f: (f.path / "fields" / "fix" / "00002.shard").touch(), "R053 - - -"),
    ("R053", lambda f: (f.path / "fields" / "fix" / "000001.shard").touch(), "R053 - - -"),
    ("R053", lambda f: (f.path / "README").symlink_to("nowhere"), "R053 - - -"),
]

LEVELS = "structure", "records", "digests"
RECORDS = {"R033", "R034", "R035", "R036", "R037", "R038", "R052"}
FIRST_LEVEL = {
    rule: "records" if rule in RECORDS else "digests" if rule == "R050" else "structure" for rule in RULES
}


def test_the_cache_is_sound_before_it_is_damaged(forgery):
    assert len(reference.read(forgery.path)) == 6
    assert validate(forgery.path) == []
    forgery.seal()
    for name in set(forgery.fields):
        forgery.shard(name)
    forgery.dictionary(bytes(range(100)))
    assert len(reference.read(forgery.path)) == 6
    assert validate(forgery.path) == []


def place(word):
    """The place in a line of the table."""
    rule, field, shard, sample = word.split()
    return rule, None if field == "-" else field, *(None if at == "-" else int(at) for at in (shard, sample))


@pytest.mark.parametrize(("rule", "forge", "found"), CASES)
def test_every_level_finds_all_that_is_its_own_and_no_more(forgery, rule, forge, found):
    forge(forgery)
    expected = [place(line) for line in found.split(", ")]
    for level, name in enumerate(LEVELS):
        problems = validate(forgery.path, level=name)
        assert [(p.rule, p.field, p.shard, p.sample) for p in problems] == [
            problem for problem in expected if LEVELS.index(FIRST_LEVEL[problem[0]]) <= level
        ]
        assert all(problem.cache == str(forgery.path) and problem.message for problem in problems)
    assert validate(forgery.path) == problems
    assert rule in {problem.rule for problem in problems}


@pytest.mark.parametrize(("rule", "forge", "found"), CASES)
def test_the_reader_names_the_rule_and_the_place(forgery, rule, forge, found):
    forge(forgery)
    if rule >= "R050":
        assert len(reference.read(forgery.path)) == 6
        return
    with pytest.raises(FormatError) as caught:
        reference.read(forgery.path)
    error = caught.value
    assert (error.rule, error.cache) == (rule, str(forgery.path))
    assert isinstance(error, DataError) == (rule > "R030")
    expected = next(where for line in found.split(", ") if (where := place(line))[0] == rule)[1:]
    if rule == "R040" or (rule, expected[0]) == ("R031", "dic"):
        # A reader finds out when the first record needs the dictionary.
        expected = ("dic", 0, 0)
    assert (error.field, error.shard, error.sample) == expected


def test_every_rule_has_a_case():
    assert {rule for rule, _, _ in CASES} == set(RULES)


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
        forgery = type(forgery)(forgery.path)


def test_symbolic_links_are_followed(forgery, tmp_path):
    (forgery.path / "fields").rename(tmp_path / "elsewhere")
    (forgery.path / "fields").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "link").symlink_to(forgery.path)
    assert len(reference.read(tmp_path / "link")) == 6


def test_other_files_are_ignored(forgery):
    (forgery.path / "fields" / "fix" / "notes.txt").write_text("x")
    (forgery.path / "README").write_text("x")
    assert len(reference.read(forgery.path)) == 6
