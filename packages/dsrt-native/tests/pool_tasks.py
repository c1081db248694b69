"""What the workers of the tests do; a module of its own, so that they can import it."""

import os
import pickle
import random
import signal
import sys
import time
from pathlib import Path

import numpy as np


def echo(request):
    return request


def call(request):
    """Does what a request says: the name of a function here, and its arguments."""
    name, *arguments = request
    return globals()[name](*arguments)


def pid():
    return os.getpid()


def modules():
    return sorted(sys.modules)


def draws():
    return random.random(), np.random.default_rng().random(), np.random.random()


def descriptors(process="self"):
    return len(os.listdir(f"/proc/{process}/fd"))


def private_kilobytes():
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(("Private_", "Shared_Hugetlb")))


def filled(size, value):
    return np.full(size, value, np.uint8)


def wait_for(path, reply=None):
    """Answers once a file exists."""
    while not Path(path).exists():
        time.sleep(0.002)
    return reply


def touch_and_sleep(path):
    Path(path).write_text(str(os.getpid()))
    time.sleep(1000)


def touch_and_spin(path):
    Path(path).write_text(str(os.getpid()))
    while True:
        pass


def touch_and_hold_the_gil(path):
    Path(path).write_text(str(os.getpid()))
    # One call of C code that gives nobody a turn.
    return sum(range(10**12))


def die(how):
    if isinstance(how, signal.Signals):
        signal.signal(signal.SIGSEGV, signal.SIG_DFL)
        os.kill(os.getpid(), how)
        time.sleep(1000)
    os._exit(how)


class Odd(Exception):
    """An exception that carries more than its message."""

    def __init__(self, message, place):
        super().__init__(message, place)
        self.place = place


class Locked(Exception):
    """An exception that cannot be pickled."""

    def __reduce__(self):
        raise pickle.PicklingError("never")


class Wordy(Exception):
    """What it is made of is not what it holds: made again from that, it would say it twice."""

    def __init__(self, what):
        super().__init__(f"bad {what}")


class Picky(Exception):
    """An exception that can be pickled but not made again."""

    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")


RAISED = {
    "odd": lambda: Odd("no", 7),
    "locked": lambda: Locked("a secret"),
    "picky": lambda: Picky("this", "that"),
    "wordy": lambda: Wordy("thing"),
    "exit": lambda: SystemExit(3),
    "interrupt": lambda: KeyboardInterrupt(),
    "stop": lambda: StopIteration(5),
    "end of file": lambda: EOFError("mine"),
    "reset": lambda: ConnectionResetError("mine"),
}


def fail(kind):
    raise RAISED[kind]()


def unpicklable():
    return {"x": lambda: None}


def say(text):
    print(text)
    print(text, file=sys.stderr)
    return text
