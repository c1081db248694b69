import shutil
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl
import pytest

from dsrt_format import NotPublishedError
from dsrt_format.conformance.vectors import FOLDER
from dsrt_meta import Dataset
from dsrt_native import Loader, Population

# What the cache of conftest.py holds.
LABELS = [int(digit) for digit in "201102001200"]
SPECIES = ["cat", "dog", None, "cat", "a species with a long name", "dog"]
SPECIES += ["cat", "", "größe", "dog", "cat", None]
N = len(LABELS)


@pytest.fixture
def dataset(pets: Path) -> Dataset:
    return Dataset.open(pets)


def test_making_a_dataset_by_its_class_says_how_to_open_one(pets: Path) -> None:
    with pytest.raises(TypeError, match=r"Dataset\.open"):
        Dataset(pets)  # type: ignore[arg-type]  # what people try first


def test_importing_the_package_does_not_import_polars_and_starts_no_thread() -> None:
    code = (
        "import os, sys, numpy; before = len(os.listdir('/proc/self/task')); import dsrt_meta; "
        "started = len(os.listdir('/proc/self/task')) - before; "
        "print('polars' in sys.modules, 'pyarrow' in sys.modules, started)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["False", "False", "0"]


def test_what_is_no_cache_is_not_opened(tmp_path: Path) -> None:
    with pytest.raises(NotPublishedError, match=str(tmp_path)):
        Dataset.open(tmp_path)


@pytest.mark.parametrize("io", ["mmap", "pread"])
def test_files_are_read_as_asked_for_and_edits_go_on_so(pets: Path, io: Literal["mmap", "pread"]) -> None:
    dataset = Dataset.open(pets, io=io).filter(pl.col("label") == 0).with_columns(n=pl.col("label") + 1)
    assert [cache.io for cache in dataset.caches] == [io]
    assert dataset.metadata["n"].to_list() == [1] * LABELS.count(0)
    assert [sample["image"][0, 0] for sample in (dataset[0], dataset[-1])] == [1, 11]
    batch = next(iter(Loader(dataset, 6, order="sequential", fields=["caption"])))
    assert batch["caption"] == [f"number {i}" for i, label in enumerate(LABELS) if label == 0]
    with pytest.raises(ValueError, match="'auto', 'mmap' or 'pread'"):
        Dataset.open(pets, io="read")  # type: ignore[arg-type]  # a word that there is not


def test_one_sample_holds_fields_metadata_and_extra_columns(dataset: Dataset) -> None:
    sample = dataset.with_columns(twice=pl.col("label") * 2)[8]
    assert list(sample) == ["image", "tokens", "caption", "label", "species", "width", "taken", "twice"]
    assert sample["image"].tolist() == [[8] * 3] * 2
    assert sample["tokens"].tolist() == []
    assert sample["caption"] == "number 8"
    assert (sample["label"], sample["species"], sample["width"], sample["twice"]) == (1, "größe", 80, 2)
    assert sample["taken"] == np.datetime64("2020-01-09", "us")


def test_a_sample_shows_null_as_none_and_a_batch_of_it_says_what_to_do(dataset: Dataset) -> None:
    assert dataset[5]["width"] is None
    assert dataset[2]["species"] is None
    with pytest.raises(ValueError, match=r"width.*fill_null"):
        dataset[4:7]


def test_a_batch_comes_in_the_order_asked_for(dataset: Dataset) -> None:
    chosen = dataset.select_rows([9, 1, 3, 11])
    batch = chosen[[2, -1, 0, 2]]
    assert batch["image"][:, 0, 0].tolist() == [3, 11, 9, 3]
    assert batch["label"].tolist() == [LABELS[i] for i in (3, 11, 9, 3)]
    assert batch["species"] == [SPECIES[i] for i in (3, 11, 9, 3)]
    assert [t.tolist() for t in batch["tokens"].to_list()] == [[3, 4, 5], [11, 12, 13], [9], [3, 4, 5]]
    assert chosen[1:3]["caption"] == ["number 1", "number 3"]
    assert chosen[:]["width"].tolist() == [90, 10, 30, 110]


def test_indexing_by_anything_but_rows_is_refused(dataset: Dataset) -> None:
    with pytest.raises(TypeError, match=r"dataset\.metadata\['label'\]"):
        dataset["label"]
    with pytest.raises(IndexError, match="12"):
        dataset[12]
    with pytest.raises(TypeError, match="bool"):
        dataset[[True] * N]


def test_extra_columns_are_delivered_by_a_loader(dataset: Dataset) -> None:
    day = timedelta(days=1)
    edited = dataset.filter(pl.col("width") > 20).with_columns(
        score=pl.col("width") / 10, name=pl.col("species").fill_null("?"), later=pl.col("taken") + day
    )
    with Loader(edited, 4, order="sequential", fields=["caption", "score", "name", "later"]) as loader:
        batches = list(loader)
    rows = [3, 4, 6, 7, 8, 9, 10, 11]
    assert [c for batch in batches for c in batch["caption"]] == [f"number {i}" for i in rows]
    assert np.concatenate([batch["score"] for batch in batches]).tolist() == [float(i) for i in rows]
    named = ["?" if SPECIES[i] is None else SPECIES[i] for i in rows]
    assert [name for batch in batches for name in batch["name"]] == named
    assert batches[0]["later"].tolist() == [datetime(2020, 1, 2 + i) for i in rows[:4]]


class Edited:
    """A dataset that is replaced by an edit of it whenever its population was read."""

    def __init__(self, dataset: Dataset) -> None:
        self.dataset = dataset
        self.reads = 0

    @property
    def population(self) -> Population:
        found = self.dataset.population
        self.reads += 1
        self.dataset = self.dataset.filter(pl.col("label") == 1).with_columns(label2=pl.lit(0))
        return found


def test_a_loader_reads_the_population_once_and_keeps_its_rows(dataset: Dataset) -> None:
    edited = Edited(dataset)
    with Loader(edited, 5, order="sequential", fields=["label"]) as loader:
        first = next(iter(loader))
        loader.seek(0)
        assert np.concatenate([batch["label"] for batch in loader]).tolist() == LABELS
        assert len(loader) == 3
        assert loader.dataset is edited
    assert first["label"].tolist() == LABELS[:5]
    assert edited.reads == 1
    assert len(edited.population) == LABELS.count(1)


def test_a_weighted_dataset_is_drawn_by_weight(dataset: Dataset) -> None:
    edited = dataset.with_weights(pl.col("label") == 1)
    with Loader(edited, 8, fields=["label"]) as loader:
        assert {int(label) for batch in loader.steps(10) for label in batch["label"]} == {1}


def test_the_digest_stands_for_rows_and_weights(dataset: Dataset) -> None:
    digests = {
        dataset.digest,
        dataset.head(3).digest,
        dataset.select_rows([1, 0, 2]).digest,
        dataset.with_weights(pl.lit(1.0)).digest,
        dataset.with_weights(pl.lit(2.0)).digest,
    }
    assert len(digests) == 5
    assert all(len(digest) == 64 for digest in digests)
    assert dataset.filter(pl.lit(True)).digest == dataset.digest
    assert dataset.with_columns(a=pl.lit(1)).digest == dataset.digest


def test_the_repr_says_what_there_is(dataset: Dataset, pets: Path) -> None:
    edited = dataset.filter(pl.col("label") < 2).with_columns(score=pl.lit(0.5))
    edited = edited.with_weights(pl.when(pl.col("label") == 1).then(pl.col("width") / 40).otherwise(0))
    size = sum(file.stat().st_size for file in pets.rglob("*.*") if file.name != "manifest.json")
    assert repr(edited).splitlines() == [
        "Dataset: 9 rows",
        f"  caches   pets: 12 samples, {size / 1024:.1f} KiB at {pets}",
        "  fields   image    dense   uint8[2, 3]  raw",
        "           tokens   ragged  uint16[*]    zstd",
        "           caption  text                 raw",
        "  metadata label int32, species string, width int64, taken timestamp[us]",
        "  extra    score float64",
        "  weights  0.5 to 2, 6 rows zero, effective sample size 2.2",
        f"  digest   {edited.digest[:16]}",
    ]


def test_the_repr_is_short_for_a_bare_cache_and_for_weights_of_zero(bare: Path) -> None:
    dataset = Dataset.open(bare)
    assert [line.split()[0] for line in repr(dataset).splitlines()] == [
        "Dataset:",
        "caches",
        "fields",
        "weights",
        "digest",
    ]
    assert "weights  none" in repr(dataset)
    assert "weights  all zero" in repr(dataset.with_weights(pl.lit(0.0)))


def test_the_repr_of_damaged_metadata_says_what_cannot_be_read(weighted: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "weighted"
    shutil.copytree(weighted, damaged)
    file = damaged / "metadata.arrow"
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.chmod(0o644)
    file.write_bytes(content)
    lines = repr(Dataset.open(damaged)).splitlines()
    assert [line.split()[0] for line in lines] == [
        "Dataset:",
        "caches",
        "fields",
        "metadata",
        "weights",
        "digest",
    ]
    assert all("cannot be read: R041" in line for line in lines[3:5])
    assert lines[5] == "  digest   unknown without the weights"


def test_the_repr_of_a_dataset_whose_cache_was_closed_says_what_cannot_be_read(weighted: Path) -> None:
    dataset = Dataset.open(weighted)
    dataset.caches[0].close()
    lines = repr(dataset).splitlines()
    assert lines[0].startswith("Dataset: ")
    assert any("cannot be read" in line and "closed" in line for line in lines)


def test_the_repr_of_damaged_weights_says_so_and_lists_the_columns() -> None:
    lines = repr(Dataset.open(FOLDER / "bad" / "R046-negative" / "cache")).splitlines()
    assert any(line.startswith("  metadata ") for line in lines)
    assert not any("cannot be read" in line for line in lines[:-2])
    assert lines[-2].startswith("  weights  cannot be read: R046")
    assert lines[-1] == "  digest   unknown without the weights"
