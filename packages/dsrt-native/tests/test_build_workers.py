"""build(workers=...): the bytes of one process, whatever the ranges; errors that name sample and process."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from dsrt_format import Dense, Manifest, SchemaError, WorkerError, reference
from dsrt_native import build, ranges

from .directories import files_of, names


@pytest.fixture
def asked(monkeypatch):
    """The ranges that workers were asked for, in order."""
    found: list[range] = []

    class Watched(ranges.Pool):
        def submit(self, request: Any) -> None:
            found.append(request)
            super().submit(request)

    monkeypatch.setattr(ranges, "Pool", Watched)
    return found


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_the_bytes_are_those_of_one_process(tmp_path, worker_sources, workers):
    source = worker_sources.Squares(700, samples_per_shard=64)
    alone = build(source, tmp_path / "alone")
    shared = build(source, tmp_path / "shared", workers=workers)
    assert (shared.status, shared.num_samples) == ("built", 700)
    assert Manifest.load(shared.path).shards == (64,) * 10 + (60,)
    assert files_of(shared.path) == files_of(alone.path)


def test_each_sample_is_made_once_and_not_here(tmp_path, worker_sources):
    calls = tmp_path / "calls"
    build(worker_sources.Slow(40, calls=calls), tmp_path / "root", workers=3)
    made = [line.split() for line in calls.read_text().splitlines()]
    assert sorted(int(number) for number, _ in made) == list(range(40))
    assert len({process for _, process in made}) == 3


def test_a_source_may_fill_the_same_arrays_for_every_sample(tmp_path, worker_sources, asked):
    build(worker_sources.Reusing(), tmp_path / "alone")
    build(worker_sources.Reusing(), tmp_path / "shared", workers=2)
    assert max(map(len, asked)) > 1
    assert files_of(tmp_path / "shared") == files_of(tmp_path / "alone")
    for i, sample in enumerate(reference.read(tmp_path / "shared" / "reusing")):
        assert (sample["a"].tolist(), sample["b"]) == ([i] * 3, bytes([i % 256]) * 5)
        assert (sample["m"].tolist(), sample["v"].tolist()) == ([i % 256] * 3, [i, -i])
        assert (sample["w"].tolist(), sample["c"]) == ([i, -i], bytes([i % 256, 0]))


def test_ranges_begin_with_one_sample_and_grow_while_samples_are_quick_and_small(
    tmp_path, worker_sources, asked
):
    build(worker_sources.Squares(4000), tmp_path, workers=2)
    assert [len(numbers) for numbers in asked[:4]] == [1, 1, 1, 1]
    assert [i for numbers in asked for i in numbers] == list(range(4000))
    assert max(map(len, asked)) > 10
    # Towards the end they shrink again, so that no worker sits idle.
    assert len(asked[-1]) == 1


def test_ranges_of_slow_samples_stay_short(tmp_path, worker_sources, asked):
    build(worker_sources.Slow(20), tmp_path, workers=2)
    assert {len(numbers) for numbers in asked} == {1}


def test_ranges_of_large_samples_stay_at_some_mebibytes(tmp_path, worker_sources, asked):
    build(worker_sources.Large(), tmp_path, workers=1)
    assert max(map(len, asked)) <= 4
    assert [sample["a"][0] for sample in reference.read(tmp_path / "large")] == list(range(60))


@pytest.mark.parametrize("workers", [1, 3])
def test_a_range_whose_samples_turn_out_large_ends_early_and_its_rest_is_made_in_order(
    tmp_path, worker_sources, monkeypatch, workers
):
    sizes = []

    class Weighed(ranges.Pool):
        def take(self) -> Any:
            made = super().take()
            sizes.append(sum(sample["a"].nbytes for sample in made.samples))
            return made

    monkeypatch.setattr(ranges, "Pool", Weighed)
    build(worker_sources.Growing(), tmp_path, workers=workers)
    assert max(sizes) <= 17 << 20
    samples = reference.read(tmp_path / "growing")
    assert [int(sample["x"]) for sample in samples] == list(range(3100))
    assert [sample["a"].nbytes for sample in samples] == [3] * 3000 + [1 << 20] * 100


@pytest.mark.parametrize("count", [1, 2, 30, 500])
def test_an_exception_is_raised_after_all_samples_before_it(tmp_path, worker_sources, count):
    seen = []
    with pytest.raises(LookupError, match="no such file") as caught:
        build(
            worker_sources.Failing(count),
            tmp_path / "root",
            workers=2,
            progress=lambda now: seen.append(now.done),
        )
    where, while_building = caught.value.__notes__
    assert where.startswith("in worker process ")
    assert "worker_sources.py" in where
    assert while_building == f"while building 'squares' from worker_sources.Failing, at sample {count - 1}"
    assert names(tmp_path / "root") == []


def test_a_sample_that_does_not_fit_is_named_as_in_one_process(tmp_path, worker_sources):
    with pytest.raises(SchemaError, match=r"^field half, sample 99: .*str"):
        build(worker_sources.Misfit(100), tmp_path, workers=2)
    assert names(tmp_path) == []


@pytest.mark.parametrize("kind", ["Text1", "Yielding"])
def test_a_sample_that_is_no_dict_is_refused_as_in_one_process(tmp_path, worker_sources, kind):
    for workers in (0, 2):
        with pytest.raises(TypeError, match="a sample is a dict"):
            build(getattr(worker_sources, kind)(9), tmp_path, workers=workers)


def test_a_value_that_cannot_be_sent_is_named_as_one_that_does_not_fit(tmp_path, worker_sources):
    for workers in (0, 2):
        with pytest.raises(SchemaError, match=r"^field word, sample 99: .*function"):
            build(worker_sources.Functions(100), tmp_path, workers=workers)
    assert names(tmp_path) == []


def test_a_worker_that_ends_is_named_with_its_exit_code_and_its_samples(tmp_path, worker_sources):
    with pytest.raises(WorkerError, match="ended with exit code 9") as caught:
        build(worker_sources.Leaving(60), tmp_path / "root", workers=2)
    assert (caught.value.exit, caught.value.signal) == (9, None)
    assert "it was making sample" in caught.value.__notes__[0]
    assert "59 of 'squares'" in caught.value.__notes__[0]
    assert names(tmp_path / "root") == []


def test_a_worker_that_is_killed_is_named_with_its_signal(tmp_path, worker_sources):
    with pytest.raises(WorkerError, match="SIGKILL") as caught:
        build(worker_sources.Killed(60), tmp_path / "root", workers=2)
    assert (caught.value.exit, caught.value.signal) == (None, signal.SIGKILL)
    assert names(tmp_path / "root") == []


def test_a_source_that_cannot_be_sent_is_refused_and_leaves_nothing(tmp_path, worker_sources):
    source = worker_sources.Squares(9, fingerprint="a")
    source.read = lambda path: path
    with pytest.raises(TypeError, match=r"^the source 'squares' cannot be sent .*lambda"):
        build(source, tmp_path / "root", workers=2)
    assert names(tmp_path / "root") == []


class Stream:
    name = "stream"
    fields: ClassVar = {"x": Dense("int64")}
    metadata: ClassVar = {}

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter([{"x": 1}])


def test_workers_need_random_access(tmp_path):
    with pytest.raises(TypeError, match=r"workers=2: .*Stream has no __getitem__ and __len__.*workers=0"):
        build(Stream(), tmp_path / "root", workers=2)
    assert names(tmp_path / "root") == []


@pytest.mark.parametrize(("workers", "error"), [(-1, ValueError), (1.5, TypeError), (True, TypeError)])
def test_workers_are_a_number_from_0_on(tmp_path, worker_sources, workers, error):
    with pytest.raises(error, match="workers="):
        build(worker_sources.Squares(1), tmp_path, workers=workers)


def test_no_process_is_started_where_there_is_nothing_to_make(tmp_path, worker_sources, monkeypatch):
    monkeypatch.setattr(ranges, "Pool", None)
    assert build(worker_sources.Squares(0), tmp_path, workers=2).num_samples == 0


def test_progress_counts_what_was_appended(tmp_path, worker_sources):
    seen = []
    build(
        worker_sources.Squares(300),
        tmp_path,
        workers=2,
        progress=lambda now: seen.append((now.done, now.total)),
    )
    assert (seen[0], seen[-1]) == ((0, 300), (300, 300))
    assert seen == sorted(seen)


def test_an_exception_of_progress_ends_the_workers(tmp_path, worker_sources):
    def stop(now: Any) -> None:
        if now.done > 0:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        build(worker_sources.Slow(1000), tmp_path, workers=2, progress=stop)
    assert names(tmp_path) == []


SCRIPT = """
import numpy as np
from dsrt_format import Dense
from dsrt_native import build

class Ones:
    name = "ones"
    fields = {"x": Dense("float32", (4,))}
    metadata = {}

    def __len__(self):
        return 50

    def __getitem__(self, i):
        return {"x": np.full(4, i, np.float32)}
"""


def test_a_guarded_script_holds_the_source_itself(tmp_path):
    (tmp_path / "script.py").write_text(
        SCRIPT + '\nif __name__ == "__main__":\n    print(build(Ones(), "caches", workers=2).num_samples)\n'
    )
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("50\n", "")
    np.testing.assert_equal(
        [sample["x"][0] for sample in reference.read(tmp_path / "caches" / "ones")], np.arange(50)
    )


def test_an_unguarded_script_is_told_so_and_leaves_nothing(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT + '\nbuild(Ones(), "caches", workers=2)\n')
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert '`if __name__ == "__main__":`' in done.stderr
    assert "CacheLockedError" not in done.stderr
    assert names(tmp_path / "caches") == []


INTERRUPTED = """
import sys
sys.path.insert(0, sys.argv[1])
from dsrt_native import build
from worker_sources import Slow

if __name__ == "__main__":
    source = Slow(2000, fingerprint="a", samples_per_shard=3)
    build(source, "caches", workers=2, progress=lambda now: print(now.done, flush=True))
"""


def test_ctrl_c_reaches_the_whole_group_and_leaves_durable_samples_and_no_process(tmp_path, worker_sources):
    (tmp_path / "script.py").write_text(INTERRUPTED)
    command = [sys.executable, "script.py", str(Path(__file__).parent)]
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    while int(process.stdout.readline()) < 10:
        pass
    os.killpg(process.pid, signal.SIGINT)
    # It ends when the last process that holds its standard error has ended.
    _, errors = process.communicate()
    assert (errors.count("Traceback"), "KeyboardInterrupt" in errors.splitlines()) == (1, True)
    said = int(errors.splitlines()[-1].removeprefix("caches/squares: ").split()[0])
    assert said >= 9
    source = worker_sources.Squares(said + 1, fingerprint="a", samples_per_shard=3)
    assert build(source, tmp_path / "caches").resumed_from == said


def test_building_without_workers_does_not_import_multiprocessing():
    code = "import sys, dsrt_native\nprint([m for m in sys.modules if m.startswith('multiprocessing')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
