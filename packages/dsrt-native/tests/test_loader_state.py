"""Where a loader stands: passes, steps, seek, set_epoch, and states that go on exactly."""

import json

import pytest

from dsrt_format import (
    StateMismatchError,
)
from dsrt_native import Loader, Population

ROWS = 23


def xs(batches):
    return [batch["x"].tolist() for batch in batches]


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


@pytest.mark.parametrize("strict", [True, False])
def test_a_state_with_a_position_beyond_every_stream_is_no_state(population, strict):
    loader = Loader(population, 5)
    state = loader.state_dict()
    loader.load_state_dict(state | {"position": 2**62 - 1}, strict=strict)
    for position in (2**62, 2**64 - 1, 2**64):
        with pytest.raises(StateMismatchError, match="no state of a loader"):
            loader.load_state_dict(state | {"position": position}, strict=strict)
    assert loader.position == 2**62 - 1


def test_a_closed_loader_loads_no_state(population):
    loader = Loader(population, 5)
    state = loader.state_dict()
    loader.close()
    with pytest.raises(RuntimeError, match="closed"):
        loader.load_state_dict(state)


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


@pytest.mark.parametrize("state", [None, 5, "state", [("position", 3)]])
def test_what_is_no_mapping_is_refused_as_a_state(population, state):
    with pytest.raises(TypeError, match="what state_dict\\(\\) returned"):
        Loader(population, 5).load_state_dict(state)


@pytest.mark.parametrize("name", ["format", "seed", "position", "epoch_len", "n"])
def test_a_bool_in_a_state_is_no_number(population, name):
    loader = Loader(population, 5)
    with pytest.raises(StateMismatchError, match=f"'{name}' is True"):
        loader.load_state_dict(loader.state_dict() | {name: True})
    assert loader.position == 0
