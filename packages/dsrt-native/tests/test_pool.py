"""The pool's order, bounds and errors. Deaths are in test_pool_death, memory in test_pool_memory."""

import multiprocessing
import os
import pickle
from collections import deque

import pytest

from dsrt_native._pool import DEPTH, Pool

METHODS = ["forkserver", "spawn", "fork"]


@pytest.fixture
def pool(pool_tasks):
    with Pool(pool_tasks.call, 2) as pool:
        yield pool


@pytest.mark.parametrize("method", METHODS)
def test_workers_answer_under_every_start_method(pool_tasks, method):
    with Pool(pool_tasks.call, 2, start_method=method) as pool:
        pids = set(pool.map([("pid",)] * 8))
    assert os.getpid() not in pids
    assert 1 <= len(pids) <= 2


def test_replies_come_in_the_order_of_requests_whatever_finishes_first(pool, tmp_path):
    pool.submit(("wait_for", tmp_path / "go", "first"))
    pool.submit(("echo", "second"))
    pool.submit(("wait_for", tmp_path / "second is ready", "third"))
    while 1 not in pool._arrived:
        pool._wait()
    assert 0 not in pool._arrived
    (tmp_path / "go").touch()
    (tmp_path / "second is ready").touch()
    assert [pool.take() for _ in range(3)] == ["first", "second", "third"]


@pytest.mark.parametrize(
    "value", [None, 0, "größe", {"a": [1, (2.5, {3})]}, ValueError("as a value"), 2**2000]
)
def test_any_value_goes_to_a_worker_and_back(pool_tasks, value):
    with Pool(pool_tasks.echo, 1) as pool:
        pool.submit(value)
        reply = pool.take()
    assert type(reply) is type(value)
    assert repr(reply) == repr(value)


def test_map_draws_requests_only_as_there_is_room(pool):
    drawn = []

    def requests():
        for i in range(50):
            drawn.append(i)
            yield "echo", i

    replies = pool.map(requests())
    assert next(replies) == 0
    assert len(drawn) <= 2 * DEPTH + 1
    assert list(replies) == list(range(1, 50))


def test_no_more_may_be_submitted_than_is_free(pool, tmp_path):
    assert pool.free == 2 * DEPTH
    for i in range(2 * DEPTH):
        pool.submit(("wait_for", tmp_path / "go", i))
    assert pool.free == 0
    with pytest.raises(RuntimeError, match="4 requests are outstanding"):
        pool.submit(("pid",))
    assert [len(member.outstanding) for member in pool._members] == [DEPTH, DEPTH]
    (tmp_path / "go").touch()
    assert pool.take() == 0
    assert pool.free == 1
    assert [pool.take() for _ in range(3)] == [1, 2, 3]


def test_nothing_can_be_taken_that_was_not_submitted(pool):
    with pytest.raises(RuntimeError, match="no request is outstanding"):
        pool.take()


def test_a_discarded_request_is_never_seen_and_order_stays_exact(pool, tmp_path):
    pool.submit(("echo", "done before"))
    while not pool._arrived:
        pool._wait()
    pool.submit(("wait_for", tmp_path / "go", "discarded"))
    pool.submit(("fail", "odd"))
    pool.submit(("filled", 10**6, 1))
    pool.discard()
    assert pool.free == 2 * DEPTH
    (tmp_path / "go").touch()
    for i in range(2 * DEPTH):
        pool.submit(("echo", i))
    assert [pool.take() for _ in range(2 * DEPTH)] == list(range(2 * DEPTH))
    assert list(pool.map(("echo", i) for i in range(20))) == list(range(20))


def test_an_exception_arrives_as_itself_with_the_workers_traceback_and_the_pool_goes_on(pool, pool_tasks):
    pool.submit(("fail", "odd"))
    pool.submit(("echo", 1))
    with pytest.raises(pool_tasks.Odd) as found:
        pool.take()
    assert found.value.args == ("no", 7)
    assert found.value.place == 7
    (note,) = found.value.__notes__
    assert note.startswith("in worker process ")
    assert "in fail" in note
    assert "_worker.py" not in note
    assert pool.take() == 1


def test_an_exception_says_here_what_it_said_there(pool, pool_tasks):
    pool.submit(("fail", "wordy"))
    with pytest.raises(pool_tasks.Wordy) as found:
        pool.take()
    assert str(found.value) == "bad thing"


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("locked", "Locked: a secret"),
        ("picky", "Picky: this and that"),
        ("exit", "SystemExit: 3"),
        ("interrupt", "KeyboardInterrupt"),
        ("stop", "StopIteration: 5"),
    ],
)
def test_what_cannot_be_raised_here_is_a_runtime_error_that_shows_it(pool, kind, words):
    pool.submit(("fail", kind))
    pool.submit(("pid",))
    with pytest.raises(RuntimeError, match=words) as found:
        pool.take()
    assert type(found.value) is RuntimeError
    assert "in fail" in found.value.__notes__[0]
    assert isinstance(pool.take(), int)


@pytest.mark.parametrize(("kind", "cls"), [("end of file", EOFError), ("reset", ConnectionResetError)])
def test_an_error_of_the_tasks_own_connections_is_not_taken_for_the_pools(pool, kind, cls):
    pool.submit(("fail", kind))
    with pytest.raises(cls, match="mine"):
        pool.take()
    pool.submit(("echo", 1))
    assert pool.take() == 1


def test_a_reply_that_cannot_be_pickled_is_an_error_of_its_request(pool):
    pool.submit(("echo", 0))
    pool.submit(("unpicklable",))
    pool.submit(("echo", 2))
    assert pool.take() == 0
    with pytest.raises(TypeError, match=r"reply to request 1, of type dict, cannot be pickled: .*lambda"):
        pool.take()
    assert pool.take() == 2


def test_a_request_that_cannot_be_pickled_is_refused_and_not_counted(pool):
    with pytest.raises((AttributeError, pickle.PicklingError)):
        pool.submit(("echo", lambda: None))
    pool.submit(("echo", 1))
    assert pool.take() == 1


def test_a_closed_pool_says_so_and_closing_twice_is_nothing(pool):
    pool.submit(("echo", 1))
    pool.close()
    pool.close()
    for use in (pool.take, pool.discard, lambda: pool.submit(1)):
        with pytest.raises(RuntimeError, match="closed"):
            use()


@pytest.mark.parametrize(("changed", "error"), [({"workers": 0}, ValueError), ({"workers": 1.5}, TypeError),
    ({"start_method": "thread"}, ValueError), ({"task": 5}, TypeError)])  # fmt: skip
def test_bad_arguments_are_refused(pool_tasks, changed, error):
    arguments = {"task": pool_tasks.echo, "workers": 1, "start_method": "fork"} | changed
    with pytest.raises(error, match=next(iter(changed))):
        Pool(arguments.pop("task"), arguments.pop("workers"), **arguments)
    assert not multiprocessing.active_children()


@pytest.mark.parametrize("method", ["forkserver", "spawn"])
def test_a_lambda_is_refused_before_any_process_starts(method):
    with pytest.raises(TypeError, match=r"cannot be sent .* module, and .* guard "):
        Pool(lambda request: request, 1, start_method=method)
    assert not multiprocessing.active_children()


def test_a_forked_worker_takes_a_lambda():
    with Pool(lambda request: request + 1, 1, start_method="fork") as pool:
        assert list(pool.map(range(5))) == [1, 2, 3, 4, 5]


def test_a_worker_cannot_have_workers(pool_tasks):
    with Pool(lambda _: Pool(pool_tasks.echo, 1), 1, start_method="fork") as pool:
        pool.submit(None)
        with pytest.raises(RuntimeError, match="daemonic"):
            pool.take()


def test_a_forked_process_refuses_the_pool_and_leaves_it_alone(pool):
    if (child := os.fork()) == 0:
        try:
            pool.take()
        except RuntimeError as error:
            pool.close()
            os._exit(0 if "belongs to process" in str(error) else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    pool.submit(("echo", 1))
    assert pool.take() == 1


def test_workers_start_without_heavy_modules(pool):
    pool.submit(("modules",))
    assert not {"pyarrow", "polars", "torch", "pandas", "jax"} & set(pool.take())


@pytest.mark.parametrize("method", METHODS)
def test_workers_draw_random_numbers_of_their_own(pool_tasks, method):
    pool_tasks.draws()  # forked workers inherit generators that are in use
    found = []
    for _ in range(3):
        with Pool(pool_tasks.call, 1, start_method=method) as pool:
            found += next(pool.map([("draws",)]))
    assert len(set(found)) == 9


def test_a_preload_list_of_the_users_is_kept(pool_tasks):
    server = multiprocessing.forkserver._forkserver
    before = server._preload_modules
    try:
        multiprocessing.set_forkserver_preload(["json"])
        Pool(pool_tasks.echo, 1).close()
        assert server._preload_modules == ["json", "dsrt_native._worker"]
    finally:
        server._preload_modules = before


def test_what_a_task_prints_is_seen_though_the_worker_is_ended(pool_tasks, capfd):
    with Pool(pool_tasks.call, 1, start_method="fork") as pool:
        pool.submit(("say", "hello"))
        assert pool.take() == "hello"
        os.kill(pool._members[0].process.pid, 9)
    out, err = capfd.readouterr()
    assert out == err == "hello\n"


@pytest.mark.parametrize("where", ["_arrive", "submit"])
def test_an_interrupt_between_a_message_and_its_note_ends_the_pool(pool, monkeypatch, where):
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    if where == "submit":
        for member in pool._members:
            monkeypatch.setattr(member, "outstanding", Interrupting())
    else:
        monkeypatch.setattr(pool, "_arrive", interrupt)
    with pytest.raises(KeyboardInterrupt):
        list(pool.map([("echo", 1)]))
    with pytest.raises(RuntimeError, match="the pool is closed"):
        pool.take()


class Interrupting(deque[int]):
    def append(self, number: int) -> None:
        raise KeyboardInterrupt
