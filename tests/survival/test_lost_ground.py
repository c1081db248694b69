"""What a writer needs is taken away under it: an OSError that names it, and a next run that just works."""

import errno
import os
import shutil
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

from dsrt_format import CacheExistsError, Dense, reference
from dsrt_native import CacheWriter
from tests.survival.disk import TARGET, WORK, image, journalled, names
from tests.survival.job import Job

FIELDS = {"x": Dense("int64", (64,))}


def writer(root: Path) -> CacheWriter:
    return CacheWriter(
        root / TARGET, FIELDS, {"i": "int64"}, fingerprint="f", samples_per_shard=8, resume=True
    )


def fill(one: CacheWriter, count: int = 400) -> None:
    for i in range(one.count, count):
        one.append({"x": np.full(64, i), "i": i})


def until_durable(one: CacheWriter, at_least: int) -> None:
    while one.durable_count < at_least:
        i = one.count
        one.append({"x": np.full(64, i), "i": i})
        assert i < 100_000


def complete(root: Path, lost: str | None = None) -> int:
    """Build to the end; return how many samples were there already. A warning must tell of lost files."""
    with nullcontext() if lost is None else pytest.warns(RuntimeWarning, match=lost):
        one = writer(root)
    with one:
        fill(one)
    assert [sample["i"] for sample in reference.read(root / TARGET)] == list(range(400))
    assert names(root) == [TARGET]
    return one.resumed_from


def lose_fields(root: Path) -> None:
    (root / WORK / "cache" / "fields").rename(root / "lost")


def lose_work(root: Path) -> None:
    (root / WORK).rename(root / "lost")


@pytest.mark.parametrize(
    ("take", "lost"),
    [(lose_fields, "00000.shard is missing"), (lose_work, None)],
)
def test_directories_that_vanish_under_a_writer_are_an_os_error_that_names_them(
    tmp_path, take: Callable[[Path], None], lost: str | None
):
    def build() -> None:
        with writer(tmp_path) as one:
            until_durable(one, 16)
            take(tmp_path)
            fill(one)

    with pytest.raises(FileNotFoundError) as caught:
        build()
    assert str(tmp_path / WORK) in str(caught.value)
    assert not (tmp_path / TARGET).exists()
    shutil.rmtree(tmp_path / "lost")
    assert complete(tmp_path, lost) == 0


def test_a_writer_is_at_its_end_after_an_error_and_says_so(tmp_path):
    one = writer(tmp_path)
    until_durable(one, 16)
    lose_work(tmp_path)
    with pytest.raises(FileNotFoundError):
        fill(one)
    with pytest.raises(RuntimeError, match=r"ended|closed"):
        one.append({"x": np.zeros(64, np.int64), "i": 0})
    with pytest.raises(RuntimeError, match=r"ended|closed"):
        one.__exit__(None, None, None)
    shutil.rmtree(tmp_path / "lost")
    complete(tmp_path)


def test_what_appears_at_the_target_meanwhile_is_left_alone_and_what_was_sealed_is_kept(tmp_path):
    one = writer(tmp_path)
    fill(one)
    (tmp_path / TARGET).mkdir()
    (tmp_path / TARGET / "mine").touch()
    with pytest.raises(CacheExistsError, match=str(tmp_path / TARGET)):
        one.__exit__(None, None, None)
    assert names(tmp_path / TARGET) == ["mine"]
    shutil.rmtree(tmp_path / TARGET)
    assert complete(tmp_path) == 400


def test_a_journalled_file_that_was_lost_costs_its_shard_and_those_after_it(tmp_path):
    one = writer(tmp_path)
    until_durable(one, 64)
    one.__exit__(ZeroDivisionError, ZeroDivisionError(), None)
    assert journalled(tmp_path) >= 64
    os.remove(tmp_path / WORK / "cache" / "fields" / "x" / "00003.shard")
    assert complete(tmp_path, "00003.shard is missing") == 24


@pytest.mark.parametrize("room", range(1, 14, 3))
def test_too_few_descriptors_are_an_os_error_and_the_next_run_goes_on(nursery, expected, tmp_path, room):
    child = nursery.run(Job(str(tmp_path), "tokens", open_files=room))
    assert child.noise == [], child
    kept = journalled(tmp_path)
    if child.status != 0:
        failed = child.report("failed")
        assert (failed["kind"], failed["errno"]) == ("OSError", errno.EMFILE), child
        assert not (tmp_path / TARGET).exists()
        again = nursery.run(Job(str(tmp_path), "tokens"))
        assert again.report("done")["resumed"] == kept, again
    assert image(tmp_path / TARGET) == expected.image("tokens")
    assert names(tmp_path) == [TARGET]
