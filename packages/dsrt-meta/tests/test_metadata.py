import shutil
from datetime import datetime
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import dsrt_meta.table
from dsrt_format import FormatError
from dsrt_meta import Dataset

# What the cache of conftest.py holds.
LABELS = [int(digit) for digit in "201102001200"]
SPECIES = ["cat", "dog", None, "cat", "a species with a long name", "dog"]
SPECIES += ["cat", "", "größe", "dog", "cat", None]


def expected(dataset: Dataset) -> pl.DataFrame:
    n = len(LABELS)
    return pl.DataFrame(
        {
            "cache_id": [dataset.caches[0].cache_id] * n,
            "sample_id": range(n),
            "label": pl.Series(LABELS, dtype=pl.Int32),
            "species": SPECIES,
            "width": [None if i == 5 else i * 10 for i in range(n)],
            "taken": [datetime(2020, 1, 1 + i) for i in range(n)],
            "weight": pl.Series([None] * n, dtype=pl.Float64),
        }
    )


def test_the_frame_holds_identities_stored_columns_and_an_unset_weight(pets: Path) -> None:
    dataset = Dataset.open(pets)
    assert_frame_equal(dataset.metadata, expected(dataset))
    assert_frame_equal(dataset.lazy().collect(), expected(dataset))


def test_rows_chosen_again_and_again_keep_their_metadata(pets: Path) -> None:
    dataset = Dataset.open(pets)
    rows = [7, 0, 7, 11, 5]
    chosen = dataset.select_rows(rows)
    assert_frame_equal(chosen.metadata, expected(dataset)[rows])
    assert_frame_equal(chosen.select_rows([4, 4, 1]).metadata, expected(dataset)[[5, 5, 0]])


def test_a_stored_weight_stands_in_the_weight_column(weighted: Path) -> None:
    frame = Dataset.open(weighted).metadata
    assert frame.columns == ["cache_id", "sample_id", "weight"]
    assert frame["weight"].to_list() == [0.0, 0.5, 1.0, 1.5]


def test_a_cache_without_metadata_has_identities_and_weights(bare: Path) -> None:
    frame = Dataset.open(bare).metadata
    assert frame.schema == {"cache_id": pl.Int64, "sample_id": pl.Int64, "weight": pl.Float64}
    assert frame["sample_id"].to_list() == [0, 1, 2]
    assert Dataset.open(bare).select_rows([2, 1]).metadata["sample_id"].to_list() == [2, 1]


def test_an_empty_choice_keeps_the_schema(pets: Path) -> None:
    dataset = Dataset.open(pets)
    assert_frame_equal(dataset.filter(pl.lit(False)).metadata, expected(dataset).head(0))


def in_map_of(file: Path, values: pl.Series) -> bool:
    """Whether the values lie in a map of the file."""
    address = values.to_numpy(allow_copy=False).ctypes.data
    maps = [line.split(maxsplit=5) for line in Path("/proc/self/maps").read_text().splitlines()]
    ranges = [fields[0].split("-") for fields in maps if fields[5:] == [str(file.resolve())]]
    return any(int(start, 16) <= address < int(end, 16) for start, end in ranges)


def test_stored_columns_are_mapped_and_not_copied(pets: Path) -> None:
    dataset = Dataset.open(pets, io="mmap")
    edited = dataset.with_columns(one=pl.lit(1)).with_weights(None)
    for frame in (dataset.metadata, edited.metadata):
        assert in_map_of(pets / "metadata.arrow", frame["label"])
    for copied in (dataset.metadata["label"].clone() + 0, Dataset.open(pets, io="pread").metadata["label"]):
        assert not in_map_of(pets / "metadata.arrow", copied)


def test_more_samples_than_polars_counts_are_refused_in_words(
    pets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dsrt_meta.table, "_most_rows", lambda: len(LABELS))
    assert Dataset.open(pets).metadata.height == len(LABELS)
    monkeypatch.setattr(dsrt_meta.table, "_most_rows", lambda: len(LABELS) - 1)
    for dataset in (Dataset.open(pets), Dataset.open(pets).head(3)):
        message = rf"{pets} has 12 samples, .* {len(dataset)} rows, .* at most 11; .*polars\[rt64\]"
        with pytest.raises(ValueError, match=message):
            dataset.filter(pl.col("label") == 1)


def test_polars_with_narrow_indexes_counts_to_the_end_of_uint32(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind, most in ((pl.UInt32, 2**32 - 1), (pl.UInt64, 2**64 - 1)):
        monkeypatch.setattr(pl, "get_index_type", lambda kind=kind: kind)
        assert dsrt_meta.table._most_rows() == most


def test_the_frame_stays_valid_when_the_dataset_is_gone(pets: Path) -> None:
    frame = Dataset.open(pets).metadata
    assert frame["species"].to_list() == SPECIES


def test_damage_to_the_metadata_is_found_before_polars_sees_it(pets: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "pets"
    shutil.copytree(pets, damaged)
    file = damaged / "metadata.arrow"
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.chmod(0o644)
    file.write_bytes(content)
    dataset = Dataset.open(damaged)
    with pytest.raises(FormatError, match="R041") as error:
        dataset.filter(pl.col("label") == 1)
    assert error.value.cache == str(damaged)
