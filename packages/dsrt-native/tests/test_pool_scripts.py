"""Programs as people write them: guarded or not, on standard input, with -c, as a module."""

import re
import subprocess
import sys
import textwrap

import pytest

WAYS_OUT = (
    "at the top of a module",
    'guard what the script does with `if __name__ == "__main__":`',
)

TASK = """
from dsrt_native._pool import Pool

def double(x):
    return 2 * x
"""

USE = """
def use(task, method):
    with Pool(task, 2, start_method=method) as pool:
        print(list(pool.map(range(5))))
"""

DONE = "[0, 2, 4, 6, 8]\n"


@pytest.fixture
def run(tmp_path):
    """Runs Python in an empty folder; returns exit code, output, errors."""

    def run(*arguments, stdin=None, **files):
        for name, text in files.items():
            (tmp_path / f"{name}.py").write_text(text)
        command = [sys.executable, *arguments]
        done = subprocess.run(
            command, input=stdin or "", cwd=tmp_path, capture_output=True, text=True, timeout=120
        )
        return done.returncode, done.stdout, done.stderr

    return run


def guarded(line):
    return TASK + USE + 'if __name__ == "__main__":\n' + textwrap.indent(line, "    ")


@pytest.mark.parametrize("method", ["forkserver", "spawn", "fork"])
@pytest.mark.parametrize("command", [["script.py"], ["-m", "script"]])
def test_a_guarded_script_works(run, method, command):
    assert run(*command, script=guarded(f"use(double, {method!r})")) == (0, DONE, "")


@pytest.mark.parametrize("method", ["forkserver", "spawn"])
def test_an_unguarded_script_fails_once_with_the_ways_out(run, method):
    script = TASK + USE + f"use(double, {method!r})"
    code, out, err = run("script.py", script=script)
    assert code == 1
    assert out == ""
    assert err.count("Traceback") == 1
    assert "WorkerError: the main script starts worker processes when it is imported" in err
    assert all(way in err for way in WAYS_OUT)


def test_an_unguarded_script_may_fork(run):
    assert run("script.py", script=TASK + USE + 'use(double, "fork")') == (0, DONE, "")


@pytest.mark.parametrize("method", ["forkserver", "spawn"])
@pytest.mark.parametrize("way", ["stdin", "-c"])
@pytest.mark.parametrize("task", ["double", "functools.partial(double)", "Doubler().double"])
def test_what_comes_from_nowhere_is_refused_before_a_process_starts(run, method, way, task):
    program = f"""{TASK}{USE}
import functools, multiprocessing
class Doubler:
    def double(self, x): return 2 * x
try:
    use({task}, {method!r})
except TypeError as error:
    print(error)
print(multiprocessing.active_children(), multiprocessing.forkserver._forkserver._forkserver_pid)
"""
    code, out, err = run("-", stdin=program) if way == "stdin" else run("-c", program)
    assert (code, err) == (0, "")
    assert "comes from a notebook, from standard input or from the command line" in out
    assert all(way in out for way in WAYS_OUT)
    assert out.endswith("\n[] None\n")


@pytest.mark.parametrize("method", ["forkserver", "spawn", "fork"])
def test_a_program_on_standard_input_may_use_a_modules_task(run, method):
    program = f"{TASK}{USE}\nimport tasks\nuse(tasks.double, {method!r})\nprint(__file__)\n"
    assert run("-", stdin=program, tasks=TASK) == (0, DONE + "<stdin>\n", "")


@pytest.mark.parametrize("method", ["forkserver", "spawn"])
def test_a_task_under_the_guard_is_not_there_in_workers_and_the_error_says_so(run, method):
    line = f"def hidden(x):\n    return x\nuse(hidden, {method!r})"
    code, _, err = run("script.py", script=guarded(line))
    assert code == 1
    assert "WorkerError: a worker process cannot load the task: " in err
    assert "hidden" in err
    assert all(way in err for way in WAYS_OUT)


@pytest.mark.parametrize("method", ["forkserver", "spawn"])
def test_a_module_that_workers_cannot_import_is_named(run, method):
    tasks = "import multiprocessing\nif multiprocessing.parent_process():\n    import not_there\n" + TASK
    script = guarded(f"import tasks\nuse(tasks.double, {method!r})")
    code, _, err = run("script.py", script=script, tasks=tasks)
    assert code == 1
    assert "ModuleNotFoundError: No module named 'not_there'" in err
    assert "in worker process" in err
    assert "WorkerError: a worker process cannot load the task: No module named 'not_there'" in err


@pytest.mark.parametrize("method", ["forkserver", "spawn"])
def test_a_main_script_that_fails_in_workers_is_an_error_at_start(run, method):
    script = "if __name__ != '__main__':\n    raise KeyError('gone')\n" + guarded(f"use(double, {method!r})")
    code, _, err = run("script.py", script=script)
    assert code == 1
    assert "KeyError: 'gone'" in err
    assert "ended with exit code 1 while it was starting; what it wrote to standard error says why" in err
    assert all(way in err for way in WAYS_OUT)


def test_the_users_own_processes_are_as_they_were(run):
    """Ctrl-C still reaches them, though a pool has started the fork server."""
    script = guarded("""\
import multiprocessing, signal
use(double, "forkserver")
context = multiprocessing.get_context("forkserver")
child = context.Process(target=report)
child.start()
child.join()
""")
    report = """
import signal
def report():
    print(signal.getsignal(signal.SIGINT) is signal.default_int_handler, signal.pthread_sigmask(0, []))
"""
    assert run("script.py", script=report + script) == (0, DONE + "True set()\n", "")


@pytest.mark.parametrize("method", ["forkserver", "spawn", "fork"])
def test_a_program_that_lets_the_system_reap_its_children_can_have_workers(run, method):
    line = f"import signal\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\nuse(double, {method!r})"
    assert run("script.py", script=guarded(line)) == (0, DONE, "")


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_a_death_of_which_the_system_does_not_tell_is_an_error_still(run, method):
    line = f"import os, signal\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\nuse(os._exit, {method!r})"
    code, _, err = run("script.py", script=guarded(line))
    assert code == 1
    # Every worker leaves at its first request, and which one is seen first is chance.
    assert re.search(r"left while it computed request \d+; how, the system does not say", err), err


@pytest.mark.parametrize("method", ["forkserver", "spawn", "fork"])
def test_a_program_may_end_with_its_pool_open(run, method):
    line = f"pool = Pool(double, 2, start_method={method!r})\npool.submit(4)\nprint(pool.take())"
    assert run("script.py", script=guarded(line)) == (0, "8\n", "")


@pytest.mark.parametrize("method", ["forkserver", "spawn", "fork"])
def test_a_program_may_end_while_its_workers_compute(run, method):
    line = (
        f"import time\npool = Pool(time.sleep, 2, start_method={method!r})\npool.submit(1000)\nprint('end')"
    )
    assert run("script.py", script=guarded(line)) == (0, "end\n", "")
