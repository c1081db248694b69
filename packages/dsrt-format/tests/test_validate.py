"""The validator as a whole: what it opens, in which order it lists, and what hostile caches cost it."""

import os
import shutil
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dsrt_format import Bytes, Dense, Ragged, Text, reference, validate
from dsrt_format.validate import MAX_PROBLEMS_PER_RULE, Problem

LEVELS = "structure", "records", "digests"


def places(problems):
    return [(p.rule, p.field, p.shard, p.sample) for p in problems]


def test_every_damaged_record_is_listed_in_the_order_of_the_files(forgery):
    for shard in 0, 1:
        forgery.shard("rag", shard, entry=lambda e: e.__setitem__("shape", [7]))
    forgery.shard("txt", stored=lambda s: b"\xff" + s[1:])
    forgery.change("fields/fix/00000.shard", 64, b"\xff")
    (forgery.path / "notes").touch()
    problems = validate(forgery.path)
    assert places(problems) == [
        ("R050", "fix", 0, None),
        ("R033", "fix", 0, 0),
        ("R034", "rag", 0, 0),
        ("R034", "rag", 1, 4),
        ("R038", "txt", 1, 4),
        ("R053", None, None, None),
    ]
    assert [p.kind for p in problems] == ["file", *["record"] * 4, "unknown"]
    assert [p.is_warning for p in problems] == [False] * 5 + [True]


def test_what_is_wrong_with_a_file_as_a_whole_comes_before_its_records(forgery):
    file = "fields/raw/00001.shard"
    forgery.change(file, 0, b"\0")
    forgery.change(file, 64, b"\0")
    forgery.change(file, -1, b"\1")
    forgery.change(file, 64 + 4 + 5, b"\1")
    assert places(validate(forgery.path)) == [
        ("R031", "raw", 1, None),
        ("R039", "raw", 1, None),
        ("R051", "raw", 1, None),
        ("R050", "raw", 1, None),
        ("R033", "raw", 1, 4),
        ("R033", "raw", 1, 5),
    ]


def test_a_last_end_out_of_range_breaks_both_rules_that_speak_of_it(forgery):
    forgery.change("fields/raw/00001.shard", -20, b"\xff\xff")
    assert places(validate(forgery.path, level="structure")) == [
        ("R039", "raw", 1, None),
        ("R051", "raw", 1, None),
        ("R032", "raw", 1, 5),
    ]


def test_a_thousand_problems_per_rule_are_listed_and_the_rest_is_counted_at_the_end(tmp_path):
    reference.write(tmp_path / "c", {"x": Bytes()}, [{"x": bytes([i % 256])} for i in range(1500)])
    with open(tmp_path / "c" / "fields" / "x" / "00000.shard", "r+b") as file:
        file.seek(64)
        file.write(bytes([(i + 1) % 256 for i in range(1500)]))
    for i in range(1003):
        (tmp_path / "c" / f"{i:05d}").touch()
    problems = validate(tmp_path / "c")
    assert problems[0].rule == "R050"
    assert places(problems[1:1001]) == [("R033", "x", 0, i) for i in range(1000)]
    assert [p.message.split()[0] for p in problems[1001:2001]] == [f"{i:05d}" for i in range(1000)]
    assert problems[2001:] == [
        Problem("R033", str(tmp_path / "c"), None, None, None, "500 more are not listed", unlisted=500),
        Problem("R053", str(tmp_path / "c"), None, None, None, "3 more are not listed", unlisted=3),
    ]
    assert problems[-1].is_warning
    assert MAX_PROBLEMS_PER_RULE == 1000


def test_a_damaged_dictionary_leaves_the_checksums_of_records(forgery):
    forgery.change("fields/dic/dictionary.bin", 70, b"\xff")
    forgery.change("fields/dic/00001.shard", 64, b"\xff")
    assert places(validate(forgery.path)) == [
        ("R040", "dic", None, None),
        ("R050", "dic", 1, None),
        ("R033", "dic", 1, 4),
    ]


def test_files_that_the_manifest_describes_wrongly_are_not_opened(forgery):
    for name in forgery.fields:
        shutil.rmtree(forgery.path / "fields" / name)
    for i, change in enumerate(
        ({"name": "../x"}, {"kind": "y"}, {"codec": "y"}, {"dtype": "y"}, {"files": []})
    ):
        forgery.manifest["fields"][i].update(change)
    del forgery.manifest["fields"][6]
    forgery.field("txt")["files"][0]["bytes"] = 1
    forgery.seal()
    rules = [problem.rule for problem in validate(forgery.path)]
    assert rules == ["R007", "R014", "R015", "R016", "R020", "R021", "R030"]
    forgery.manifest["shards"] = [6, 0]
    forgery.seal()
    assert "R030" not in [problem.rule for problem in validate(forgery.path)]


def test_files_of_a_field_that_is_described_wrongly_still_belong_to_the_cache(forgery):
    forgery.field("zst").update(delta=0)
    forgery.field("rag").update(kind="sparse")
    forgery.seal()
    assert [problem.rule for problem in validate(forgery.path)] == ["R014", "R017"]


def test_names_of_fields_differ_by_the_case_of_ascii_letters_alone(forgery):
    forgery.field("fix")["name"] = "k"
    forgery.field("rag")["name"] = "\N{KELVIN SIGN}"
    forgery.seal()
    assert [p.rule for p in validate(forgery.path) if not p.is_warning] == ["R007", "R030", "R030"]


def test_an_unknown_level_is_refused_before_anything_is_read(tmp_path):
    with pytest.raises(ValueError, match="level 'fast': expected one of 'structure', 'records', 'digests'"):
        validate(tmp_path / "nothing", level="fast")


@pytest.mark.parametrize("level", LEVELS)
def test_progress_ends_with_all_bytes_of_the_level_done(forgery, level):
    sizes = {f: f.stat().st_size for f in forgery.path.rglob("*") if f.is_file()}
    sizes.pop(forgery.path / "manifest.json")
    if level == "structure":
        for file in sizes:
            if file.suffix == ".shard":
                count = forgery.manifest["shards"][int(file.stem)]
                sizes[file] = 64 + count * (4 if file.parent.name == "fix" else 20)

    def check():
        calls = []
        validate(forgery.path, level=level, progress=lambda done, total: calls.append((done, total)))
        assert calls[-1] == (sum(sizes.values()), sum(sizes.values()))
        assert {total for _, total in calls} == {calls[-1][1]}
        assert [done for done, _ in calls] == sorted(done for done, _ in calls)

    check()
    # A file ends early, and those of a field are not opened.
    forgery.field("zst").update(delta=0)
    forgery.seal()
    (forgery.path / "fields" / "txt" / "00000.shard").unlink()
    for file in list(sizes):
        if file.parent.name == "zst":
            del sizes[file]
    check()


def test_progress_of_a_long_file_comes_on_the_way(tmp_path):
    reference.write(tmp_path / "c", {"x": Dense("uint8", (2**20,))}, [{"x": np.zeros(2**20, "u1")}] * 8)
    for level in "records", "digests":
        calls = []
        validate(tmp_path / "c", level=level, progress=lambda done, total, calls=calls: calls.append(done))
        assert len(calls) >= 4
        assert calls == sorted(calls)


def test_an_exception_of_progress_ends_the_run_and_comes_up(forgery):
    def stop(done, total):
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        validate(forgery.path, progress=stop)


@pytest.mark.parametrize("level", ["records", "digests"])
def test_a_file_that_is_cut_while_it_is_read_ends_there_and_the_rest_is_looked_at(tmp_path, level):
    path = tmp_path / "c"
    samples = [{"x": np.full(2**20, i, "u1"), "y": b"abc", "n": i} for i in range(8)]
    reference.write(path, {"x": Dense("uint8", (2**20,)), "y": Bytes()}, samples, {"n": "int8"})
    files = [path / "fields" / "x" / "00000.shard", path / "fields" / "y" / "00000.shard"]
    with open(files[1], "r+b") as file:
        file.seek(64)
        file.write(b"z")

    def cut(done, total):
        if files[0].stat().st_size > 2**22:
            os.truncate(files[0], 2**22)

    problems = validate(path, level=level, progress=cut)
    assert places(problems)[0] == ("R030", "x", 0, None)
    assert "shorter" in problems[0].message
    assert places(problems)[-1] == ("R033", "y", 0, 0)


def test_metadata_that_is_cut_while_it_is_read_is_no_end_of_the_process(tmp_path):
    path = tmp_path / "c"
    rows = [{"x": np.int8(0), "text": "0123456789abcdef" * 4096} for _ in range(160)]
    reference.write(path, {"x": Dense("int8")}, rows, {"text": "string"})

    def cut(done, total):
        if done > 2**22:
            os.truncate(path / "metadata.arrow", 2**22)

    assert places(validate(path, progress=cut)) == [("R030", None, None, None)]


@pytest.fixture
def as_bools(change_manifest):
    """Says of fields of uint8 that they hold bools."""

    def as_bools(path, *names):
        def change(manifest):
            for field in manifest["fields"]:
                if field["name"] in names:
                    field["dtype"] = "bool"

        change_manifest(path, change)

    return as_bools


def test_bools_of_every_codec_are_looked_at_and_those_of_other_dtypes_are_not(tmp_path, as_bools):
    fields = {
        "dense": Dense("uint8", (3,)),
        "zstd": Dense("uint8", (3,), codec="zstd"),
        "ragged": Ragged("uint8", codec="zstd"),
        "other": Ragged("uint8"),
    }
    good, bad = ({name: np.array([0, 1, i], "u1") for name in fields} for i in (1, 2))
    reference.write(tmp_path / "c", fields, [good, bad])
    as_bools(tmp_path / "c", "dense", "zstd", "ragged")
    problems = validate(tmp_path / "c", level="records")
    assert places(problems) == [("R052", name, 0, 1) for name in ("dense", "zstd", "ragged")]
    assert all("byte 2 of the record is 2" in problem.message for problem in problems)


def test_long_records_are_looked_at_in_pieces_with_the_same_findings(tmp_path, as_bools):
    size = 2**22 + 3
    text = "ä" * (size // 2)
    fields = {"t": Text(), "z": Text(codec="zstd"), "b": Ragged("uint8"), "d": Bytes(codec="zstd")}
    flags = np.zeros(size, "u1")
    junk = np.random.default_rng(1).integers(0, 256, size + 9, np.uint8).tobytes()
    good = {"t": text, "z": text, "b": flags, "d": junk}
    bad = np.append(flags[1:], np.uint8(7))
    reference.write(tmp_path / "c", fields, [good, {**good, "b": bad}])
    as_bools(tmp_path / "c", "b")
    problems = validate(tmp_path / "c")
    assert places(problems) == [("R052", "b", 0, 1)]
    assert f"byte {size - 1} " in problems[0].message
    with open(tmp_path / "c" / "fields" / "d" / "00000.shard", "r+b") as file:
        file.seek(2**22 + 64)
        file.write(bytes(9))
    assert places(validate(tmp_path / "c", level="records"))[1:] == [("R033", "d", 0, 0)]


def test_text_is_cut_between_pieces_without_harm_and_an_error_is_named_by_its_byte(monkeypatch):
    from dsrt_format.validate import content

    monkeypatch.setattr(content, "PIECE_BYTES", 3)

    class Field:
        kind, dtype = "text", "uint8"

    content.content_of(Field).check("aä€😀z".encode() * 5)
    for data in b"abcd\xff", b"aaaa\xe2\x82", b"\xc3", "ä€".encode() + b"\xf0\x9f\x98\x80\x80":
        with pytest.raises(UnicodeDecodeError) as expected:
            data.decode()
        with pytest.raises(content.Violation, match=f"at byte {expected.value.start}$"):
            content.content_of(Field).check(data)


def test_a_cache_that_a_rebuild_replaces_meanwhile_is_looked_at_again(tmp_path):
    for name, value in ("c", b"old"), ("new", b"new"):
        reference.write(tmp_path / name, {"x": Bytes(), "y": Bytes()}, [{"x": value, "y": value}])

    def replace(done, total):
        if (tmp_path / "new").exists():
            (tmp_path / "c").rename(tmp_path / "old")
            (tmp_path / "new").rename(tmp_path / "c")
            shutil.rmtree(tmp_path / "old")

    assert validate(tmp_path / "c", progress=replace) == []


DAMAGE = st.lists(
    st.tuples(st.integers(0, 2**20), st.sampled_from(["flip", "zero", "cut", "grow", "copy", "gone"])),
    min_size=1,
    max_size=4,
)


@given(damage=DAMAGE)
@settings(max_examples=60)
def test_each_level_finds_all_that_the_one_before_it_finds(damage, vectors, tmp_path_factory):
    path = tmp_path_factory.mktemp("nested") / "demo"
    shutil.copytree(vectors / "example" / "demo", path)
    for at, how in damage:
        files = sorted(p for p in path.rglob("*") if p.is_file() and p.name != "manifest.json")
        file, data = files[at % len(files)], bytearray(files[at % len(files)].read_bytes())
        file.chmod(0o644)
        at %= max(len(data), 1)
        if how == "flip" and data:
            data[at] ^= 1 << at % 8
        elif how == "zero":
            data[at : at + 16] = bytes(len(data[at : at + 16]))
        elif how == "cut":
            del data[at:]
        elif how == "grow":
            data += b"\1"
        elif how == "copy":
            data = files[(at + 1) % len(files)].read_bytes()
        file.write_bytes(data)
        if how == "gone":
            file.unlink()
    found = [validate(path, level=level) for level in LEVELS]
    shutil.rmtree(path)
    for less, more in pairwise(found):
        rest = iter(more)
        # In the same order, too.
        assert all(problem in rest for problem in less)
