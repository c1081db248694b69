import shutil
from datetime import datetime
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

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


def test_stored_columns_are_mapped_and_not_copied(pets: Path) -> None:
    dataset = Dataset.open(pets)
    label = dataset.metadata["label"].to_numpy()
    again = dataset.with_columns(one=pl.lit(1)).with_weights(None).metadata["label"].to_numpy()
    assert np.shares_memory(label, again)


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
