"""Payload in recycled memory: intact, the caller's for good, and bounded."""

import os
from multiprocessing import Pipe

import ml_dtypes
import numpy as np
import pytest

from dsrt_native import _slots
from dsrt_native._channel import Channel, Packed
from dsrt_native._pool import Pool

RANDOM = np.random.default_rng(5)
BYTES = RANDOM.bytes(3_000_000)

VALUES = {
    "empty": np.zeros((0, 3), "f4"),
    "scalar": np.array(2.5),
    "tiny": np.arange(3),
    "large": np.frombuffer(BYTES, "i4").copy(),
    "fortran": np.asfortranarray(RANDOM.random((300, 40, 5))),
    "strided": np.arange(200_000).reshape(200, 1000)[::2, 1::3],
    "structured": np.zeros(50_000, [("a", "i4"), ("b", "f8", (2,))]),
    "times": np.arange(10_000).astype("M8[us]"),
    "text": np.full(10_000, "größe"),
    "objects": np.array([{"a": 1}, None] * 5000, object),
    "bfloat16": np.arange(10_000).astype(ml_dtypes.bfloat16),
    "float8": np.arange(10_000).astype(ml_dtypes.float8_e5m2),
    "bytes": BYTES,
    "no bytes": b"",
    "bytearray": bytearray(BYTES),
    "many": [np.full(5000, i % 256, "u1") for i in range(3000)],
    "words": [f"word {i}" for i in range(100_000)],
}


@pytest.fixture
def both():
    """The two ends of a connection, in one process."""
    ends = [Channel(end) for end in Pipe()]
    yield ends
    for end in ends:
        end.close()


def passed(both, value):
    here, there = both
    here.send("reply", 0, Packed(value))
    return there.open(there.receive())


@pytest.mark.parametrize("name", VALUES)
def test_a_value_arrives_intact_from_a_worker(pool_tasks, name):
    value = VALUES[name]
    with Pool(pool_tasks.echo, 1) as pool:
        pool.submit(value)
        reply = pool.take()
    if name == "many":
        assert all(np.array_equal(one, other) for one, other in zip(value, reply, strict=True))
    elif isinstance(value, np.ndarray):
        assert (reply.dtype, reply.shape) == (value.dtype, value.shape)
        assert reply.flags.writeable
        assert np.array_equal(reply, value)
        assert reply.flags.f_contiguous == value.flags.f_contiguous or name == "strided"
    else:
        assert type(reply) is type(value)
        assert reply == value


def test_hundreds_of_megabytes_arrive_intact(pool_tasks):
    size = 300_000_000
    with Pool(pool_tasks.call, 1) as pool:
        pool.submit(("filled", size, 9))
        reply = pool.take()
        assert len(reply) == size
        assert reply.min() == reply.max() == 9


def test_one_array_twice_is_one_array_still(both):
    array = np.arange(10_000)
    one, other, (part,) = passed(both, [array, array, [array[5:]]])
    assert one is other
    assert np.array_equal(part, array[5:])


def test_a_read_only_array_arrives_read_only(both):
    array = np.arange(10_000)
    array.flags.writeable = False
    assert not passed(both, array).flags.writeable


def test_a_subclass_arrives_as_itself(both):
    value = np.ma.masked_array(np.arange(5000), np.arange(5000) % 2)
    reply = passed(both, value)
    assert type(reply) is np.ma.MaskedArray
    assert np.array_equal(reply.filled(-1), value.filled(-1))


def test_arrays_lie_at_multiples_of_64_bytes(both):
    for array in passed(both, [np.zeros(4096 + i, "u1") for i in range(5)]):
        assert array.ctypes.data % 64 == 0


def test_views_keep_their_values_whatever_is_received_later(pool_tasks):
    with Pool(pool_tasks.call, 2) as pool:
        requests = (("filled", 100_000 + i, i) for i in range(60))
        kept = [reply[7:-7:2] for reply in pool.map(requests)]
    for i, view in enumerate(kept):
        assert len(view) == (100_000 + i - 14 + 1) // 2
        assert view.min() == view.max() == i
        view += 1
    assert [int(view[0]) for view in kept] == [i + 1 for i in range(60)]


@pytest.mark.parametrize("held", [1, 4, 200])
def test_slots_are_used_again_and_descriptors_stay_few(both, held):
    """Also where the reader holds more replies than slots may be lent."""
    kept = []
    before = len(os.listdir("/proc/self/fd"))
    for i in range(1000):
        kept.append(passed(both, np.full(20_000, i % 251, "u1")))
        del kept[:-held]
        if i % 7 == 0:
            passed(both[::-1], None)  # what brings slots home
    for i, array in enumerate(kept, 1000 - len(kept)):
        assert array.min() == array.max() == i % 251
    slots = both[0]._outbox._slots
    assert len(slots) <= _slots._MOST_LEASES + 8
    assert both[1]._inbox._memory.keys() == slots.keys()
    assert len(os.listdir("/proc/self/fd")) - before == 2 * len(slots)


def test_a_thousand_replies_of_workers_use_few_descriptors_on_either_side(pool_tasks):
    with Pool(pool_tasks.call, 2) as pool:
        list(pool.map([("filled", 50_000, 1)] * 10))
        before = pool_tasks.descriptors()
        for reply in pool.map([("filled", 50_000 + 13 * i, i % 256) for i in range(1000)]):
            assert reply[0] == reply[-1]
        assert pool_tasks.descriptors() <= before + 8
        assert max(pool.map([("descriptors",)] * 4)) < 30


def test_growing_replies_leave_no_trail_of_slots(both):
    for size in range(10_000, 5_000_000, 50_000):
        assert passed(both, np.zeros(size, "u1")).size == size
        passed(both[::-1], None)
    assert len(both[0]._outbox._slots) <= 2


def test_an_idle_giant_is_given_back(both):
    passed(both, np.zeros(50_000_000, "u1"))
    passed(both[::-1], None)
    assert [slot.size for slot in both[0]._outbox._slots.values()] == [2**26]
    for small in (np.zeros(100_000, "u1"), None):
        for _ in range(40):
            passed(both, small)
            passed(both[::-1], None)
        assert all(slot.size <= 2**18 for slot in both[0]._outbox._slots.values())
    assert not both[0]._outbox._slots
    assert not both[1]._inbox._memory


def test_small_messages_use_no_slot(both):
    for value in (None, 5, "x" * 1000, np.zeros(100)):
        passed(both, value)
    assert not both[0]._outbox._slots


def test_without_memfd_an_unlinked_file_does_the_same(both, monkeypatch, tmp_path):
    monkeypatch.delattr(os, "memfd_create")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert np.array_equal(passed(both, VALUES["large"]), VALUES["large"])
    assert len(both[0]._outbox._slots) == 1
    assert not list(tmp_path.iterdir())


def test_a_reply_for_which_there_is_no_memory_is_an_error_of_its_request(pool_tasks, monkeypatch):
    def refuse(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "memfd_create", refuse)  # in the forked worker
    with Pool(pool_tasks.call, 1, start_method="fork") as pool:
        pool.submit(("filled", 10**6, 1))
        pool.submit(("echo", 1))
        with pytest.raises(OSError, match="No space left") as found:
            pool.take()
        assert "reply to request 0" in found.value.__notes__[0]
        assert pool.take() == 1


def test_requests_travel_in_recycled_memory_too_and_may_change_at_once(pool_tasks):
    with Pool(pool_tasks.echo, 1) as pool:
        array = np.zeros(100_000, "i4")
        for i in range(20):
            array[:] = i
            pool.submit(array)
            array[:] = -1
            assert (pool.take() == i).all()
        assert len(pool._members[0].channel._outbox._slots) <= 4
