"""Workers that die, and parents: who learns it, and what is left."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from dsrt_format import WorkerError
from dsrt_native._pool import Pool

PATIENCE = 60.0

METHODS = ["forkserver", "spawn", "fork"]


def eventually(condition):
    """Asserts that something becomes true; how long it takes is not the matter."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.005)


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def group(leader):
    """The living processes of a process group."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and alive(entry.name):
            try:
                if os.getpgid(int(entry.name)) == leader:
                    found.append(int(entry.name))
            except ProcessLookupError:
                pass
    return found


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSEGV, 3, 0])
def test_the_death_of_a_worker_is_an_error_with_code_or_signal_and_request(pool_tasks, method, how):
    with Pool(pool_tasks.call, 2, start_method=method) as pool:
        assert list(pool.map([("echo", 1)] * 6)) == [1] * 6
        pool.submit(("die", how))
        with pytest.raises(WorkerError) as found:
            pool.take()
        error = found.value
        assert error.batch == 6
        if isinstance(how, signal.Signals):
            assert (error.signal, error.exit) == (how, None)
            assert f"killed by {how.name} ({how.value}) while it computed request 6" in str(error)
        else:
            assert (error.signal, error.exit) == (None, how)
            assert f"exit code {how} while it computed request 6" in str(error)
        for use in (pool.take, lambda: pool.submit(1), pool.discard):
            with pytest.raises(WorkerError, match="request 6"):
                use()


@pytest.mark.parametrize("method", METHODS)
def test_what_a_worker_said_before_it_died_counts_where_a_request_finds_it_dead(pool_tasks, method):
    with Pool(pool_tasks.call, 1, start_method=method) as pool:
        (member,) = pool._members
        pool.submit(("die", 3))
        member.process.join()  # nothing that it said was read until now
        with pytest.raises(WorkerError, match="exit code 3 while it computed request 0"):
            pool.submit(("echo", 1))


def test_a_kill_says_that_memory_may_be_the_cause(pool_tasks):
    with Pool(pool_tasks.call, 1) as pool:
        pool.submit(("die", signal.SIGKILL))
        with pytest.raises(WorkerError, match="perhaps out of memory"):
            pool.take()


def test_a_death_is_known_while_an_earlier_request_is_still_computed(pool_tasks, tmp_path):
    with Pool(pool_tasks.call, 2) as pool:
        pool.submit(("touch_and_sleep", tmp_path / "busy"))
        pool.submit(("die", 4))
        with pytest.raises(WorkerError) as found:
            pool.take()
        assert (found.value.exit, found.value.batch) == (4, 1)


def test_what_a_worker_said_before_it_died_is_heard(pool_tasks):
    with Pool(pool_tasks.call, 1) as pool:
        pool.submit(("filled", 10**6, 3))
        pool.submit(("die", 5))
        reply = pool.take()
        with pytest.raises(WorkerError, match="request 1"):
            pool.take()
    assert reply.min() == reply.max() == 3


def test_an_idle_worker_that_dies_is_noticed_at_the_next_use(pool_tasks):
    with Pool(pool_tasks.call, 1) as pool:
        pool.submit(("pid",))
        pid = pool.take()
        os.kill(pid, signal.SIGTERM)
        eventually(lambda: not alive(pid))
        with pytest.raises(WorkerError, match="SIGTERM") as found:
            list(pool.map([("pid",)]))
        assert found.value.signal == signal.SIGTERM


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("busy", ["idle", "starting", "touch_and_sleep", "touch_and_hold_the_gil"])
def test_closing_leaves_no_process_and_no_descriptor(pool_tasks, method, busy, tmp_path):
    Pool(pool_tasks.call, 1, start_method=method).close()  # the fork server, and what it needs, stays
    descriptors = pool_tasks.descriptors()
    pool = Pool(pool_tasks.call, 2, start_method=method)
    pids = [member.process.pid for member in pool._members]
    if busy != "starting":
        list(pool.map([("filled", 10**5, 1)] * 4))
    if busy.startswith("touch"):
        for i in range(2):
            pool.submit((busy, tmp_path / str(i)))
        eventually(lambda: len(list(tmp_path.iterdir())) == 2)
    pool.close()
    assert not any(map(alive, pids))
    assert pool_tasks.descriptors() <= descriptors


@pytest.mark.parametrize("method", METHODS)
def test_nothing_is_ever_in_dev_shm(parent, method):
    """Names there come and go with other programs, so each process is asked what it has opened and mapped."""
    process, pids = parent(method, "touch_and_sleep")
    for pid in [process.pid, *pids]:
        folder = Path(f"/proc/{pid}")
        held = [os.readlink(file) for file in (folder / "fd").iterdir()] + [(folder / "maps").read_text()]
        assert any("/memfd:dsrt (deleted)" in one for one in held)
        assert not any("/dev/shm" in one for one in held)


def test_a_forgotten_pool_ends_its_workers(pool_tasks):
    pool = Pool(pool_tasks.call, 2)
    pids = list(pool.map([("pid",)] * 4))
    assert all(map(alive, pids))
    del pool
    eventually(lambda: not any(map(alive, pids)))


def test_views_outlive_the_pool(pool_tasks):
    with Pool(pool_tasks.call, 1) as pool:
        (reply,) = pool.map([("filled", 10**6, 8)])
    reply += 1
    assert reply.min() == reply.max() == 9


PARENT = """
import os, pathlib, subprocess, sys
sys.path.insert(0, {tests!r})
import pool_tasks
from dsrt_native._pool import Pool

if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[3])
    pool = Pool(pool_tasks.call, 2, start_method=sys.argv[1])
    for reply in pool.map([("filled", 10**5, 1)] * 4):
        assert reply[0] == 1
    for i in range(2 * (sys.argv[2] != "idle")):
        pool.submit((sys.argv[2], folder / str(i)))
    if len(sys.argv) > 4 and (child := os.fork()) == 0:
        import time
        time.sleep(1000)  # a process that outlives the parent and has inherited its descriptors
    try:
        print(*[member.process.pid for member in pool._members], flush=True)
        pool.submit(("touch_and_sleep", folder / "last"))
        pool.take()
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


@pytest.fixture
def parent(tmp_path):
    """Starts a program whose workers compute; a group of its own, of which nothing may be left."""
    started = []
    # The fork server of a program that is killed leaves its socket in the folder for temporary files.
    scratch = tempfile.TemporaryDirectory(prefix="pool-")
    environment = {**os.environ, "TMPDIR": scratch.name}

    def start(method, busy, *more):
        (tmp_path / "parent.py").write_text(PARENT.format(tests=str(Path(__file__).parent)))
        (folder := tmp_path / "touched").mkdir()
        command = [sys.executable, tmp_path / "parent.py", method, busy, folder, *more]
        process = subprocess.Popen(
            command,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        pids = [int(pid) for pid in process.stdout.readline().split()]
        assert len(pids) == 2, process.communicate()[1]
        eventually(lambda: len(list(folder.iterdir())) == (1 if busy == "idle" else 2))
        return process, pids

    yield start
    for process in started:
        for pid in group(process.pid):
            os.kill(pid, signal.SIGKILL)
        process.communicate()
    scratch.cleanup()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("busy", ["idle", "touch_and_sleep", "touch_and_spin", "touch_and_hold_the_gil"])
def test_workers_follow_a_killed_parent_whatever_they_do(parent, method, busy):
    process, pids = parent(method, busy)
    process.kill()
    process.wait()
    eventually(lambda: not any(map(alive, pids)))
    eventually(lambda: not group(process.pid))  # the fork server as well


def test_workers_follow_a_killed_parent_though_another_child_of_it_lives_on(parent):
    process, pids = parent("forkserver", "touch_and_spin", "fork")
    process.kill()
    process.wait()
    eventually(lambda: not any(map(alive, pids)))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("busy", ["idle", "touch_and_sleep", "touch_and_spin"])
def test_an_interrupt_reaches_the_parent_alone_and_nothing_is_left(parent, method, busy):
    process, _ = parent(method, busy)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out, err) == (0, "interrupted\n", "")
    eventually(lambda: not group(process.pid))


def test_a_second_interrupt_does_not_leave_workers_either(parent):
    process, pids = parent("forkserver", "touch_and_hold_the_gil")
    for _ in range(3):
        os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=PATIENCE)
    eventually(lambda: not any(map(alive, pids)))
    eventually(lambda: not group(process.pid))
