"""Places where a cache cannot be: an error that says why, and nothing changed."""

import errno
import os
import signal
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from tests.survival.disk import TARGET, WORK, image, journalled, names
from tests.survival.job import Job
from tests.survival.small_disk import small_disk, why_not

# Root may do anything, so that as root the child becomes somebody else.
NOBODY = 65534 if os.geteuid() == 0 else None
WAYS = ["build", "append"]


def failure(nursery, job: Job) -> dict:
    child = nursery.run(job)
    assert child.status == 1, child
    assert child.noise == [], child
    failed = child.report("failed")
    assert failed["known"], child
    return failed


def given(path: Path) -> Path:
    """Make a directory and give it to the user of the child, and the way to it, too."""
    path.mkdir()
    if NOBODY is not None:
        os.chown(path, NOBODY, NOBODY)
    for above in path.parents:
        if above.stat().st_uid == os.geteuid() and above != Path("/"):
            above.chmod(above.stat().st_mode | 0o711)
    return path


@pytest.fixture
def root(tmp_path) -> Path:
    return given(tmp_path / "root")


def give(root: Path) -> None:
    for path in [root, *root.rglob("*")]:
        if NOBODY is not None:
            os.chown(path, NOBODY, NOBODY, follow_symlinks=False)


@pytest.mark.parametrize("mode", [0o555, 0o444, 0o000])
@pytest.mark.parametrize("way", WAYS)
def test_a_root_without_permission_is_named_and_with_permission_the_build_just_works(
    nursery, expected, root, way, mode
):
    root.chmod(mode)
    job = Job(str(root), "raw", way=way, user=NOBODY)
    failed = failure(nursery, job)
    assert (failed["kind"], failed["errno"]) == ("PermissionError", errno.EACCES)
    assert str(root) in failed["message"]
    root.chmod(0o755)
    assert names(root) == []
    assert nursery.run(job).status == 0
    assert image(root / TARGET) == expected.image("raw")
    assert names(root) == [TARGET]


@pytest.mark.parametrize("way", WAYS)
def test_a_root_that_cannot_be_made_is_named(nursery, root, way):
    root.chmod(0o555)
    failed = failure(nursery, Job(str(root / "below"), "raw", way=way, user=NOBODY))
    assert (failed["kind"], failed["errno"]) == ("PermissionError", errno.EACCES)
    assert str(root / "below") in failed["message"]


def test_a_read_only_target_is_replaced_or_it_is_said_and_the_next_run_goes_on(nursery, expected, root):
    expected.copy(root, "raw", 2)
    give(root)
    for path in [root / TARGET, *(root / TARGET).rglob("*")]:
        path.chmod(path.stat().st_mode & 0o555)
    before = image(root / TARGET)
    job = Job(str(root), "raw", rebuild=True, user=NOBODY)
    child = nursery.run(job)
    if child.status == 1:
        failed = child.report("failed")
        assert (failed["kind"], failed["errno"]) == ("PermissionError", errno.EACCES), child
        assert str(root / TARGET) in failed["message"]
        assert image(root / TARGET) == before
        for path in [root / TARGET, *(root / TARGET).rglob("*")]:
            path.chmod(path.stat().st_mode | 0o200)
        child = nursery.run(job)
        assert child.report("done")["resumed"] == 240, child
    assert child.status == 0, child
    assert image(root / TARGET) == expected.image("raw")
    assert names(root) == [TARGET]


def test_a_work_directory_of_somebody_else_is_named(nursery, root):
    (root / WORK).mkdir()
    (root / WORK).chmod(0o555)
    if NOBODY is None:
        (root / WORK).chmod(0o000)
    failed = failure(nursery, Job(str(root), "raw", user=NOBODY))
    assert (failed["kind"], failed["errno"]) == ("PermissionError", errno.EACCES)
    assert WORK in failed["message"]
    assert names(root) == [WORK]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "make",
    [
        Path.touch,
        Path.mkdir,
        os.mkfifo,
        lambda path: path.symlink_to("nowhere"),
        lambda path: path.symlink_to(path.name),
    ],
    ids=["a file", "an empty directory", "a FIFO", "a dangling symlink", "a symlink to itself"],
)
@pytest.mark.parametrize("rebuild", [False, True])
def test_a_target_that_is_no_cache_is_left_alone(nursery, root, way, make, rebuild):
    make(root / TARGET)
    before = (root / TARGET).lstat()
    failed = failure(nursery, Job(str(root), "raw", way=way, rebuild=rebuild))
    assert failed["kind"] in ("CacheExistsError", "OSError")
    assert str(root / TARGET) in failed["message"]
    assert names(root) == [TARGET]
    after = (root / TARGET).lstat()
    assert (after.st_ino, after.st_mode, after.st_size) == (before.st_ino, before.st_mode, before.st_size)


@pytest.mark.parametrize("way", WAYS)
def test_a_root_that_is_a_file_or_a_dangling_symlink_is_named(nursery, root, way):
    (root / "file").write_text("mine")
    (root / "link").symlink_to("nowhere")
    for name, numbers in (("file", [errno.ENOTDIR, errno.EEXIST]), ("link", [errno.EEXIST, errno.ENOENT])):
        for below in (root / name, root / name / "below"):
            failed = failure(nursery, Job(str(below), "raw", way=way))
            assert failed["errno"] in numbers, failed
            assert str(root / name) in failed["message"]
    assert (root / "file").read_text() == "mine"
    assert names(root) == ["file", "link"]


def test_a_root_that_is_a_symlink_to_a_directory_is_that_directory(nursery, expected, root):
    (root / "real").mkdir()
    (root / "link").symlink_to("real")
    assert nursery.run(Job(str(root / "link"), "raw")).status == 0
    assert image(root / "real" / TARGET) == expected.image("raw")
    assert names(root / "real") == [TARGET]


def elsewhere(root: Path) -> list[str]:
    """Return the kinds of a work directory on another device that can be made here."""
    kinds = []
    if Path("/dev/shm").is_dir() and Path("/dev/shm").stat().st_dev != root.stat().st_dev:
        kinds.append("symlink")
    return kinds + ([] if why_not() else ["mount"])


def test_a_work_directory_on_another_device_is_refused_before_anything_is_written(nursery, expected, root):
    job = Job(str(root), "raw")
    for kind in elsewhere(root):
        if kind == "mount":
            with small_disk(root / WORK, "size=8m"):
                failed = failure(nursery, job)
            (root / WORK).rmdir()
        else:
            with tempfile.TemporaryDirectory(dir="/dev/shm") as other:
                (root / WORK).symlink_to(other, target_is_directory=True)
                failed = failure(nursery, job)
                assert names(Path(other)) == []
            (root / WORK).unlink()
        wanted = ("OSError", errno.EXDEV) if kind == "mount" else ("CacheExistsError", errno.EEXIST)
        assert (failed["kind"], failed["errno"]) == wanted, failed
        assert WORK in failed["message"], failed
        assert names(root) == []
    assert nursery.run(replace(job)).status == 0
    assert image(root / TARGET) == expected.image("raw")


@pytest.mark.parametrize("make", [Path.touch, os.mkfifo], ids=["a file", "a FIFO"])
def test_something_else_in_the_place_of_the_work_directory_is_named_and_left_alone(nursery, root, make):
    make(root / WORK)
    failed = failure(nursery, Job(str(root), "raw"))
    assert WORK in failed["message"], failed
    assert names(root) == [WORK]


@pytest.mark.parametrize("way", [*WAYS, "merge"])
@pytest.mark.parametrize("umask", [0o777, 0o400, 0o200, 0o100, 0o277])
def test_a_umask_that_takes_the_owners_permissions_is_refused_before_anything_is_made(
    nursery, root, way, umask
):
    part = Job(str(root / "part"), "raw", user=NOBODY)
    if way == "merge":
        assert nursery.run(part).status == 0
    before = names(root)
    parts = (str(root / "part" / TARGET),) if way == "merge" else ()
    job = Job(str(root / "above"), "raw", way=way, parts=parts, user=NOBODY)
    failed = failure(nursery, replace(job, umask=umask))
    assert (failed["kind"], failed["errno"]) == ("PermissionError", errno.EACCES)
    assert f"the umask {umask:03o}, by which their owner can not" in failed["message"]
    assert names(root) == before
    child = nursery.run(job)
    assert child.status == 0, child


@pytest.mark.parametrize("umask", [0, 0o002, 0o007, 0o070, 0o027, 0o077, 0o055, 0o011])
def test_any_other_umask_decides_who_else_may_read_and_changes_nothing_else(nursery, expected, root, umask):
    job = Job(str(root), "raw", user=NOBODY, umask=umask)
    child = nursery.run(job)
    assert child.status == 0, child
    cache = expected.path("raw")
    files = [path.relative_to(cache) for path in cache.rglob("*") if path.is_file()]
    assert files
    assert all((root / TARGET / file).read_bytes() == (cache / file).read_bytes() for file in files)
    for path in (root / TARGET).rglob("*"):
        assert path.stat().st_mode & 0o777 == (0o777 if path.is_dir() else 0o444) & ~umask
    assert names(root) == [TARGET]
    # With another one it is found and replaced.
    child = nursery.run(replace(job, version=2, rebuild=True, umask=0o022))
    assert child.status == 0, child


def test_a_build_that_is_gone_on_with_under_such_a_umask_keeps_what_is_durable(nursery, expected, root):
    job = Job(str(root), "raw", user=NOBODY, seconds=1)
    child = nursery.start(job)
    while journalled(root) == 0 and child.read(0.001):
        pass
    child.send(signal.SIGKILL)
    child.end()
    held = journalled(root)
    failed = failure(nursery, replace(job, umask=0o777))
    assert failed["errno"] == errno.EACCES
    assert journalled(root) == held
    child = nursery.run(replace(job, seconds=0))
    assert (child.report("done") or {})["resumed"] == held > 0, child
    assert image(root / TARGET) == expected.image("raw")
