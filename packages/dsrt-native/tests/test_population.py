"""Population: rows, weights, built-in columns, damage and digests over caches."""

import copy
import mmap
import pickle
import signal
import sys
import threading
import time

import numpy as np
import pytest

from dsrt_format import DataError, Dense, FormatError, SchemaError
from dsrt_native import Cache, HasPopulation, Population


def test_all_rows_are_the_concatenation_of_the_caches(caches):
    population = Population(caches)
    assert len(population) == 15
    assert population[:]["x"].tolist() == [*range(10), *range(100, 105)]
    assert population[12]["x"] == 102
    assert population[-1]["s"] == "v"
    assert population.population is population
    assert isinstance(population, HasPopulation)
    assert population.caches == tuple(caches)


def test_rows_choose_reorder_and_repeat(caches):
    population = Population(caches, rows=[14, 0, 0, 10])
    assert len(population) == 4
    assert population.gather([3, 2, 1, 0], ["x"])["x"].tolist() == [100, 0, 0, 104]
    cache_id, sample_id = population.ids(slice(None))
    assert cache_id.dtype == sample_id.dtype == np.int64
    assert sample_id.tolist() == [4, 0, 0, 0]
    assert cache_id.tolist() == [caches[i].cache_id for i in (1, 0, 0, 1)]
    assert len(Population(caches, rows=[])) == 0
    assert Population(caches, rows=[])[:]["y"].shape == (0, 2)


def test_a_row_that_is_none_is_refused_and_named(caches):
    with pytest.raises(IndexError, match=r"row 2\b.*15"):
        Population(caches, rows=[0, 1, 15])
    with pytest.raises(IndexError, match=r"row 1\b.*-1"):
        Population(caches, rows=[0, -1])
    for wrong in ([True, False], [0.5], "all", np.ones(15, bool)):
        with pytest.raises(TypeError):
            Population(caches, rows=wrong)
    population = Population(caches, rows=[1, 2])
    for wrong in ([2], [-3]):
        with pytest.raises(IndexError, match="out of range: there are 2"):
            population.gather(wrong)
    with pytest.raises(TypeError, match="list of caches"):
        Population(caches[0])
    with pytest.raises(TypeError, match=r"Cache\.open"):
        Population(["a"])


def test_weights_are_the_stored_ones_the_given_ones_or_none(caches):
    stored = Population(caches[:1])
    assert stored.weights.tolist() == [0.5 * i for i in range(10)]
    assert not stored.weights.flags.writeable
    assert Population(caches[:1], rows=[3, 3, 1]).weights.tolist() == [1.5, 1.5, 0.5]
    assert Population(caches[1:]).weights is None
    given = Population(caches, weights=np.arange(15, dtype=np.int8))
    assert given.weights.tolist() == [*range(15)]
    assert given.weights.dtype == np.float64
    assert stored.with_weights(None).weights is None
    assert stored.with_weights([1] * 10).weights.tolist() == [1] * 10
    assert stored.with_weights(None).rows_digest == stored.rows_digest


def test_weights_of_some_caches_only_are_an_error_that_names_them(caches):
    population = Population(caches)
    with pytest.raises(SchemaError, match=r"\bb\b"):
        population.weights
    assert population.with_weights(None).weights is None


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf, -np.inf])
def test_a_bad_weight_is_refused_and_its_row_named(caches, bad):
    weights = np.ones(15)
    weights[7] = bad
    for make in (
        lambda: Population(caches, weights=weights),
        lambda: Population(caches).with_weights(weights),
    ):
        with pytest.raises(ValueError, match=r"row 7\b"):
            make()
    with pytest.raises(ValueError, match="14"):
        Population(caches, weights=np.ones(14))
    for wrong in (["1"] * 15, np.ones((15, 1)), np.ma.ones(15), [True] * 15):
        with pytest.raises(TypeError, match="weights"):
            Population(caches, weights=wrong)


def test_built_in_columns(caches):
    population = Population(caches, rows=[14, 2], weights=[0.25, 3])
    names = ["_row", "_position", "_valid", "_seed", "cache_id", "sample_id", "weight"]
    batch = population.gather([1, 0, 1], names)
    assert list(batch) == names
    assert batch["_row"].tolist() == batch["_position"].tolist() == [1, 0, 1]
    assert batch["_valid"].tolist() == [True] * 3
    assert batch["sample_id"].tolist() == [2, 4, 2]
    assert batch["weight"].tolist() == [3, 0.25, 3]
    dtypes = [str(batch[name].dtype) for name in names]
    assert dtypes == ["int64", "int64", "bool", "uint64", "int64", "int64", "float64"]
    with pytest.raises(ValueError, match="weight"):
        population.with_weights(None).gather([0], ["weight"])


def test_an_unknown_name_is_refused_and_what_there_is_listed(caches):
    with pytest.raises(SchemaError, match=r"(?s)nose.*\bx\b.*\by\b.*\bs\b"):
        Population(caches).gather([0], ["x", "nose"])
    with pytest.raises(TypeError, match="expected a list of names"):
        Population(caches).gather([0], "x")


def test_fields_are_those_that_every_cache_has(caches, write_cache):
    assert list(Population(caches).fields) == ["x", "y"]
    y = Population(caches).fields["y"]
    assert (y.kind, y.dtype, y.shape, y.codec) == ("dense", "int16", (2,), "zstd")
    only_x = Cache.open(
        write_cache("c", fields={"x": Dense("int64")}, samples=[{"x": np.int64(1)}], metadata=None)
    )
    mixed = Population([caches[0], only_x])
    assert list(mixed.fields) == ["x"]
    assert list(mixed[:]) == ["x"]


def test_fields_that_differ_between_caches_and_one_cache_twice_are_refused(caches, write_cache):
    other = Cache.open(
        write_cache("c", fields={"x": Dense("int32")}, samples=[{"x": np.int32(1)}], metadata=None)
    )
    with pytest.raises(SchemaError, match=r"(?s)\bx\b.*int32|\bx\b.*int64"):
        Population([caches[0], other]).gather([0], ["x"])
    with pytest.raises(FormatError, match=r"R072"):
        Population([caches[0], Cache.open(caches[0].path)])


def test_damage_is_masked_when_it_is_to(write_cache):
    fields = {"x": Dense("int64"), "y": Dense("int8", (1,))}
    samples = [{"x": np.int64(i), "y": np.int8([-i])} for i in range(10)]
    path = write_cache("d", fields=fields, samples=samples, metadata=None, samples_per_shard=10)
    (file := path / "fields/x/00000.shard").chmod(0o644)
    data = bytearray(file.read_bytes())
    data[64 + 8 * 3] ^= 1
    file.write_bytes(data)
    population = Population([Cache.open(path)])
    with pytest.raises(DataError) as found:
        population.gather([2, 3])
    assert (found.value.field, found.value.sample) == ("x", 3)
    batch = population.gather([2, 3, 4], errors="mask")
    assert batch["x"].tolist() == [2, 0, 4]
    assert batch["y"].tolist() == [[-2], [-3], [-4]]
    assert batch["_valid"].tolist() == [True, False, True]
    with pytest.raises(ValueError, match="errors='skip'"):
        population.gather([0], errors="skip")


def test_digests_tell_populations_apart(caches):
    whole = Population(caches)
    assert len(whole.rows_digest) == 64
    assert Population(caches, rows=range(15)).rows_digest == whole.rows_digest
    assert Population(caches, rows=range(14)).rows_digest != whole.rows_digest
    assert Population(caches[::-1]).rows_digest != whole.rows_digest
    assert whole.with_weights(None).weights_digest is None
    ones = whole.with_weights(np.ones(15))
    assert ones.weights_digest == Population(caches, weights=np.ones(15)).weights_digest
    assert ones.weights_digest != whole.with_weights(np.full(15, 2.0)).weights_digest


def test_a_population_says_what_it_is(caches):
    assert (
        repr(Population(caches, rows=[1])) == f"<Population of 1 rows of {caches[0].path}, {caches[1].path}>"
    )


def test_a_gather_lets_other_python_threads_run(write_cache):
    samples = [{"x": np.zeros(2**20, np.uint8)}] * 2
    path = write_cache("big", fields={"x": Dense("uint8", (2**20,))}, samples=samples, metadata=None)
    population = Population([Cache.open(path)])
    rows = np.arange(2).repeat(64)
    lock, ran = threading.Lock(), []

    def wait():
        with lock:
            ran.append(True)

    lock.acquire()
    thread = threading.Thread(target=wait)
    thread.start()
    interval = sys.getswitchinterval()
    # From here on no thread is made to give up the GIL.
    sys.setswitchinterval(1000)
    try:
        lock.release()
        population.gather(rows)
        assert ran
    finally:
        sys.setswitchinterval(interval)
        thread.join()


def test_a_lone_surrogate_in_fields_is_refused(population):
    with pytest.raises(SchemaError, match="lone surrogate"):
        population.gather([0], ["\ud800"])


def test_fields_that_are_no_collection_are_refused_by_their_value(population):
    with pytest.raises(TypeError, match="fields=5: expected a list of names"):
        population.gather([0], 5)


def test_a_population_refuses_pickling_and_says_what_to_do(population):
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(TypeError, match="send its caches"):
            pickle.dumps(population, protocol)


def test_a_copy_of_a_population_is_itself(population):
    assert copy.copy(population) is population
    assert copy.deepcopy([population])[0] is population


def test_what_is_asked_for_in_turns_is_what_comes(write_cache):
    path = write_cache(
        "i", fields={"x": Dense("int32")}, samples=[{"x": np.array(7, np.int32)}], metadata=None
    )
    population = Population([Cache.open(path)])
    for _ in range(2):
        assert list(population.gather([0], ["x"])) == ["x"]
        assert population.gather([0], {"x": "float64"})["x"].dtype == "float64"
        assert population.gather([0], ["x"])["x"].dtype == "int32"
        assert list(population.gather([0], ["x"], errors="mask")) == ["x", "_valid"]
        assert list(population.gather([0], ["_row", "x"])) == ["_row", "x"]


def long(write_cache, count):
    """Return a population, rows of it that take long to decode, and zeros for their batch, which has none."""
    random = np.random.default_rng(0)
    letters = random.choice(np.arange(1, 17, dtype=np.uint8), 256, p=np.arange(1, 17) / 136)
    fields = {"x": Dense("uint8", (256,), codec="zstd")}
    path = write_cache("long", fields=fields, samples=[{"x": letters}], metadata=None)
    # Pages that nobody writes to cost nothing.
    return Population([Cache.open(path)]), np.zeros(count, np.int64), mmap.mmap(-1, count * 256)


def records(memory):
    return np.frombuffer(memory, np.uint8).reshape(-1, 256)


@pytest.mark.parametrize("into", ["arrays", "memory"])
def test_ctrl_c_ends_a_gather_in_the_middle(write_cache, into):
    population, rows, memory = long(write_cache, 1_000_000)
    out = {"x": records(memory)} if into == "arrays" else lambda _: memory
    over = threading.Event()

    def press():
        # Not before the first record is there.
        while not over.wait(0.001):
            if memory[0]:
                signal.raise_signal(signal.SIGINT)
                return

    def gather():
        try:
            population.gather(rows, out=out)
        finally:
            over.set()
            pressing.join()

    pressing = threading.Thread(target=press)
    pressing.start()
    with pytest.raises(KeyboardInterrupt):
        gather()
    # Were the exception only raised once the gather has ended, the last records would be there, too.
    assert memory[0]
    assert not memory[-1]
    (record,) = population.gather([0])["x"]
    assert record.tobytes() == memory[:256]


def test_a_gather_in_another_thread_goes_on_beside_one_that_keeps_the_gil(write_cache):
    population, rows, memory = long(write_cache, 200_000)
    out = {"x": records(memory)}
    gathering = threading.Thread(target=population.gather, args=[rows], kwargs={"out": out})
    interval = sys.getswitchinterval()
    # From here on no thread is made to give up the GIL.
    sys.setswitchinterval(1000)
    try:
        gathering.start()
        while gathering.is_alive() and not memory[0]:
            time.sleep(0.001)
        # It has begun, and nothing here gives up the GIL. The end is for a gather that comes to none.
        missing, end = 0, time.monotonic() + 60
        while (missing := memory.find(b"\0", missing)) >= 0 and time.monotonic() < end:
            pass
    finally:
        sys.setswitchinterval(interval)
        gathering.join()
    assert missing == -1
    assert (records(memory) == population.gather([0])["x"]).all()
