"""What is called the answer to a Ctrl-C is the time from the signal to the exception, and nothing else."""

import signal
import time

from benchmarks.suites import interrupts

SLOW = 0.2


def _sleeps() -> None:
    time.sleep(SLOW)


def _deaf() -> None:
    """As a call into C that looks at no signals."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
    try:
        time.sleep(SLOW)
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM])


def test_what_answers_has_a_short_time_and_what_does_not_has_all_that_was_left() -> None:
    before = signal.getsignal(signal.SIGALRM)
    assert max(interrupts._latencies(_sleeps, 3)) < min(interrupts._latencies(_deaf, 3))
    assert min(interrupts._latencies(_deaf, 2)) >= SLOW * (1 - interrupts.LATE) / 2
    assert signal.getsignal(signal.SIGALRM) == before


def test_work_that_is_over_before_its_signal_is_no_error() -> None:
    passed = iter([SLOW, SLOW])  # as long when it is timed, and then at once
    (late,) = interrupts._latencies(lambda: time.sleep(next(passed, 0)), 1)
    assert late < SLOW
