import subprocess
import sys
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

import dsrt_native
from dsrt_format import SchemaError
from dsrt_native import Cache, Population
from dsrt_torch import Loader, RaggedArray, memory, to_torch


def plain(value: Any) -> Any:
    """Return a value of a batch as nested lists and its dtype, for comparison."""
    if isinstance(value, tuple):
        return [plain(part) for part in value]
    if isinstance(value, torch.Tensor):
        bits = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
        wide = torch.view_as_real(value) if value.is_complex() else value
        return value.dtype, value.shape, wide.contiguous().view(bits[wide.element_size()]).tolist()
    return value


def test_importing_the_package_imports_neither_polars_nor_pyarrow_and_starts_no_thread() -> None:
    code = (
        "import os, sys, torch; before = len(os.listdir('/proc/self/task')); import dsrt_torch; "
        "started = len(os.listdir('/proc/self/task')) - before; "
        "print('polars' in sys.modules, 'pyarrow' in sys.modules, started)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["False", "False", "0"]


def test_batches_are_the_native_ones_in_tensors(population: Population) -> None:
    names = [*population.fields, "label", "name", "good", "day", "taken", "took"]
    names += ["_row", "_position", "_seed", "_valid", "cache_id", "sample_id"]
    options: dict[str, Any] = {"order": "permuted", "seed": 4, "last": "pad", "fields": names}
    with Loader(population, 3, **options) as ours, dsrt_native.Loader(population, 3, **options) as theirs:
        pairs = list(zip(ours, theirs, strict=True))
    assert len(pairs) == 4
    for tensors, arrays in pairs:
        assert list(tensors) == names
        for name, value in to_torch(arrays).items():
            assert plain(tensors[name]) == plain(value), name


def test_kinds_and_times_arrive_as_documented(population: Population) -> None:
    with Loader(population, 5, order="sequential") as loader:
        batch = next(iter(loader))
    assert batch["x"].tolist() == [[i, -i] for i in range(5)]
    assert batch["image"][3].unique().tolist() == [3]
    assert isinstance(batch["tokens"], RaggedArray)
    assert batch["tokens"].values.dtype == torch.uint16
    assert [len(record) for record in batch["tokens"].to_list()] == [0, 1, 2, 0, 1]
    assert [tuple(box.shape) for box in batch["boxes"].to_list()] == [(0, 4), (1, 4), (0, 4), (1, 4), (0, 4)]
    assert batch["jpeg"] == [b"", b"\1", b"\2\2", b"\3\3\3", b""]
    assert batch["caption"][2] == "größe 2"
    assert batch["name"] == ["n0", "n1", "n2", "n3", None]
    assert batch["good"].dtype == torch.bool
    assert batch["day"].tolist() == [0, 1, 2, 3, 4]
    assert batch["taken"].tolist() == [0, 1000, 2000, 3000, 4000]
    assert batch["took"].tolist() == [0, 1000, 2000, 3000, 4000]
    assert {batch[name].dtype for name in ("day", "taken", "took")} == {torch.int64}


def test_every_dtype_arrives_bit_for_bit(numbers: Path) -> None:
    population = Cache.open(numbers).population
    with Loader(population, 4, order="sequential", threads=1) as loader:
        (batch,) = list(loader)
    for name, value in to_torch(population[:]).items():
        assert plain(batch[name]) == plain(value), name
        got = value.values if isinstance(value, RaggedArray) else value
        assert got.dtype == getattr(torch, name[2:])
    assert batch["d-bfloat16"].float().tolist() == [[0, 1], [1, 1], [0, 1], [1, 1]]


def test_tensors_are_writable_and_outlive_the_loader(population: Population) -> None:
    loader = Loader(population, 10, order="sequential", fields=["x", "label"])
    batch = next(iter(loader))
    loader.close()
    del loader
    batch["x"] += 1
    assert batch["x"][:, 0].tolist() == [i + 1 for i in range(10)]
    # Each has a storage of its own, so that torch.save of one does not write the whole batch.
    assert batch["label"].untyped_storage().nbytes() == 40


def test_a_transform_sees_numpy_and_its_result_comes_in_tensors(population: Population) -> None:
    def transform(batch: dict[str, Any]) -> dict[str, Any]:
        assert isinstance(batch["x"], np.ndarray)
        return {"mean": batch["x"].mean(axis=1), "text": batch["caption"], "ready": torch.ones(1)}

    with Loader(population, 4, order="sequential", transform=transform) as loader:
        batch = next(iter(loader))
    assert torch.equal(batch["mean"], torch.zeros(4))
    assert batch["text"] == [f"größe {i}" for i in range(4)]
    assert batch["ready"].tolist() == [1]


def test_an_exception_of_a_transform_belongs_to_its_batch(population: Population) -> None:
    def transform(batch: dict[str, Any]) -> dict[str, Any]:
        if batch["_row"][0] == 4:
            raise KeyError("four")
        return batch

    with Loader(population, 2, order="sequential", fields=["_row"], transform=transform) as loader:
        batches = iter(loader)
        seen = [next(batches)["_row"].tolist(), next(batches)["_row"].tolist()]
        with pytest.raises(KeyError, match="four"):
            next(batches)
        seen += [batch["_row"].tolist() for batch in batches]
    assert seen == [[0, 1], [2, 3], [6, 7], [8, 9]]


def test_ranks_share_each_step(population: Population) -> None:
    def rows(rank: int, world_size: int) -> list[list[int]]:
        with Loader(
            population, 6 // world_size, seed=1, fields=["_row"], rank=rank, world_size=world_size
        ) as loader:
            return [batch["_row"].tolist() for batch in loader.steps(5)]

    alone = rows(0, 1)
    parts = [rows(rank, 3) for rank in range(3)]
    assert [a + b + c for a, b, c in zip(*parts, strict=True)] == alone


def test_short_batches_on_several_ranks_are_refused_as_soon_as_these_are_known(
    population: Population, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ValueError, match="last='short' with world_size=2"):
        Loader(population, 4, last="short", rank=0, world_size=2)
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with Loader(population, 4, last="short") as found, pytest.raises(ValueError, match="world_size=2"):
        len(found)


def test_the_rank_is_found_when_the_first_pass_begins(
    population: Population, monkeypatch: pytest.MonkeyPatch
) -> None:
    loader = Loader(population, 2, order="sequential", fields=["_row"])
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert next(iter(loader))["_row"].tolist() == [2, 3]
    assert len(loader) == 3
    loader.close()
    with Loader(population, 2, order="sequential", fields=["_row"], rank=0, world_size=1) as explicit:
        assert next(iter(explicit))["_row"].tolist() == [0, 1]


def test_processes_on_one_machine_share_its_cpus(
    population: Population, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    monkeypatch.setattr("dsrt_torch.loader.default_threads", lambda share: asked.append(share) or 1)
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "8")
    Loader(population, 2).close()
    Loader(population, 2, threads=2).close()
    assert asked == [8]


def test_a_state_goes_on_in_a_new_loader(population: Population) -> None:
    options: dict[str, Any] = {
        "order": "uniform",
        "seed": 9,
        "fields": ["_row", "_position"],
        "epoch_len": 12,
    }
    with Loader(population, 2, **options) as loader:
        whole = [batch["_row"].tolist() for _ in range(2) for batch in loader]
    with Loader(population, 2, **options) as loader:
        batches = iter(loader)
        start = [next(batches)["_row"].tolist() for _ in range(4)]
        state = loader.state_dict()
    with Loader(population, 2, **options) as loader:
        loader.load_state_dict(state)
        assert (loader.position, loader.epoch) == (8, 0)
        rest = [batch["_row"].tolist() for _ in range(loader.epoch, 2) for batch in loader]
    assert start + rest == whole


def test_without_cuda_pinning_warns_and_goes_on(
    population: Population, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.warns(UserWarning, match="no CUDA device"):
        loader = Loader(population, 5, fields=["x"], pin_memory=True)
    with loader:
        assert not next(iter(loader))["x"].is_pinned()


@pytest.fixture
def lent(monkeypatch: pytest.MonkeyPatch) -> list[torch.Tensor]:
    """Memory that stands for page-locked memory, in the order in which it was asked for."""
    tensors: list[torch.Tensor] = []

    def page_locked(size: int) -> torch.Tensor:
        room = torch.zeros(size + 64, dtype=torch.uint8)
        at = -room.data_ptr() % 64
        tensors.append(room[at : at + size])
        return tensors[-1]

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(memory, "page_locked", page_locked)
    return tensors


def storages(batch: dict[str, Any]) -> set[int]:
    found = set()
    for value in batch.values():
        parts = value if isinstance(value, RaggedArray) else [value]
        found |= {p.untyped_storage().data_ptr() for p in parts if isinstance(p, torch.Tensor) and p.numel()}
    return found


def test_a_pinned_batch_is_cut_from_one_tensor_that_is_not_used_again(
    population: Population, lent: list[torch.Tensor]
) -> None:
    fields = ["x", "tokens", "boxes", "caption", "label", "took"]
    with Loader(population, 5, order="sequential", fields=fields, pin_memory=True) as loader:
        batches = list(loader)
    with Loader(population, 5, order="sequential", fields=fields) as loader:
        for pinned, pageable in zip(batches, loader, strict=True):
            assert {name: plain(value) for name, value in pinned.items()} == {
                name: plain(value) for name, value in pageable.items()
            }
    assert [len(storages(batch)) for batch in batches] == [1, 1]
    given = {tensor.untyped_storage().data_ptr() for tensor in lent}
    assert set().union(*map(storages, batches)) == given
    assert len(given) == 2


def test_dates_lie_in_pinned_memory_and_the_results_of_a_transform_are_copied_there(
    population: Population, lent: list[torch.Tensor]
) -> None:
    with Loader(population, 10, order="sequential", fields=["day"], pin_memory=True) as loader:
        (batch,) = list(loader)
    assert batch["day"].tolist() == list(range(10))
    assert storages({"day": batch["day"]}) == {lent[-1].untyped_storage().data_ptr()}
    lent.clear()
    with Loader(
        population, 10, order="sequential", fields=["x", "boxes"], pin_memory=True, transform=lambda b: b
    ) as loader:
        (batch,) = list(loader)
    assert batch["x"][:, 0].tolist() == list(range(10))
    assert storages(batch) == {t.untyped_storage().data_ptr() for t in lent if t.numel()}


def test_tensors_that_a_transform_returns_are_copied_to_pinned_memory_too(
    population: Population, lent: list[torch.Tensor]
) -> None:
    def transform(batch: dict[str, Any]) -> dict[str, Any]:
        made = to_torch(batch)
        return {
            "x": made["x"].T,
            "inner": {"boxes": made["boxes"]},
            "grows": torch.ones(1, requires_grad=True),
        }

    options: dict[str, Any] = {"order": "sequential", "fields": ["x", "boxes"], "transform": transform}
    with Loader(population, 10, **options, pin_memory=True) as loader:
        (batch,) = list(loader)
    assert batch["x"][0].tolist() == list(range(10))
    assert [len(record) for record in batch["inner"]["boxes"].to_list()] == [0, 1] * 5
    assert batch["grows"].requires_grad
    found = storages({"x": batch["x"], "boxes": batch["inner"]["boxes"]})
    assert found == {t.untyped_storage().data_ptr() for t in lent if t.numel()}


def test_batches_without_bytes_can_be_pinned(population: Population, lent: list[torch.Tensor]) -> None:
    empty = Population(population.caches, rows=[0, 3, 6, 9])  # no token in any of them
    with Loader(empty, 4, order="sequential", fields=["caption", "tokens"], pin_memory=True) as loader:
        (batch,) = list(loader)
    assert batch["tokens"].values.shape == (0,)
    assert batch["caption"][1] == "größe 3"


HABITS = set(signature(DataLoader.__init__).parameters) - set(signature(Loader.__init__).parameters)


@pytest.mark.parametrize("habit", sorted(HABITS))
def test_habits_from_torch_are_answered_with_what_is_done_here(population: Population, habit: str) -> None:
    with pytest.raises(TypeError, match=f"Loader has no argument '{habit}': "):
        Loader(population, 2, **{habit: True})


def test_a_tensor_of_rows_gives_a_batch_even_of_one(population: Population) -> None:
    (cache,) = population.caches
    assert cache[torch.tensor([7])]["x"].tolist() == [[7, -7]]
    assert population[torch.tensor([7, 0, -1])]["x"].tolist() == [[7, -7], [0, 0], [9, -9]]
    assert cache[torch.tensor(7)]["x"].tolist() == [7, -7]


def test_a_transform_that_is_no_function_is_refused_at_once(population: Population) -> None:
    with pytest.raises(TypeError, match="transform=5: expected a function"):
        Loader(population, 3, transform=5)


def test_tokens_stored_as_uint16_are_ready_for_an_embedding(population: Population) -> None:
    embedding = torch.nn.Embedding(50_000, 3)
    fields = {"tokens": "int64", "image": "float32", "label": "int64", "caption": None, "good": "uint8"}
    with Loader(population, 6, order="sequential", last="pad", fields=fields) as loader:
        batch = next(iter(loader))
    assert embedding(batch["tokens"].values).shape == (6, 3)
    assert batch["tokens"].values.tolist() == [40_000, 40_000, 40_001, 40_000, 40_000, 40_001]
    assert batch["tokens"].offsets.tolist() == [0, 0, 1, 3, 3, 4, 6]
    assert {name: batch[name].dtype for name in ("image", "label", "good")} == {
        "image": torch.float32,
        "label": torch.int64,
        "good": torch.uint8,
    }
    assert batch["image"][:, 0, 0, 0].tolist() == [0, 1, 2, 3, 4, 5]


def test_every_dtype_that_is_widened_arrives_as_torch_converts_it(numbers: Path) -> None:
    population = Cache.open(numbers).population
    stored = to_torch(population[:])
    pairs = 0
    for wide in ("int64", "uint64", "float16", "bfloat16", "float32", "float64", "complex128"):
        for name, column in stored.items():
            try:
                batch = next(iter(Loader(population, 4, order="sequential", threads=1, fields={name: wide})))
            except SchemaError:
                continue
            found, expected = (c.values if isinstance(c, RaggedArray) else c for c in (batch[name], column))
            assert found.dtype == getattr(torch, wide)
            assert plain(found) == plain(expected.to(getattr(torch, wide))), (name, wide)
            pairs += 1
    # Dense and ragged: of 8, 5, 5, 5, 9, 12 and 2 types.
    assert pairs == 2 * 46


def test_pinned_memory_is_as_large_as_what_is_delivered(
    population: Population, lent: list[torch.Tensor]
) -> None:
    fields = {"image": "float64", "day": None}
    with Loader(population, 5, order="sequential", fields=fields, pin_memory=True) as loader:
        batches = list(loader)
    # 5 images, days and flags of `_valid`, each column from a multiple of 64 on.
    assert [tensor.nbytes for tensor in lent] == [512 + 64 + 5] * 2
    assert batches[1]["image"][:, 0, 0, 0].tolist() == [5, 6, 7, 8, 9]
    assert batches[1]["day"].tolist() == [5, 6, 7, 8, 9]


def test_batches_are_on_the_cpu_whatever_the_default_device_is(
    population: Population, monkeypatch: pytest.MonkeyPatch
) -> None:
    with torch.device("meta"), Loader(population, 1, order="sequential", fields=["tokens"]) as loader:
        tokens = next(iter(loader))["tokens"]
    assert tokens.values.shape == (0,)
    assert {part.device.type for part in tokens if part is not None} == {"cpu"}
    asked: dict[str, Any] = {}
    monkeypatch.setattr(torch, "empty", lambda _, **options: asked.update(options))
    memory.page_locked(3)
    assert asked == {"dtype": torch.uint8, "device": "cpu", "pin_memory": True}
