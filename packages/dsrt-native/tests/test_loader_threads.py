"""Loaders and the world around them: memory that is lent, threads, Ctrl-C, fork, exit."""

import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from dsrt_native.loader import LoaderBase
from dsrt_native.threads import default_threads


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
    gate, asked, taken = threading.Event(), threading.Event(), []

    def lend(size):
        asked.set()
        gate.wait()
        memory = np.zeros(size + 64, np.uint8)
        return memory[-memory.ctypes.data % 64 :][:size]

    batches = iter(Lending(population, lend=lend))
    first = threading.Thread(target=lambda: taken.append(next(batches, None)))
    first.start()
    asked.wait()
    # It looks for signals now and then while it waits, and is inside all the same.
    for _ in range(20):
        with pytest.raises(RuntimeError, match="two threads are inside"):
            next(batches)
        time.sleep(0.01)
    gate.set()
    first.join()
    assert len(taken[0]) == 5


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


def interrupted(script, numbers):
    """Press Ctrl-C when a script says that it waits; return its status and the last line it writes."""
    command = [sys.executable, "-c", LENDING + script, numbers]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "waiting\n"
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=60)
    return child.returncode, out.splitlines()[-1]


def test_ctrl_c_interrupts_a_wait(numbers):
    script = """
import os

def never(size):
    os.write(1, b"waiting\\n")
    threading.Event().wait()

loader = loader_of(never)
try:
    next(iter(loader))
except KeyboardInterrupt:
    print("interrupted", loader.position, flush=True)
    os._exit(3)
"""
    assert interrupted(script, numbers) == (3, "interrupted 0")


def test_ctrl_c_interrupts_the_first_batch_and_nothing_is_lost(numbers):
    script = """
from dsrt_native import Cache, Loader

options = dict(order="uniform", fields=["x", "_position"], threads=2, max_bytes=2**20)
loader = Loader(Cache.open(sys.argv[1]), 2**23, **options)
batches = loader.steps()
threading.Thread(target=lambda: (time.sleep(0.02), print("waiting", flush=True))).start()
try:
    next(batches)
except KeyboardInterrupt:
    assert loader.position == loader.stats().batches == 0
    batch, first = next(batches), next(Loader(Cache.open(sys.argv[1]), 2**23, **options).steps())
    assert all((batch[name] == first[name]).all() for name in batch)
    assert batch["_position"][0] == 0 and loader.position == 2**23
    print("interrupted", flush=True)
"""
    assert interrupted(script, numbers) == (0, "interrupted")


def test_ctrl_c_interrupts_a_close_that_waits_for_a_stuck_thread(numbers):
    script = """
import os, signal

def never(size):
    os.write(1, b"waiting\\n")
    threading.Event().wait()

def press_when_closed():
    try:
        next(iter(loader))
    except RuntimeError:
        os.kill(os.getpid(), signal.SIGINT)

loader = loader_of(never)
try:
    with loader:
        try:
            next(iter(loader))
        except KeyboardInterrupt:
            threading.Thread(target=press_when_closed, daemon=True).start()
            raise
except KeyboardInterrupt as second:
    print("interrupted while", type(second.__context__).__name__, flush=True)
    os._exit(3)
"""
    assert interrupted(script, numbers) == (3, "interrupted while KeyboardInterrupt")


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


def test_a_loader_may_be_let_go_of_on_a_thread_of_its_own(numbers):
    script = """
import os

count = lambda: len(os.listdir("/proc/self/task"))
before, calls, held = count(), [], []
taken, gone = threading.Event(), threading.Event()

def lend(size):
    calls.append(size)
    # Eight batches are made ahead; the ninth is asked for once the first one was taken.
    if len(calls) > 8:
        taken.wait()
        held.clear()
        gone.set()
    memory = np.zeros(size + 64, np.uint8)
    return memory[-memory.ctypes.data % 64 :][:size]

held.append(loader_of(lend).steps())
next(held[0])
taken.set()
gone.wait()
while count() != before:
    time.sleep(0.001)
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
while count() < before + 3:
    pass
loader.close()
assert count() == before
"""
    done = run(script, numbers)
    assert (done.returncode, done.stderr) == (0, "")


def test_threads_by_default_are_a_share_of_the_cpus():
    assert 1 <= default_threads() <= 4
    assert default_threads(10**6) == 1
