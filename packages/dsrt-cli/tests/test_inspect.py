import importlib.util
import json
import re
import sys

import numpy as np
import pytest

from dsrt_cli import inspect as inspect_module
from dsrt_format import Dense, Manifest
from dsrt_format.reference import write
from dsrt_native import CacheWriter


def test_json_says_all_that_the_manifest_and_the_schema_hold(dsrt, cache):
    result = dsrt("inspect", cache, "--json")
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    manifest = Manifest.load(cache)
    assert found["path"] == str(cache)
    assert found["cache_id"] == manifest.cache_id
    assert found["digest"] == manifest.digest
    assert (found["samples"], found["shards"]) == (5, [5])
    assert [(f["name"], f["kind"], f["dtype"], f["codec"]) for f in found["fields"]] == [
        ("image", "dense", "uint8", "zstd"),
        ("tokens", "ragged", "int32", "raw"),
        ("file", "bytes", "uint8", "raw"),
        ("caption", "text", "uint8", "raw"),
    ]
    assert found["fields"][0]["shape"] == [2, 3]
    assert found["fields"][1]["ndim"] == 1
    assert found["metadata"]["columns"] == {"label": "int32", "note": "string", "score": "float64"}
    assert found["fingerprint"] is None
    assert found["attributes"] == {}


def test_sizes_are_those_of_the_files_and_shares_add_up(dsrt, cache):
    found = json.loads(dsrt("inspect", cache, "--json").stdout)
    for field in found["fields"]:
        files = (cache / "fields" / field["name"]).iterdir()
        assert field["bytes"] == sum(file.stat().st_size for file in files)
    assert found["metadata"]["bytes"] == (cache / "metadata.arrow").stat().st_size
    shares = [field["share"] for field in found["fields"]] + [found["metadata"]["share"]]
    assert sum(shares) == pytest.approx(1)


def test_people_see_names_shapes_codecs_sizes_and_column_types(dsrt, cache):
    text = dsrt("inspect", cache).stdout
    lines = [line.split() for line in text.splitlines()]
    assert ["samples", "5"] in lines
    assert ["digest", Manifest.load(cache).digest] in lines
    (image,) = (line for line in lines if line[:1] == ["image"])
    assert image[1:6] == ["dense", "uint8", "(2,", "3)", "zstd"]
    (tokens,) = (line for line in lines if line[:1] == ["tokens"])
    assert tokens[1:6] == ["ragged", "int32", "any", "length", "raw"]
    assert ["label", "int32"] in lines
    assert ["note", "string"] in lines


def test_a_cache_without_samples_and_metadata_is_described(dsrt, tmp_path):
    write(tmp_path / "empty", {"x": Dense("float32")}, [])
    found = json.loads(dsrt("inspect", tmp_path / "empty", "--json").stdout)
    assert (found["samples"], found["shards"], found["bytes"]) == (0, [], 0)
    assert found["metadata"]["columns"] == {}
    assert dsrt("inspect", tmp_path / "empty").exit_code == 0


def test_a_sample_shows_arrays_in_summary_and_text_and_metadata_as_they_are(dsrt, cache):
    result = dsrt("inspect", cache, "3", "--json")
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    assert found["sample"] == 3
    assert found["values"] == {
        "image": {"dtype": "uint8", "shape": [2, 3], "min": 3, "max": 3, "first": [3] * 6},
        "tokens": {"dtype": "int32", "shape": [3], "min": 0, "max": 2, "first": [0, 1, 2]},
        "file": {"bytes": 3, "first": "000102"},
        "caption": "caption 3",
        "label": 1,
        "note": "note 3",
        "score": 0.75,
    }


def test_empty_arrays_nulls_and_nan_are_shown(dsrt, cache):
    values = json.loads(dsrt("inspect", cache, "0", "--json").stdout)["values"]
    assert values["tokens"] == {"dtype": "int32", "shape": [0], "min": None, "max": None, "first": []}
    assert json.loads(dsrt("inspect", cache, "1", "--json").stdout)["values"]["note"] is None
    assert json.loads(dsrt("inspect", cache, "2", "--json").stdout)["values"]["score"] == "nan"
    assert "null" in dsrt("inspect", cache, "1").stdout


def test_a_sample_beyond_the_end_is_refused_with_the_number_there_are(dsrt, cache):
    result = dsrt("inspect", cache, "5")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "5" in result.stderr


def test_text_of_strangers_cannot_steer_the_terminal(dsrt, tmp_path):
    write(tmp_path / "odd", {"x": Dense("uint8")}, [], metadata={"\x1b[2Jevil": "int32"})
    text = dsrt("inspect", tmp_path / "odd").stdout
    assert "\x1b" not in text
    assert r"\x1b[2Jevil" in text


def test_a_damaged_sample_is_an_error_that_says_where(dsrt, cache):
    file = cache / "fields" / "tokens" / "00000.shard"
    content = bytearray(file.read_bytes())
    content[64] ^= 1  # the first byte of the first record that has any, which is sample 1
    file.chmod(0o644)
    file.write_bytes(content)
    result = dsrt("inspect", cache, "1")
    assert result.exit_code == 1
    for word in ("R033", "tokens", "shard 0", "sample 1"):
        assert word in result.stderr


def leave(path, fingerprint="one"):
    """Leave a build of the cache at a path that is not finished, with two of its three samples durable."""
    options = {"fingerprint": fingerprint, "samples_per_shard": 2, "replace": path.exists(), "resume": True}
    try:
        with CacheWriter(path, {"x": Dense("uint8")}, **options) as writer:
            for i in range(3):
                writer.append({"x": np.uint8(i)})
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        assert writer.durable_count == 2


def test_a_build_that_is_not_finished_is_named_where_there_is_no_cache_yet(dsrt, tmp_path):
    leave(tmp_path / "points")
    result = dsrt("inspect", tmp_path / "points")
    assert result.exit_code == 2
    error, unfinished = result.stderr.splitlines()
    assert "there is no cache" in error
    assert ".points.building holds a build that is not finished: 2 samples" in unfinished
    assert "run the same build again, which goes on from there; or remove that directory" in unfinished


def test_a_rebuild_that_is_not_finished_is_named_beside_the_cache(dsrt, cache):
    assert json.loads(dsrt("inspect", cache, "--json").stdout)["unfinished"] is None
    assert "not finished" not in dsrt("inspect", cache).stdout
    leave(cache)
    found = json.loads(dsrt("inspect", cache, "--json").stdout)
    assert (found["samples"], found["unfinished"]["durable_count"]) == (5, 2)
    assert found["unfinished"]["path"] == str(cache.with_name(".pets.building"))
    assert "holds a build that is not finished: 2 samples" in dsrt("inspect", cache).stdout


def test_without_the_engine_a_build_that_is_not_finished_is_named_all_the_same(dsrt, cache, monkeypatch):
    leave(cache)
    find = importlib.util.find_spec
    monkeypatch.setattr(
        inspect_module, "find_spec", lambda name: None if name == "dsrt_native" else find(name)
    )
    found = json.loads(dsrt("inspect", cache, "--json").stdout)["unfinished"]
    assert found["durable_count"] is None
    assert "dsrt-cli[native] tells how far it got" in found["message"]


def test_what_is_just_being_built_has_nothing_durable_yet(dsrt, tmp_path):
    with CacheWriter(tmp_path / "points", {"x": Dense("uint8")}) as writer:
        result = dsrt("inspect", tmp_path / "points")
        assert "a build that is not finished: no durable samples" in result.stderr
        assert "run the build again, which starts over" in result.stderr
        writer.append({"x": np.uint8(1)})
    assert dsrt("inspect", tmp_path / "points").exit_code == 0


def test_a_build_beside_a_cache_that_cannot_be_looked_at_does_not_hide_the_cache(dsrt, cache, monkeypatch):
    leave(cache)

    def closed(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("dsrt_native.unfinished.unfinished_build", closed)
    result = dsrt("inspect", cache, "--json")
    found = json.loads(result.stdout)
    assert (result.exit_code, found["samples"]) == (0, 5)
    assert found["unfinished"]["durable_count"] is None
    assert "cannot be looked at: [Errno 13] Permission denied" in found["unfinished"]["message"]
    assert "cannot be looked at" in dsrt("inspect", cache).stdout


def test_a_terminal_shows_long_values_in_full(on_terminal, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    path, url, name = tmp_path / "long", "https://example.org/" + "x" * 200, "column_" + "y" * 60
    sample = {"x": np.uint8(1), name: url}
    options = {"metadata": {name: "string"}, "attributes": {"url": url}, "fingerprint": url}
    with CacheWriter(path, {"x": Dense("uint8")}, **options) as writer:
        writer.append(sample)
    for words, parts in (([], [url, name, Manifest.load(path).digest]), (["0"], [url, name])):
        text = on_terminal("-m", "dsrt_cli", "inspect", path, *words, stream="stdout")
        assert "…" not in text
        shown = re.sub(r"\x1b\[[0-9;]*m|\s", "", text)
        # Long names and values stand side by side, line by line.
        for part in parts:
            assert all(shown.count(letter) >= part.count(letter) for letter in set(part))


@pytest.mark.parametrize("engine", [True, False])
def test_a_sample_is_the_same_with_and_without_the_engine(dsrt, tmp_path, monkeypatch, engine):
    import dsrt_format.reference

    row = {"x": np.float32([1, 2]), "weight": 0.5, "at": np.datetime64("2024-02-29T12:30:00", "us")}
    row["f"] = np.float32(0.1)
    columns = {"weight": "float64", "at": "timestamp[us]", "f": "float32"}
    write(tmp_path / "c", {"x": Dense("float32", (2,))}, [row], metadata=columns)
    if engine:
        monkeypatch.delattr(dsrt_format.reference, "read_sample")
    else:
        monkeypatch.setitem(sys.modules, "dsrt_native", None)
    found = json.loads(dsrt("inspect", tmp_path / "c", "0", "--json").stdout)
    assert found["values"] == {
        "x": {"dtype": "float32", "shape": [2], "min": 1.0, "max": 2.0, "first": [1.0, 2.0]},
        "weight": 0.5,
        "at": "2024-02-29T12:30:00.000000",
        "f": float(np.float32(0.1)),
    }
