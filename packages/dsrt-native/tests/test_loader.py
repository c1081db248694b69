"""Loader: order, ends of windows, ranks, columns, damage, weights, figures."""

import pickle
import threading

import numpy as np
import pytest

from dsrt_format import (
    DataError,
    Dense,
    FormatError,
    SchemaError,
    reference,
)
from dsrt_native import Cache, Loader, Population

ROWS = 23


def xs(batches):
    return [batch["x"].tolist() for batch in batches]


def expected_pass(order, position, epoch_len, batch_size, last, seed=0, weights=None):
    """The rows of the rest of a window, by the reference."""
    steps = []
    window = position // epoch_len
    while position // epoch_len == window:
        elements, position = reference.plan(position, epoch_len, batch_size, last)
        if elements:
            steps.append([reference.rows(order, ROWS, seed, p, 1, weights)[0] for p, _ in elements])
    return steps, position


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("last", ["drop", "pad", "short"])
@pytest.mark.parametrize("order", ["sequential", "uniform", "weighted", "permuted"])
def test_passes_are_the_references_whatever_the_threads(population, order, last, threads):
    weights = [float(i % 4) for i in range(ROWS)]
    weighted = population.with_weights(weights)
    loader = Loader(weighted, 5, order=order, last=last, seed=2**63 + 5, threads=threads)
    position = 0
    for epoch in range(3):
        assert loader.epoch == epoch
        found = xs(loader)
        expected, position = expected_pass(
            order, position, ROWS, 5, last, 2**63 + 5, weights if order == "weighted" else None
        )
        assert found == expected
        assert len(found) == len(loader)
        assert loader.position == position


def test_the_default_order_is_weighted_with_weights_and_permuted_without(population):
    weights = [1.0] * ROWS
    assert Loader(population, 5).state_dict()["order"] == "permuted"
    assert Loader(population.with_weights(weights), 5).state_dict()["order"] == "weighted"
    assert Loader(population, 5).weights is None
    assert Loader(population.with_weights(weights), 5).weights.tolist() == weights
    with pytest.raises(ValueError, match=r"weighted.*weights"):
        Loader(population, 5, order="weighted")


def test_the_same_positions_whatever_the_batch_size(population):
    one = [x for batch in xs(Loader(population, 1).steps(60)) for x in batch]
    five = [x for batch in xs(Loader(population, 5, threads=4).steps(12)) for x in batch]
    assert one == five == reference.rows("permuted", ROWS, 0, 0, 60)


def test_ranks_in_order_are_the_stream(population):
    whole = xs(Loader(population, 6, last="pad"))
    ranks = [xs(Loader(population, 2, last="pad", rank=rank, world_size=3)) for rank in range(3)]
    assert [a + b + c for a, b, c in zip(*ranks, strict=True)] == whole


def test_padding_repeats_the_window_and_says_so(population):
    *_, batch = Loader(population, 5, order="sequential", last="pad")
    assert batch["x"].tolist() == [20, 21, 22, 0, 1]
    assert batch["_valid"].tolist() == [True, True, True, False, False]
    *_, short = Loader(population, 5, order="sequential")
    assert short["x"].tolist() == [20, 21, 22]
    assert short["_valid"].tolist() == [True] * 3
    assert "_valid" not in next(iter(Loader(population, 5)))


def test_what_no_stream_can_be_is_refused(population):
    with pytest.raises(ValueError, match=r"epoch of 23 .*step of 24 .*pad"):
        len(Loader(population, 24))
    with pytest.raises(ValueError, match=r"drop.*pad"):
        Loader(population, 4, last="short", world_size=2)
    assert xs(Loader(population, 24, order="sequential").steps(1)) == [[*range(23), 0]]
    with pytest.raises(ValueError, match="row"):
        Loader(Population(population.caches, rows=[]), 5)
    with pytest.raises(ValueError, match=r"zero|> 0"):
        Loader(population.with_weights(np.zeros(ROWS)), 5)
    for wrong in ({"batch_size": 0}, {"epoch_len": 0}, {"prefetch": 0}, {"max_bytes": 0}, {"threads": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            Loader(population, **{"batch_size": 5} | wrong)
    for wrong in ({"seed": -1}, {"seed": 2**64}, {"rank": 1}, {"rank": -1}, {"world_size": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            Loader(population, 5, **wrong)
    for wrong in ({"order": "random"}, {"last": "keep"}, {"errors": "skip"}):
        with pytest.raises(ValueError, match=next(iter(wrong.values()))):
            Loader(population, 5, **wrong)
    with pytest.raises(TypeError, match="batch_size"):
        Loader(population, 5.0)
    with pytest.raises(TypeError, match="batch_size"):
        Loader(population, True)
    with pytest.raises(SchemaError, match="nose"):
        Loader(population, 5, fields=["x", "nose"])
    with pytest.raises(TypeError, match="expected an opened Cache or Dataset"):
        Loader([1, 2, 3], 5)


def test_a_loader_shows_its_rows_and_its_position(population):
    loader = Loader(population, 5, order="sequential")
    next(iter(loader))
    assert repr(loader) == f"<Loader of {ROWS} rows, at position 5>"


@pytest.mark.parametrize(
    ("name", "here"),
    [
        ("shuffle", "permuted"),
        ("drop_last", "last='drop'"),
        ("collate_fn", "transform="),
        ("persistent_workers", "close"),
        ("num_workers", "threads="),
        ("worker_init_fn", "_seed"),
        ("multiprocessing_context", "threads="),
        ("timeout", "Ctrl-C"),
        ("in_order", "order of the stream"),
        ("pin_memory_device", "pin_memory=True"),
        ("nonsense", "no argument 'nonsense'"),
    ],
)
def test_arguments_of_other_loaders_are_refused_with_advice(population, name, here):
    with pytest.raises(TypeError, match=here):
        Loader(population, 5, **{name: 1})


def test_built_in_columns_of_a_stream(population):
    loader = Loader(population, 5, seed=3, fields=["_position", "_row", "_seed", "x"])
    loader.seek(20)
    batch = next(loader.steps(1))
    assert list(batch) == ["_position", "_row", "_seed", "x"]
    assert batch["_position"].tolist() == [20, 21, 22, 23, 24]
    assert batch["_row"].tolist() == batch["x"].tolist() == reference.rows("permuted", ROWS, 3, 20, 5)
    assert batch["_seed"].tolist() == reference.augment_seed(3, 20, 5)


def test_a_transform_sees_each_batch_once_and_its_exception_belongs_to_its_batch(population):
    seen = []

    def transform(batch):
        assert threading.current_thread() is threading.main_thread()
        seen.append(batch["x"].tolist())
        if len(seen) == 2:
            raise LookupError("mine")
        return {"y": -batch["x"]}

    loader = Loader(population, 5, order="sequential", fields=["x"], transform=transform)
    batches = iter(loader)
    assert next(batches)["y"].tolist() == [0, -1, -2, -3, -4]
    with pytest.raises(LookupError, match="mine"):
        next(batches)
    assert loader.position == 10
    assert next(batches)["y"].tolist() == [-10, -11, -12, -13, -14]
    assert len(seen) == 3


def test_damage_belongs_to_its_batch_or_is_masked(population, tmp_path):
    path = tmp_path / "bad"
    samples = ({"x": np.int64(i)} for i in range(10))
    reference.write(path, {"x": Dense("int64")}, samples)
    (file := path / "fields/x/00000.shard").chmod(0o644)
    data = bytearray(file.read_bytes())
    data[64 + 8 * 3] ^= 1
    file.write_bytes(data)
    bad = Population([Cache.open(path)])
    batches = iter(Loader(bad, 2, order="sequential"))
    assert next(batches)["x"].tolist() == [0, 1]
    with pytest.raises(DataError) as found:
        next(batches)
    assert (found.value.rule, found.value.sample) == ("R033", 3)
    assert xs(batches) == [[4, 5], [6, 7], [8, 9]]
    masked = Loader(bad, 2, order="sequential", errors="mask")
    assert [(b["x"].tolist(), b["_valid"].tolist()) for b in masked][1] == ([2, 0], [True, False])
    assert masked.stats().damaged == ((bad.caches[0].cache_id, 3, "x"),)


def test_reweight_is_in_force_from_the_next_batch(population):
    first, then = [1.0] * ROWS, [float(i == 7) for i in range(ROWS)]
    loader = Loader(population.with_weights(first), 5, epoch_len=50, prefetch=8)
    batches = iter(loader)
    drawn = [next(batches)["x"].tolist() for _ in range(2)]
    assert drawn == [reference.rows("weighted", ROWS, 0, p, 5, first) for p in (0, 5)]
    digest = loader.state_dict()["weights"]
    loader.reweight(then)
    assert xs(batches) == [[7] * 5] * 8
    assert loader.weights.tolist() == then
    assert loader.state_dict()["weights"] != digest
    assert loader.dataset.weights.tolist() == first
    for bad, match in (([1.0], "1"), ([-1.0] * ROWS, "row 0"), ([0.0] * ROWS, r"zero|> 0")):
        with pytest.raises(ValueError, match=match):
            loader.reweight(bad)
    with pytest.raises(ValueError, match="weighted"):
        Loader(population, 5).reweight(first)


def test_stats_count_what_was_handed_out(population):
    loader = Loader(population, 5, fields=["x"])
    assert loader.stats().batches == 0
    list(loader)
    stats = loader.stats()
    assert stats.batches == 4
    assert stats.bytes >= 4 * 40
    assert 0 <= stats.wait_p50 <= stats.wait_p95 <= stats.wait_seconds <= stats.seconds
    assert stats.damaged == ()


def test_tight_bounds_only_slow_it_down(population):
    loader = Loader(population, 5, prefetch=1, max_bytes=1, threads=4)
    assert len(list(loader)) == 4


def test_a_closed_loader_ends_its_pass_and_still_knows_where_it_stands(population):
    with Loader(population, 5) as loader:
        batches = iter(loader)
        kept = next(batches)
        other = kept["x"].copy()
    loader.close()
    with pytest.raises(RuntimeError):
        next(batches)
    assert (loader.position, loader.epoch) == (5, 0)
    assert loader.state_dict()["position"] == 5
    assert loader.stats().batches == 1
    assert kept["x"].tolist() == other.tolist()


def test_a_loader_refuses_pickling_and_says_what_to_do(population):
    with pytest.raises(TypeError, match="state_dict"):
        pickle.dumps(Loader(population, 5))


def test_a_transform_that_raises_stop_iteration_does_not_end_the_pass(population):
    failing = [True, False]

    def transform(batch):
        return next(iter([])) if failing.pop(0) else batch

    batches = iter(Loader(population, 5, transform=transform))
    with pytest.raises(RuntimeError, match="StopIteration"):
        next(batches)
    assert len(next(batches)["x"]) == 5


def test_a_transform_that_forgets_to_return_is_told_so(population):
    with pytest.raises(TypeError, match="returned None; return the batch"):
        next(iter(Loader(population, 5, transform=lambda batch: batch.clear())))


def test_a_transform_that_is_no_function_is_refused_at_once(population):
    with pytest.raises(TypeError, match="transform=5: expected a function"):
        Loader(population, 5, transform=5)


def test_errors_is_one_of_two_words(population):
    for wrong in (None, "ignore", True):
        with pytest.raises(ValueError, match="expected 'raise' or 'mask'"):
            Loader(population, 5, errors=wrong)


def test_payload_is_streamed_whatever_state_the_metadata_are_in(write_cache):
    samples = [{"x": np.array(i, np.int64), "n": i} for i in range(8)]
    path = write_cache(fields={"x": Dense("int64")}, samples=samples, metadata={"n": "int8"})
    metadata = path / "metadata.arrow"
    metadata.write_bytes(bytes(byte ^ 1 for byte in metadata.read_bytes()))
    population = Population([Cache.open(path)])
    with Loader(population, 4, order="sequential", fields=["x", "_row"]) as loader:
        assert xs(loader) == [[0, 1, 2, 3], [4, 5, 6, 7]]
    with pytest.raises(FormatError) as caught:
        Loader(population, 4, order="sequential", fields=["x", "n"])
    assert caught.value.rule == "R041"
