"""Samples come one by one, as columns, or from Polars: the cache has the same bytes."""

import datetime
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsrt_format import Bytes, Dense, Ragged, SchemaError, Text
from dsrt_native import CacheWriter

from .schemas import datasets
from .test_payload import EXAMPLES, Folder, write_native


def manifest(path):
    return (path / "manifest.json").read_bytes()


def columns_of(specs, columns, samples):
    """Samples as append_batch takes them: one array where the field is dense, lists elsewhere."""
    given = {name: [sample[name] for sample in samples] for name in (*specs, *columns)}
    return given | {name: np.stack(given[name]) for name, spec in specs.items() if isinstance(spec, Dense)}


@EXAMPLES
@given(
    dataset=datasets(), shard=st.integers(1, 5), cuts=st.lists(st.integers(0, 12), max_size=3), data=st.data()
)
def test_any_division_into_batches_and_samples_gives_the_same_bytes(dataset, shard, cuts, data):
    specs, columns, samples = dataset
    with Folder() as folder:
        write_native(folder / "a" / "c", specs, columns, samples, samples_per_shard=shard)
        places = sorted({0, len(samples), *(cut for cut in cuts if cut < len(samples))})
        with CacheWriter(folder / "b" / "c", specs, columns, samples_per_shard=shard) as writer:
            for start, end in pairwise(places):
                if data.draw(st.booleans()):
                    writer.append_batch(columns_of(specs, columns, samples[start:end]))
                else:
                    for sample in samples[start:end]:
                        writer.append(sample)
        assert manifest(folder / "a" / "c") == manifest(folder / "b" / "c")


FIELDS = {
    "vector": Dense("float32", (3,)),
    "number": Dense("int64"),
    "tokens": Ragged("uint16", codec="zstd"),
    "data": Bytes(),
    "text": Text(),
}
COLUMNS = {
    "label": "int32",
    "kind": "string",
    "name": "string",
    "day": "date",
    "at": "timestamp[us]",
    "seen": "timestamp[ms, UTC]",
    "took": "duration[ms]",
    "flag": "bool",
}


def samples():
    return [
        {
            "vector": np.arange(i, i + 3, dtype=np.float32),
            "number": i,
            "tokens": np.arange(i, dtype=np.uint16),
            "data": bytes([i]) * i,
            "text": "ü" * i,
            "label": None if i == 1 else i,
            "kind": "cat" if i % 2 else "dog",
            "name": None if i == 3 else f"the name of number {i}",
            "day": datetime.date(2024, 1, 1 + i),
            "at": datetime.datetime(2024, 1, 1, i),
            "seen": datetime.datetime(2024, 1, 1, i, tzinfo=datetime.UTC),
            "took": datetime.timedelta(seconds=i),
            "flag": None if i == 2 else i > 2,
        }
        for i in range(6)
    ]


def frame():
    rows = [row | {"vector": row["vector"].tolist(), "tokens": row["tokens"].tolist()} for row in samples()]
    schema = {
        "vector": pl.Array(pl.Float32, 3),
        "number": pl.Int64,
        "tokens": pl.List(pl.UInt16),
        "data": pl.Binary,
        "text": pl.String,
        "label": pl.Int64,
        "kind": pl.Categorical,
        "name": pl.String,
        "day": pl.Date,
        "at": pl.Datetime("ms"),
        "seen": pl.Datetime("us", "UTC"),
        "took": pl.Duration("us"),
        "flag": pl.Boolean,
    }
    return pl.DataFrame(rows, schema=schema)


@pytest.mark.parametrize(
    "form",
    [
        lambda frame: frame,
        lambda frame: pl.concat([frame[:2], frame[2:]], rechunk=False),
        lambda frame: {name: frame[name] for name in frame.columns},
        lambda frame: frame.with_columns(kind=pl.col("kind").cast(pl.Enum(["dog", "cat"]))),
        lambda frame: frame.select(reversed(frame.columns)),
    ],
    ids=["frame", "chunks", "series", "enum", "other order"],
)
def test_polars_gives_the_bytes_of_appending_one_by_one(tmp_path, form):
    write_native(tmp_path / "a" / "c", FIELDS, COLUMNS, samples())
    with CacheWriter(tmp_path / "b" / "c", FIELDS, COLUMNS) as writer:
        writer.append_batch(form(frame()))
    assert manifest(tmp_path / "a" / "c") == manifest(tmp_path / "b" / "c")


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (pl.col("number").cast(pl.Int32), "field number: Arrow data of Int32 is not stored as int64"),
        (pl.col("vector").cast(pl.List(pl.Float32)), "field vector: .*fixed-size lists"),
        (pl.lit(None, pl.String).alias("text"), "field text, sample 0: a null"),
        (pl.lit("x").alias("label"), "field label, sample 0: a string is not stored as int32"),
        (pl.col("label").cast(pl.Decimal(9, 2)), "field label: .*Decimal.* is not stored as int32"),
        (pl.lit(2**40).alias("label"), "field label, sample 0: 1099511627776 is out of range"),
        (pl.col("at").dt.replace_time_zone("Europe/Berlin"), "field at: .*zone"),
        (pl.lit(1).alias("more"), "the columns have more, which no field"),
    ],
)
def test_a_frame_that_does_not_fit_is_refused_by_name(tmp_path, column, said):
    with CacheWriter(tmp_path / "c", FIELDS, COLUMNS) as writer:
        with pytest.raises(SchemaError, match=said):
            writer.append_batch(frame().with_columns(column))
        assert writer.count == 0
