"""Loader: order, windows, ends, passes, state, threads, signals, forks."""

import json
import pickle
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

from dsrt_format import DataError, Dense, SchemaError, StateMismatchError, reference
from dsrt_native import Cache, Loader, Population
from dsrt_native.loader import LoaderBase, default_threads

ROWS = 23


@pytest.fixture(scope="session")
def numbers(tmp_path_factory):
    """A cache whose sample i holds x = i."""
    path = tmp_path_factory.mktemp("caches") / "numbers"
    fields = {"x": Dense("int64"), "wide": Dense("uint8", (100,), codec="zstd")}
    samples = ({"x": np.int64(i), "wide": np.full(100, i, np.uint8)} for i in range(ROWS))
    reference.write(path, fields, samples, samples_per_shard=10)
    return path


@pytest.fixture
def population(numbers):
    return Population([Cache.open(numbers)])


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
        next(iter(Loader(population, 4, last="short", world_size=2)))
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
    with pytest.raises(TypeError, match="expected a Population"):
        Loader([1, 2, 3], 5)


@pytest.mark.parametrize(
    ("name", "here"),
    [
        ("shuffle", "permuted"),
        ("drop_last", "last='drop'"),
        ("collate_fn", "transform="),
        ("persistent_workers", "close"),
        ("num_workers", "threads="),
        ("nonsense", "no argument 'nonsense'"),
    ],
)
def test_arguments_of_other_loaders_are_refused_with_advice(population, name, here):
    with pytest.raises(TypeError, match=here):
        Loader(population, 5, **{name: 1})


@pytest.mark.parametrize("stop", [0, 1, 3, 4, 5, 7, 9, 10])
@pytest.mark.parametrize("last", ["drop", "pad", "short"])
def test_a_loaded_state_goes_on_exactly(population, last, stop):
    def run(loader, epochs, limit):
        batches = []
        for epoch in range(loader.epoch, epochs):
            for batch in loader:
                batches.append((epoch, batch["x"].tolist()))
                if len(batches) == limit:
                    return batches, json.dumps(loader.state_dict())
        return batches, json.dumps(loader.state_dict())

    def fresh(**changed):
        return Loader(population, **{"batch_size": 5, "last": last, "seed": 9} | changed)

    whole, _ = run(fresh(), 3, 10**6)
    first, state = ([], json.dumps(fresh().state_dict())) if stop == 0 else run(fresh(), 3, stop)
    again = fresh(threads=1)
    again.load_state_dict(json.loads(state))
    rest, _ = run(again, 3, 10**6)
    assert [x for _, x in first + rest] == [x for _, x in whole]


def test_a_state_holds_plain_values_and_its_position_is_of_what_was_handed_out(population):
    loader = Loader(population, 5, prefetch=8)
    batches = iter(loader)
    assert loader.state_dict()["position"] == loader.position == 0
    next(batches)
    state = loader.state_dict()
    assert state == {
        "format": 1,
        "order": "permuted",
        "seed": 0,
        "position": 5,
        "epoch_len": ROWS,
        "n": ROWS,
        "rows": population.rows_digest,
        "weights": None,
        "caches": [population.caches[0].cache_id],
    }
    assert json.loads(json.dumps(state)) == state


def test_a_state_of_another_stream_is_refused_and_the_difference_named(population):
    state = Loader(population, 5).state_dict() | {"position": 7}
    for changed, name in [
        ({"seed": 1}, "seed"),
        ({"order": "uniform"}, "order"),
        ({"epoch_len": 10}, "epoch_len"),
    ]:
        loader = Loader(population, 5, **changed)
        with pytest.raises(StateMismatchError, match=name):
            loader.load_state_dict(state)
        assert loader.position == 0
        with pytest.warns(UserWarning, match=name):
            loader.load_state_dict(state, strict=False)
        assert loader.position == 7
    other = Loader(Population(population.caches, rows=range(1, ROWS)), 5, epoch_len=ROWS)
    with pytest.raises(StateMismatchError, match="rows"):
        other.load_state_dict(state)
    for broken in ({}, state | {"position": -1}, state | {"position": "7"}, state | {"format": 2}):
        with pytest.raises(StateMismatchError):
            Loader(population, 5).load_state_dict(broken)


def test_steps_cross_windows_and_end_the_pass_that_was_running(population):
    loader = Loader(population, 5, order="sequential")
    window = iter(loader)
    next(window)
    steps = loader.steps(5)
    next(window)
    assert next(steps)["x"].tolist() == [10, 11, 12, 13, 14]
    with pytest.raises(RuntimeError, match="no longer"):
        next(window)
    assert xs(steps) == [[15, 16, 17, 18, 19], [20, 21, 22, 0, 1], [2, 3, 4, 5, 6], [7, 8, 9, 10, 11]]
    assert xs(loader.steps(0)) == []
    endless = loader.steps()
    assert [next(endless)["x"][0] for _ in range(7)] == [12, 17, 22, 4, 9, 14, 19]
    with pytest.raises(ValueError, match="n=-1"):
        loader.steps(-1)


def test_iter_alone_changes_nothing_and_an_ended_pass_stays_ended(population):
    loader = Loader(population, 5)
    iter(loader)
    running = iter(loader)
    iter(loader)
    assert len(list(running)) == 4
    for _ in range(2):
        with pytest.raises(StopIteration):
            next(running)


def test_seek_and_set_epoch(population):
    loader = Loader(population, 5, order="sequential", last="drop")
    loader.seek(7)
    assert (loader.position, loader.epoch) == (7, 0)
    assert xs(loader)[0] == [7, 8, 9, 10, 11]
    loader.set_epoch(4)
    assert loader.position == 4 * ROWS
    assert len(xs(loader)) == 4
    state = loader.state_dict() | {"position": 2 * ROWS + 10}
    loader.load_state_dict(state)
    loader.set_epoch(2)
    assert loader.position == 2 * ROWS + 10
    loader.load_state_dict(state)
    with pytest.warns(UserWarning, match="leaves the position"):
        loader.set_epoch(3)
    assert loader.position == 3 * ROWS
    for call, wrong in (
        (loader.seek, 2**62),
        (loader.seek, -1),
        (loader.set_epoch, -1),
        (loader.set_epoch, 2**61),
    ):
        with pytest.raises(ValueError, match=r"2\^62|expected 0 to"):
            call(wrong)


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


class Lending(LoaderBase):
    """A loader with memory of its own, which `gate` may hold back."""

    def __init__(self, population, gate=None, lend=None):
        self.lent = []
        self.gate = gate
        super().__init__(
            population, 5, order="sequential", seed=0, fields=["x"], epoch_len=None, last=None, threads=1,
            prefetch=1, max_bytes=2**30, errors="raise", topology=lambda: (0, 1), allocate=lend or self.lend,
            deliver=lambda batch: batch,
        )  # fmt: skip

    def lend(self, size):
        if self.gate is not None:
            self.gate.wait()
        memory = np.zeros(size + 64, np.uint8)
        memory = memory[-memory.ctypes.data % 64 :][:size]
        self.lent.append(memory)
        return memory


def test_batches_lie_in_the_memory_that_was_lent(population):
    loader = Lending(population)
    batch = next(iter(loader))
    assert batch.memory is loader.lent[0]
    (name, (kind, element, shape, at)), (valid, _) = batch.columns
    assert (name, kind, element, shape, valid) == ("x", "dense", "int64", (5,), "_valid")
    assert batch.memory[at : at + 40].view(np.int64).tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("wrong", [lambda size: np.zeros(size + 1, np.uint8), bytes, lambda size: None])
def test_memory_that_does_not_fit_is_refused(population, wrong):
    loader = Lending(population, lend=wrong)
    with pytest.raises((ValueError, MemoryError), match="memory for a batch"):
        next(iter(loader))


def test_two_threads_inside_next_at_once_are_an_error(population):
    gate = threading.Event()
    batches = iter(Lending(population, gate))
    outcomes = []

    def take():
        try:
            outcomes.append(len(next(batches)))
        except RuntimeError as error:
            outcomes.append(str(error))
            gate.set()

    threads = [threading.Thread(target=take) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert "thread" in outcomes[0]
    assert outcomes[1] == 5


def test_waiting_for_a_batch_lets_other_python_threads_run(population):
    gate = threading.Event()
    loader = Lending(population, gate)
    timer = threading.Timer(0.05, gate.set)
    timer.start()
    assert len(next(iter(loader))) == 5
    timer.join()


def run(script, *arguments, **options):
    command = [sys.executable, "-X", "faulthandler", "-W", "error", "-c", script, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **options)


LENDING = """
import sys, threading, time
import numpy as np
from dsrt_native import Cache, Population
from dsrt_native.loader import LoaderBase

def loader_of(lend):
    return LoaderBase(
        Population([Cache.open(sys.argv[1])]), 5, order=None, seed=0, fields=None, epoch_len=None, last=None,
        threads=4, prefetch=8, max_bytes=2**30, errors="raise", topology=lambda: (0, 1), allocate=lend,
        deliver=lambda batch: batch,
    )
"""


def test_ctrl_c_interrupts_a_wait(numbers):
    script = """
import os

def never(size):
    print("waiting", flush=True)
    threading.Event().wait()

loader = loader_of(never)
try:
    next(iter(loader))
except KeyboardInterrupt:
    print("interrupted", loader.position, flush=True)
    os._exit(3)
"""
    command = [sys.executable, "-c", LENDING + script, numbers]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "waiting\n"
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=60)
    assert (child.returncode, out.splitlines()[-1]) == (3, "interrupted 0")


def test_a_fork_in_the_middle_of_a_pass_goes_on_in_both(numbers):
    script = """
import os, sys
from dsrt_native import Cache, Loader, Population
loader = Loader(Population([Cache.open(sys.argv[1])]), 2, threads=3)
batches = iter(loader)
for _ in range(3):
    next(batches)
read, write = os.pipe()
child = os.fork()
rest = repr([batch["x"].tolist() for batch in batches] + [batch["x"].tolist() for batch in loader])
if child == 0:
    os.write(write, rest.encode())
    loader.close()
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert os.read(read, 10**6).decode() == rest
print(len(eval(rest)))
"""
    done = run(script, numbers)
    assert (done.returncode, done.stdout, done.stderr) == (0, "19\n", "")


def test_the_interpreter_exits_cleanly_with_a_running_loader(numbers):
    script = """
import sys
from dsrt_native import Cache, Loader, Population
loader = Loader(Population([Cache.open(sys.argv[1])]), 2, threads=3, prefetch=8)
steps = loader.steps()
next(steps)
print("end")
"""
    done = run(script, numbers)
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


def test_the_interpreter_waits_for_threads_that_ask_it_for_memory(numbers):
    script = """
def lend(size):
    time.sleep(0.001)
    memory = np.zeros(size + 64, np.uint8)
    return memory[-memory.ctypes.data % 64 :][:size]

steps = loader_of(lend).steps()
next(steps)
print("end")
"""
    done = run(LENDING + script, numbers)
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


def test_threads_start_with_the_first_batch_and_end_with_close(numbers):
    script = """
import os, sys
from dsrt_native import Cache, Loader, Population
count = lambda: len(os.listdir("/proc/self/task"))
before = count()
loader = Loader(Population([Cache.open(sys.argv[1])]), 2, threads=3)
batches = iter(loader)
assert count() == before
next(batches)
assert count() == before + 3
loader.close()
assert count() == before
"""
    done = run(script, numbers)
    assert (done.returncode, done.stderr) == (0, "")


def test_threads_by_default_are_a_share_of_the_cpus():
    assert 1 <= default_threads() <= 4
    assert default_threads(10**6) == 1
