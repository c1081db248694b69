"""CacheWriter: what is durable, and going on behind it."""

import contextlib
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dsrt_format import Bytes, CacheExistsError, Dense, Manifest, Ragged, Zstd, reference
from dsrt_native import CacheWriter

from .directories import files_of, names

FIELDS = {"x": Dense("int64"), "r": Ragged("uint8", codec="zstd")}
COLUMNS = {"s": "string", "t": "timestamp[us]"}


def sample(i: int) -> dict[str, Any]:
    return {
        "x": i,
        "r": np.arange(i, dtype=np.uint8),
        "s": None if i % 3 else f"sample {i}",
        "t": np.datetime64(i, "s"),
    }


def writer(path: Path, **changed: Any) -> CacheWriter:
    arguments: dict[str, Any] = {"fields": FIELDS, "metadata": COLUMNS, "fingerprint": "a"}
    return CacheWriter(path, **(arguments | {"samples_per_shard": 4} | changed))


def end_after(count: int, path: Path, **changed: Any) -> CacheWriter:
    """Append samples and raise."""
    made = writer(path, **changed)
    with contextlib.suppress(ZeroDivisionError), made:
        for i in range(made.count, count):
            made.append(sample(i))
        raise ZeroDivisionError
    return made


@pytest.fixture
def whole(tmp_path: Path) -> dict[str, bytes]:
    with writer(tmp_path / "whole" / "x") as made:
        for i in range(11):
            made.append(sample(i))
    return files_of(tmp_path / "whole" / "x")


def test_full_shards_become_durable_while_samples_come(tmp_path):
    with writer(tmp_path / "x") as made:
        assert (made.count, made.durable_count, made.resumed_from, made.restarted) == (0, 0, 0, None)
        seen = {0}
        for i in range(400):
            made.append(sample(i % 200))
            seen.add(made.durable_count)
            assert made.durable_count <= made.count == i + 1
        end = time.monotonic() + 30
        while made.durable_count < 400 and time.monotonic() < end:
            time.sleep(0.005)
        seen.add(made.durable_count)
        assert max(seen) == 400
        assert {count % 4 for count in seen} == {0}
        made.append(sample(0))
    assert made.durable_count == made.count == 401


def test_samples_of_full_shards_survive_an_exception_and_the_rest_does_not(tmp_path):
    made = end_after(11, tmp_path / "x")
    assert (made.count, made.durable_count) == (11, 8)
    assert names(tmp_path) == [".x.building"]


def test_a_writer_that_resumes_goes_on_behind_what_is_durable(tmp_path, whole):
    end_after(7, tmp_path / "x")
    end_after(10, tmp_path / "x", resume=True)
    with writer(tmp_path / "x", resume=True) as made:
        assert (made.count, made.durable_count, made.resumed_from, made.restarted) == (8, 8, 8, None)
        for i in range(made.count, 11):
            made.append(sample(i))
    assert (made.count, made.durable_count) == (11, 11)
    assert files_of(tmp_path / "x") == whole
    assert names(tmp_path) == ["whole", "x"]


def test_refusals_name_the_sample_by_its_number_in_the_cache(tmp_path):
    end_after(9, tmp_path / "x")
    with writer(tmp_path / "x", resume=True) as made:
        with pytest.raises(ValueError, match="field t, sample 8: "):
            made.append(sample(8) | {"t": 5})
        with pytest.raises(ValueError, match="field s, sample 9: "):
            made.append_batch({"x": [8, 9], "r": [b"", b""], "s": ["a", 5], "t": [None, None]})
        assert made.count == 8


def test_durable_samples_are_an_error_unless_one_says_what_becomes_of_them(tmp_path):
    end_after(9, tmp_path / "x")
    with pytest.raises(
        CacheExistsError, match=r"8 samples.*resume=True to go on.*resume=False to start over"
    ):
        writer(tmp_path / "x")
    with writer(tmp_path / "x", resume=True) as made:
        assert made.resumed_from == 8


def test_resume_false_starts_over_without_a_warning(tmp_path):
    end_after(9, tmp_path / "x")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with writer(tmp_path / "x", resume=False) as made:
            assert (made.count, made.resumed_from) == (0, 0)
            assert "8 samples" in str(made.restarted)
            made.append(sample(1))
    assert [int(s["x"]) for s in reference.read(tmp_path / "x")] == [1]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"fingerprint": "b"}, "fingerprint"),
        ({"samples_per_shard": 5}, "samples_per_shard"),
        ({"shard_bytes": 1000}, "shard_bytes"),
        ({"attributes": {"a": [1]}}, "attributes"),
        ({"fields": FIELDS | {"r": Ragged("uint8", codec=Zstd(4))}}, "field"),
        ({"fields": FIELDS | {"r": Ragged("uint8", codec=Zstd(dictionary=bytes(64)))}}, "field"),
        ({"metadata": {"s": "string"}}, "columns"),
    ],
)
def test_another_plan_starts_over_and_warns_of_what_differs(tmp_path, changed, said):
    end_after(9, tmp_path / "x")
    with pytest.warns(RuntimeWarning, match=f"8 samples.*{said}"):
        made = writer(tmp_path / "x", resume=True, **changed)
    with made:
        assert (made.count, made.resumed_from) == (0, 0)
        assert said in str(made.restarted)


def test_without_a_fingerprint_nothing_is_resumed_and_nobody_is_asked(tmp_path):
    made = end_after(9, tmp_path / "x", fingerprint=None)
    assert made.durable_count == 0
    assert names(tmp_path) == []
    with writer(tmp_path / "x", fingerprint=None) as made:
        assert made.resumed_from == 0


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_the_bytes_do_not_depend_on_threads(tmp_path, whole, threads):
    with writer(tmp_path / "x", threads=threads) as made:
        for i in range(11):
            made.append(sample(i))
    assert files_of(tmp_path / "x") == whole


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"threads": 0}, ValueError),
        ({"threads": 1.5}, TypeError),
        ({"resume": 1}, TypeError),
        ({"resume": "yes"}, TypeError),
    ],
)
def test_threads_and_resume_are_checked_before_anything_is_made(tmp_path, arguments, error):
    with pytest.raises(error, match=next(iter(arguments))):
        writer(tmp_path / "x", **arguments)
    assert names(tmp_path) == []


def test_a_dictionary_is_trained_on_the_first_samples_and_kept_by_a_resume(tmp_path):
    fields = {"r": Bytes(codec=Zstd(dictionary="train"))}
    words = [f"word {i}".encode() for i in range(50)]
    random = np.random.default_rng(0)
    records = [b" ".join(random.choice(words, 200)) for _ in range(9000)]

    def build(path: Path, stop: int | None, **changed: Any) -> int:
        with writer(path, fields=fields, metadata={}, samples_per_shard=4000, **changed) as made:
            for record in records[made.count : stop]:
                made.append({"r": record})
            if stop is not None:
                raise ZeroDivisionError
        return made.resumed_from

    build(tmp_path / "whole" / "x", None)
    with pytest.raises(ZeroDivisionError):
        build(tmp_path / "x", 8500)
    assert build(tmp_path / "x", None, resume=True) == 8000
    assert files_of(tmp_path / "x") == files_of(tmp_path / "whole" / "x")
    assert Manifest.load(tmp_path / "x").fields[0].codec == "zstd-dict"
    assert [s["r"] for s in reference.read(tmp_path / "x")] == records


ENDLESS = """
import sys
from dsrt_format import Bytes, Zstd
from dsrt_native import CacheWriter
with CacheWriter(sys.argv[1], {"x": Bytes(codec=Zstd(19))}, fingerprint="a", samples_per_shard=2) as writer:
    record = b"".join(i.to_bytes(3, "big") for i in range(100000))
    while True:
        writer.append({"x": record})
        if writer.durable_count >= 4:
            print(writer.durable_count, flush=True)
"""


def test_ctrl_c_is_answered_and_says_what_is_kept(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", ENDLESS, str(tmp_path / "x")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert int(process.stdout.readline()) >= 4
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    last, note = errors.splitlines()[-2:]
    assert last == "KeyboardInterrupt"
    said = int(note.removeprefix(f"{tmp_path / 'x'}: ").split()[0])
    assert note.endswith(f"{said} samples are durable; the next run goes on from there")
    fields = {"x": Bytes(codec=Zstd(19))}
    with CacheWriter(tmp_path / "x", fields, fingerprint="a", samples_per_shard=2, resume=True) as made:
        assert made.resumed_from == said >= 4


def test_an_interrupt_while_a_writer_that_has_ended_makes_shards_durable_is_answered(tmp_path):
    def ring(*_: object) -> None:
        raise KeyboardInterrupt

    fields = {"x": Bytes(codec=Zstd(19))}
    made = CacheWriter(tmp_path / "x", fields, fingerprint="a", threads=1, samples_per_shard=1)
    record = np.random.default_rng(0).bytes(1 << 20)
    for _ in range(40):
        made.append({"x": record})
    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(KeyboardInterrupt):
            made.__exit__(ZeroDivisionError, ZeroDivisionError(), None)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert made.durable_count < 40


def test_an_error_after_publication_does_not_speak_of_a_next_run(tmp_path, monkeypatch):
    made = writer(tmp_path / "x")
    native = made._native

    class Late:
        def publish(self) -> None:
            native.publish()
            raise KeyboardInterrupt

        def __getattr__(self, name: str) -> Any:
            return getattr(native, name)

    monkeypatch.setattr(made, "_native", Late())
    for i in range(9):
        made.append(sample(i))
    with pytest.raises(KeyboardInterrupt) as caught:
        made.__exit__(None, None, None)
    said = "the cache was published all the same, and is durable, with 9 samples"
    assert caught.value.__notes__ == [f"{tmp_path / 'x'}: {said}"]
    assert made.durable_count == 9
    assert names(tmp_path) == ["x"]


def test_what_the_handler_of_a_signal_raises_comes_out_of_a_wait(tmp_path):
    class Alarm(Exception):
        pass

    def ring(*_: object) -> None:
        raise Alarm

    def endless() -> None:
        with CacheWriter(tmp_path / "x", {"x": Bytes(codec=Zstd(19))}, threads=1) as made:
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            while True:
                made.append({"x": record})

    before = signal.signal(signal.SIGALRM, ring)
    record = np.random.default_rng(0).bytes(1 << 20)
    try:
        with pytest.raises(Alarm):
            endless()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert names(tmp_path) == []
