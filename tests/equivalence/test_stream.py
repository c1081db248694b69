"""Breaks, seeks, resumes, other batch sizes: whatever people do, a loader follows the specification."""

import json
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, precondition, rule

from dsrt_format import Dense, reference
from dsrt_native import Cache, CacheWriter, Loader, Population

from .model import Pass, Stream, Superseded

FIELDS = ["x", "_row", "_position", "_seed"]


@pytest.fixture(scope="module", autouse=True)
def caches(tmp_path_factory):
    """Caches of 1 to 40 samples whose field x is the number of the sample."""
    root = tmp_path_factory.mktemp("streams")
    for n in SIZES:
        with CacheWriter(root / f"n{n}", {"x": Dense("int64")}, samples_per_shard=7) as writer:
            for i in range(n):
                writer.append({"x": np.array(i, "int64")})
        CACHES[n] = Cache.open(root / f"n{n}")
    yield
    for cache in CACHES.values():
        cache.close()
    CACHES.clear()


SIZES = (1, 2, 5, 12, 40)
CACHES: dict[int, Cache] = {}


class Machine(RuleBasedStateMachine):
    """One loader for each rank, and one model."""

    passes = Bundle("passes")

    def __init__(self):
        super().__init__()
        self.loaders = []

    @initialize(
        n=st.sampled_from(SIZES),
        order=st.sampled_from(["sequential", "uniform", "permuted", "weighted"]),
        seed=st.integers(0, 2**64 - 1),
        epoch_len=st.none() | st.integers(1, 30),
        data=st.data(),
    )
    def build(self, n, order, seed, epoch_len, data):
        weights = None
        if order == "weighted":
            some = st.lists(st.sampled_from([0.0, 5e-324, 0.3, 1.0, 1e300]), min_size=n, max_size=n)
            weights = np.array(data.draw(some.filter(any)))
        self.population = Population([CACHES[n]], weights=weights)
        self.n, self.order, self.seed, self.weights = n, order, seed, weights
        self.epoch_len = epoch_len
        self.model = Stream(epoch_len or n, 1, "short")
        self._open(data)

    def _open(self, data):
        """Make the loaders anew with another batch size and number of ranks, as after a restart."""
        window = self.model.epoch_len
        last = data.draw(st.sampled_from(["drop", "pad", "short"]), label="last")
        world = 1 if last == "short" else data.draw(st.integers(1, 3), label="world size")
        batch = data.draw(
            st.integers(1, max(1, window // world) if last == "drop" else 9), label="batch size"
        )
        if last == "drop" and batch * world > window:
            world, batch = 1, 1
        self.close_all()
        self.batch, self.world = batch, world
        self.loaders = [
            Loader(
                self.population,
                batch,
                order=self.order,
                seed=self.seed,
                fields=FIELDS,
                epoch_len=self.epoch_len,
                last=last,
                rank=rank,
                world_size=world,
                threads=data.draw(st.integers(1, 3), label="threads"),
                prefetch=data.draw(st.integers(1, 4), label="prefetch"),
            )
            for rank in range(world)
        ]
        self.model = Stream(window, batch * world, last, position=self.model.position)

    @rule(target=passes)
    def iterate(self):
        return Pass(steps=False), [iter(loader) for loader in self.loaders], self.loaders

    @rule(target=passes, n=st.none() | st.integers(0, 4))
    def steps(self, n):
        return Pass(steps=True, limit=n), [loader.steps(n) for loader in self.loaders], self.loaders

    @rule(one=passes, count=st.integers(1, 6))
    def take(self, one, count):
        promise, iterators, loaders = one
        if loaders is not self.loaders:
            return
        for _ in range(count):
            try:
                step = self.model.next(promise)
            except StopIteration:
                for iterator in iterators:
                    with pytest.raises(StopIteration):
                        next(iterator)
                break
            except Superseded:
                for iterator in iterators:
                    with pytest.raises(RuntimeError):
                        next(iterator)
                break
            self._compare(step, [next(iterator) for iterator in iterators])

    def _compare(self, step, batches):
        wanted = [position for position, _ in step]
        size = len(step) if self.world == 1 else self.batch
        for rank, batch in enumerate(batches):
            mine = step[rank * size : (rank + 1) * size]
            positions = [position for position, _ in mine]
            weights = None if self.weights is None else self.weights.tolist()
            rows = [reference.rows(self.order, self.n, self.seed, p, 1, weights)[0] for p in positions]
            assert batch["_position"].tolist() == positions, wanted
            assert batch["_row"].tolist() == rows
            assert batch["x"].tolist() == rows
            assert batch["_seed"].tolist() == [reference.augment_seed(self.seed, p, 1)[0] for p in positions]
            if self.model.last == "drop":
                assert "_valid" not in batch
            else:
                assert batch["_valid"].tolist() == [valid for _, valid in mine]

    @rule()
    def agree(self):
        for loader in self.loaders:
            assert loader.position == self.model.position
            assert loader.epoch == self.model.epoch
            assert len(loader) == len(self.model)
            assert loader.state_dict()["position"] == self.model.position

    @rule(position=st.integers(0, 100) | st.sampled_from([2**32 - 1, 2**40, 2**61]))
    def seek(self, position):
        for loader in self.loaders:
            loader.seek(position)
        self.model.seek(position)

    @rule(epoch=st.integers(0, 4))
    @precondition(lambda self: self.model.running is None or not self.model.moved_at_rest)
    def set_epoch(self, epoch):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a loaded position may be left
            for loader in self.loaders:
                loader.set_epoch(epoch)
        self.model.set_epoch(epoch)

    @rule(data=st.data())
    def restart(self, data):
        """Only the state survives; everything that may change, changes."""
        state = json.loads(json.dumps(self.loaders[0].state_dict()))
        self._open(data)
        for loader in self.loaders:
            loader.load_state_dict(state)
        self.model.seek(state["position"])

    def close_all(self):
        for loader in self.loaders:
            loader.close()

    def teardown(self):
        self.close_all()


Machine.TestCase.settings = settings(
    max_examples=150, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
TestStream = Machine.TestCase
