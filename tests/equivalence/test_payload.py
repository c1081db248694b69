"""Native and reference write the same caches and read the same values, for any schema and any records."""

import json
import shutil
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dsrt_format import Bytes, Dense, Ragged, Text, reference
from dsrt_native import Cache, CacheWriter

from .schemas import datasets, same

EXAMPLES = settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))


class Folder:
    """A folder per example: hypothesis runs many in one test."""

    def __enter__(self) -> Path:
        self.path = Path(tempfile.mkdtemp(prefix="dsrt-"))
        return self.path

    def __exit__(self, *exc):
        shutil.rmtree(self.path)


def write_native(path, specs, columns, samples, **options):
    with CacheWriter(path, specs, columns, **options) as writer:
        for sample in samples:
            writer.append(sample)


def is_text(spec):
    return isinstance(spec, Text | Bytes)


def check_sample(wanted, found):
    assert list(found) == list(wanted)
    for name, value in wanted.items():
        assert same(value, found[name]), (name, value, found[name])


def check_batch(specs, wanted, batch, columns):
    for name, spec in specs.items():
        values = [sample[name] for sample in wanted]
        if is_text(spec):
            assert batch[name] == values
        elif isinstance(spec, Dense):
            assert batch[name].shape == (len(wanted), *spec.shape)
            assert all(same(value, row) for value, row in zip(values, batch[name], strict=True))
        else:
            ragged = batch[name]
            assert ragged.lengths().tolist() == [value.size for value in values]
            assert all(same(v, r) for v, r in zip(values, ragged.to_list(), strict=True))
    for name in columns:
        values = [sample[name] for sample in wanted]
        if isinstance(batch[name], list):
            assert batch[name] == values
        else:
            assert batch[name].dtype == np.dtype(
                NUMPY.get(columns[name].partition(",")[0].rstrip("]"), columns[name])
            )
            assert all(
                same(np.asarray(v, batch[name].dtype), b) for v, b in zip(values, batch[name], strict=True)
            )


@pytest.mark.parametrize("io", ["mmap", "pread"])
@EXAMPLES
@given(dataset=datasets(), shard=st.integers(1, 5), data=st.data())
def test_native_reads_what_the_reference_writes(io, dataset, shard, data):
    specs, columns, samples = dataset
    with Folder() as folder:
        reference.write(folder / "c", specs, samples, columns, samples_per_shard=shard)
        truth = reference.read(folder / "c")
        with Cache.open(folder / "c", io=io) as cache:
            assert cache.io == io
            assert len(cache) == len(samples)
            for i, sample in enumerate(truth):
                check_sample(sample, cache[i])
            rows = data.draw(
                st.lists(st.integers(0, max(0, len(samples) - 1)), max_size=0 if not samples else 9)
            )
            whole = [
                c for c in columns if not any(sample[c] is None for sample in truth) or columns[c] in TEXT
            ]
            names = [*specs, *whole]
            for wanted in (rows, list(range(len(samples)))):
                batch = cache.population.gather(np.array(wanted, np.int64), names)
                check_batch(specs, [truth[i] for i in wanted], batch, {name: columns[name] for name in whole})
                check_wide(specs, wanted, batch, cache.population)
            start, stop = sorted(data.draw(st.tuples(*[st.integers(0, len(samples))] * 2)))
            for name in specs:
                part = cache.fields[name][start:stop]
                check_batch({name: specs[name]}, truth[start:stop], {name: part}, {})
                assert cache.fields[name].lengths().tolist() == [length(sample[name]) for sample in truth]


WIDEST = {"bool": "uint64", "float32": "float64", "float16": "float64", "bfloat16": "float64"}
WIDEST |= {"complex64": "complex128", "float8_e4m3fn": "float64", "float8_e5m2": "float64"}
WIDEST |= {f"{sign}int{bits}": "int64" for sign in ("", "u") for bits in (8, 16, 32)}


def check_wide(specs, rows, batch, population):
    """Records delivered as a type of 64 bits, if dense in memory of ours, are those of the batch."""
    fields = {name: WIDEST.get(spec.dtype) for name, spec in specs.items() if not is_text(spec)}
    with warnings.catch_warnings():
        # Of a signalling NaN.
        warnings.simplefilter("ignore")
        expected = {name: of_dtype(batch[name], wide) for name, wide in fields.items()}
    found = population.gather(np.array(rows, np.int64), fields)
    dense = {name: wide for name, wide in fields.items() if isinstance(specs[name], Dense)}
    out = {name: np.empty_like(expected[name]) for name in dense}
    assert all(array is out[name] for name, array in population.gather(rows, dense, out=out).items())
    for name, one in expected.items():
        for other in (found[name], out.get(name, found[name])):
            for part, whole in zip(parts(other), parts(one), strict=True):
                assert part.dtype == whole.dtype
                np.testing.assert_array_equal(part, whole)


def of_dtype(column, wide):
    if isinstance(column, np.ndarray):
        return column if wide is None else column.astype(wide)
    return column if wide is None else column._replace(values=column.values.astype(wide))


def parts(column):
    return [column] if isinstance(column, np.ndarray) else [part for part in column if part is not None]


TEXT = ("string", "binary")
NUMPY = {"date": "datetime64[D]"}
NUMPY |= {f"timestamp[{unit}": f"datetime64[{unit}]" for unit in ("ms", "us", "ns")}
NUMPY |= {f"duration[{unit}": f"timedelta64[{unit}]" for unit in ("ms", "us", "ns")}


def length(value):
    return (
        len(value.encode())
        if isinstance(value, str)
        else len(value)
        if isinstance(value, bytes)
        else value.size
    )


@EXAMPLES
@given(dataset=datasets(), shard=st.integers(1, 5))
def test_the_reference_reads_what_native_writes(dataset, shard):
    specs, columns, samples = dataset
    with Folder() as folder:
        write_native(folder / "c", specs, columns, samples, samples_per_shard=shard)
        reference.write(folder / "r", specs, samples, columns, samples_per_shard=shard)
        truth = reference.read(folder / "r")
        for wanted, found in zip(truth, reference.read(folder / "c"), strict=True):
            check_sample(wanted, found)
        with Cache.open(folder / "c") as cache:
            for i, wanted in enumerate(truth):
                check_sample(wanted, cache[i])


@EXAMPLES
@given(dataset=datasets(), shard=st.integers(1, 5), limit=st.integers(1, 60))
def test_both_writers_write_the_same_bytes_but_for_frames_and_arrow(dataset, shard, limit):
    specs, columns, samples = dataset
    options = {
        "samples_per_shard": shard,
        "shard_bytes": limit,
        "attributes": {"b": [1, "ü"], "a": None},
        "fingerprint": "f",
    }
    # Frames of the two zstd versions may differ in length, and with them where a shard ends.
    raw = {
        name: type(spec)(codec="raw")
        if is_text(spec)
        else Dense(spec.dtype, spec.shape)
        if isinstance(spec, Dense)
        else Ragged(spec.dtype, spec.ndim)
        for name, spec in specs.items()
    }
    with Folder() as folder:
        (folder / "n").mkdir()
        (folder / "r").mkdir()
        write_native(folder / "n" / "c", raw, columns, samples, **options)
        reference.write(folder / "r" / "c", raw, samples, columns, **options)
        left, right = (
            {p.relative_to(folder / side): p.read_bytes() for p in (folder / side).rglob("*") if p.is_file()}
            for side in "nr"
        )
        assert sorted(left) == sorted(right)
        arrow, manifest = Path("c/metadata.arrow"), Path("c/manifest.json")
        for name in left.keys() - {arrow, manifest}:
            assert left[name] == right[name], name
        one, two = (json.loads(side[manifest]) for side in (left, right))
        if columns:
            assert one["metadata"] is not None
            assert two["metadata"] is not None
            for side in (one, two):
                del side["metadata"], side["digest"]
            assert one == two
        else:
            assert left[manifest] == right[manifest]


@EXAMPLES
@given(dataset=datasets(max_samples=6), shard=st.integers(1, 3))
def test_the_same_samples_give_the_same_bytes_twice(dataset, shard):
    specs, columns, samples = dataset
    with Folder() as folder:
        digests = []
        for side in "ab":
            (folder / side).mkdir()
            write_native(folder / side / "c", specs, columns, samples, samples_per_shard=shard)
            digests.append((folder / side / "c" / "manifest.json").read_bytes())
        assert digests[0] == digests[1]
