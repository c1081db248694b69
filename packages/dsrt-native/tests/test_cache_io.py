"""How the files of a cache are read: mapped or by pread, which give the same values."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

from dsrt_format import DataError, Dense, reference
from dsrt_native import Cache, Loader, Population

BOTH = ["mmap", "pread"]


@pytest.fixture(params=BOTH)
def cache(request, path):
    with Cache.open(path, io=request.param) as cache:
        assert cache.io == request.param
        yield cache


def test_samples_batches_and_metadata_are_the_same_both_ways(cache, path, samples, same):
    for i in (0, 6, 7, 22, -1):
        same(cache[i], samples[i])
    same(list(cache), samples)
    with Cache.open(path, io="mmap") as other:
        assert cache.metadata.equals(other.metadata)
        names = [*cache.fields, "split", "count", "good", "taken"]
        rows = [3, 3, 4, 5, 22, 0, *range(23)]
        found, expected = (c.population.gather(rows, names) for c in (cache, other))
        for name in names:
            for one, two in zip(found[name], expected[name], strict=True):
                same(one, two)
        for name, field in cache.fields.items():
            assert field.lengths().tolist() == other.fields[name].lengths().tolist()


def test_a_slice_of_a_field_is_a_view_only_of_a_mapped_file(cache, samples):
    part = cache.fields["vector"][1:6]
    assert part.tobytes() == b"".join(samples[i]["vector"].tobytes() for i in range(1, 6))
    assert part.flags.writeable == (cache.io == "pread")
    across = cache.fields["vector"][5:9]
    assert across.flags.writeable
    assert (across[2:] == cache.fields["vector"][7:9]).all()


def test_auto_is_one_of_the_two_and_any_other_word_is_refused(path):
    with Cache.open(path) as cache:
        assert cache.io in BOTH
    for bad in ("", "MMAP", "read", None, 1, b"pread"):
        with pytest.raises(ValueError, match=r"'auto', 'mmap' or 'pread'"):
            Cache.open(path, io=bad)


def test_pickles_and_populations_go_on_as_they_were_opened(path, samples, same):
    for io in BOTH:
        cache = pickle.loads(pickle.dumps(Cache.open(path, io=io)))
        assert cache.io == io
        same(cache[4], samples[4])
        assert [c.io for c in Population([cache]).caches] == [io]
    again = pickle.loads(pickle.dumps(Cache.open(path)))
    assert (again.io, again._io) == (Cache.open(path).io, "auto")


def test_a_closed_cache_refuses_to_read_and_what_it_gave_stays(path, samples, same):
    with Cache.open(path, io="pread") as cache:
        kept, table = cache[3], cache.metadata
    for use in (lambda: cache[0], lambda: cache.fields["vector"][0:2], lambda: cache.metadata):
        with pytest.raises(RuntimeError, match="closed"):
            use()
    same(kept, samples[3])
    assert table["count"].to_pylist() == [sample["count"] for sample in samples]
    assert cache.io == "pread"


@pytest.mark.parametrize("name", ["vector", "image", "tokens", "boxes", "caption"])
def test_damage_is_masked_alike(write_cache, name):
    path = write_cache()
    (file := path / f"fields/{name}/00001.shard").chmod(0o644)
    data = bytearray(file.read_bytes())
    data[64] ^= 1
    file.write_bytes(data)
    found = []
    for io in BOTH:
        cache = Cache.open(path, io=io)
        batch = cache.population.gather(range(23), [name], errors="mask")
        with pytest.raises(DataError) as caught:
            cache.fields[name][5:]
        values = batch[name].to_list() if hasattr(batch[name], "to_list") else batch[name]
        found.append(
            (
                [np.asarray(value).tobytes() for value in values],
                batch["_valid"].tolist(),
                str(caught.value),
                caught.value.sample,
            )
        )
    assert found[0] == found[1]
    assert found[0][1].count(False) == 1


def test_a_loader_reads_by_pread_from_many_threads(path, samples):
    cache = Cache.open(path, io="pread")
    loader = Loader(cache, 4, order="permuted", last="short", threads=4, fields=["label", "tokens", "_row"])
    seen = []
    for batch in loader:
        for k, row in enumerate(batch["_row"]):
            assert batch["label"][k] == samples[row]["label"]
            assert batch["tokens"].to_list()[k].tolist() == samples[row]["tokens"].tolist()
            seen.append(int(row))
    loader.close()
    assert sorted(seen) == list(range(23))


def run(script):
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)


@pytest.mark.parametrize("io", BOTH)
def test_an_open_cache_has_read_no_payload_and_one_read_opens_one_shard(path, io):
    run(f"""
import os
from dsrt_native import Cache

root = os.path.realpath({str(path)!r})

def held():
    # Those mapped, and those open.
    paths = {{line.split(maxsplit=5)[5].rstrip() for line in open("/proc/self/maps") if root in line}}
    for number in os.listdir("/proc/self/fd"):
        try:
            paths.add(os.readlink("/proc/self/fd/" + number))
        except OSError:
            pass
    return {{os.path.relpath(path, root) for path in paths if path.startswith(root + "/")}}

cache = Cache.open({str(path)!r}, io={io!r})
fields = cache.fields
assert held() == set(), held()
read = fields["vector"][9]
assert held() == {{"fields/vector/00001.shard"}}, held()
""")


def test_by_pread_nothing_is_mapped_and_after_close_nothing_is_open(path):
    run(f"""
import os
from dsrt_native import Cache

def mapped():
    return any({str(path)!r} in line for line in open("/proc/self/maps"))

def opened():
    links = []
    for number in os.listdir("/proc/self/fd"):
        try:
            links.append(os.readlink("/proc/self/fd/" + number))
        except OSError:
            pass
    return [link for link in links if link.startswith({str(path)!r})]

for io in ("mmap", "pread"):
    cache = Cache.open({str(path)!r}, io=io)
    everything = list(cache), cache.metadata, [field[:] for field in cache.fields.values()]
    assert mapped() == (io == "mmap"), io
    assert len(opened()) > (io == "pread"), opened()
    cache.close()
    del everything
    assert opened() == [], opened()
""")


def test_files_that_are_open_are_bounded_however_many_a_cache_has(tmp_path):
    count = 700
    samples = ({"x": np.int64(i)} for i in range(count))
    reference.write(tmp_path / "many", {"x": Dense("int64")}, samples, samples_per_shard=1)
    run(f"""
import os, resource
from dsrt_native import Cache

resource.setrlimit(resource.RLIMIT_NOFILE, (600, 600))
caches = [Cache.open({str(tmp_path / "many")!r}, io="pread") for _ in range(2)]
for cache in caches * 2:
    assert cache.fields["x"][:].tolist() == list(range({count}))
    assert [cache.fields["x"][i] for i in range(0, {count}, 7)] == list(range(0, {count}, 7))
    assert len(os.listdir("/proc/self/fd")) < 540
for cache in caches:
    cache.close()
assert len(os.listdir("/proc/self/fd")) < 20
""")


def test_a_forked_child_reads_on_by_pread(path):
    run(f"""
import os
from dsrt_native import Cache
cache = Cache.open({str(path)!r}, io="pread")
before = cache[3]["label"]
child = os.fork()
if child == 0:
    os._exit(0 if cache[3]["label"] == before and len(list(cache)) == 23 else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert len(list(cache)) == 23
""")
