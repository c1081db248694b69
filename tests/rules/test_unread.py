"""Files that the system refuses: both validators go on with all others, and say the same of them.

The system refuses root nothing, so that root becomes nobody for it; caches lie where that one can go.
"""

import errno
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import dsrt_native
from dsrt_cli.app import app
from dsrt_format import Bytes, Dense, Problem, Text, UnreadError, Zstd, validate
from dsrt_format.reference import write

NOBODY = 65534
LEVELS = ["structure", "records", "digests"]

# What always says EINVAL when it is read. By its length it is a file of 4,096 bytes, as those of field image
# are.
BROKEN = Path("/sys/class/net/lo/speed")


@contextmanager
def as_nobody() -> Iterator[None]:
    before = os.geteuid()
    if before == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(before)


@pytest.fixture
def cache() -> Iterator[Path]:
    """Six samples in three shards, of which shards 0 and 2 of field image are damaged."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        path = Path(folder, "c")
        fields = {
            "image": Dense("uint8", (2012,)),
            "caption": Text(),
            "jpeg": Bytes(codec=Zstd(dictionary=b"a dictionary " * 20)),
        }
        samples = [
            {"image": np.full(2012, i, np.uint8), "caption": f"{i}", "jpeg": b"abc" * i, "label": i}
            for i in range(6)
        ]
        write(path, fields, samples, metadata={"label": "int32"}, samples_per_shard=2)
        for shard in (0, 2):
            file = path / f"fields/image/0000{shard}.shard"
            content = bytearray(file.read_bytes())
            content[100] ^= 1
            file.chmod(0o644)
            file.write_bytes(content)
        # Whatever the umask.
        for place in [path, *path.rglob("*")]:
            place.chmod(0o755 if place.is_dir() else 0o644)
        # Nothing is imported for the first time by nobody, who may not be able to.
        assert validate(path)
        assert dsrt_native.verify(path)
        assert CliRunner().invoke(app, ["verify", str(path)]).exit_code == 1
        yield path


def places(problems: list[Problem]) -> list[tuple[str, str | None, int | None, int | None]]:
    return [(p.rule, p.field, p.shard, p.sample) for p in problems]


def refusals(error: UnreadError) -> list[tuple[type, int | None, object]]:
    return [(type(refusal), refusal.errno, refusal.filename) for refusal in error.unread]


def both(path: Path, level: str) -> tuple[UnreadError, list[tuple[int, int]]]:
    """What the two raise, which is the same, and how far they say they have come."""
    raised, told = [], []
    checks: list[Callable[..., list[Problem]]] = [validate, dsrt_native.verify]
    for check in checks:
        steps: list[tuple[int, int]] = []
        with as_nobody(), pytest.raises(UnreadError) as caught:
            check(path, level=level, progress=lambda done, total, steps=steps: steps.append((done, total)))
        raised.append(caught.value)
        told.append(steps[-1])
    plain, native = raised
    assert refusals(plain) == refusals(native)
    assert places(plain.problems) == places(native.problems)
    assert (plain.errno, plain.filename, str(plain)) == (native.errno, native.filename, str(native))
    return plain, told


@pytest.mark.parametrize("level", LEVELS)
def test_a_file_that_may_not_be_read_hides_nothing_of_the_others(cache, level):
    before = validate(cache, level=level)
    (cache / "fields/image/00001.shard").chmod(0)
    error, told = both(cache, level)
    assert places(error.problems) == places(before)
    assert bool(before) == (level != "structure")
    assert refusals(error) == [(PermissionError, errno.EACCES, "fields/image/00001.shard")]
    assert (error.errno, error.filename) == (errno.EACCES, "fields/image/00001.shard")
    assert repr(str(cache)) in str(error)
    # What was not read is not done.
    lacks = {total - done for done, total in told}
    if level != "structure":
        assert lacks == {4096}
    assert min(lacks) >= 64


def test_all_kinds_of_files_are_gone_on_after_and_listed_in_the_order_of_the_manifest(cache):
    (cache / "stray").touch()
    names = ["fields/jpeg/dictionary.bin", "fields/jpeg/00001.shard", "metadata.arrow"]
    for name in [*names, "fields/caption"]:
        (cache / name).chmod(0o311 if name == "fields/caption" else 0)
    error, _ = both(cache, "digests")
    assert [refusal.filename for refusal in error.unread] == [*names, "fields/caption"]
    # Where not all directories can be listed, files that do not belong are not searched for.
    assert places(error.problems) == [
        ("R050", "image", 0, None),
        ("R033", "image", 0, 0),
        ("R050", "image", 2, None),
        ("R033", "image", 2, 4),
    ]


def test_without_its_dictionary_no_part_of_a_field_is_called_sound(cache):
    (cache / "fields/jpeg/dictionary.bin").chmod(0)
    for part in (0, 1):
        with as_nobody(), pytest.raises(UnreadError) as caught:
            dsrt_native.verify(cache, part=(part, 2))
        assert refusals(caught.value) == [(PermissionError, errno.EACCES, "fields/jpeg/dictionary.bin")]


def test_a_file_that_fails_while_it_is_read_is_like_one_that_may_not_be(cache):
    try:
        BROKEN.read_bytes()
    except OSError as error:
        found = error.errno
    else:
        pytest.skip(f"{BROKEN} can be read")
    if not BROKEN.exists() or BROKEN.stat().st_size != 4096:
        pytest.skip(f"{BROKEN} is not there")
    (cache / "fields/image/00001.shard").unlink()
    (cache / "fields/image/00001.shard").symlink_to(BROKEN)
    for level in LEVELS:
        error, _ = both(cache, level)
        assert [(refusal.errno, refusal.filename) for refusal in error.unread] == [
            (found, "fields/image/00001.shard")
        ]
        assert [p.shard for p in error.problems if p.rule == "R033"] == (
            [] if level == "structure" else [0, 2]
        )


def test_a_manifest_that_may_not_be_read_is_an_error_of_the_system_alone(cache):
    (cache / "manifest.json").chmod(0)
    checks: list[Callable[..., list[Problem]]] = [validate, dsrt_native.verify]
    for check in checks:
        with as_nobody(), pytest.raises(PermissionError) as caught:
            check(cache)
        assert caught.value.filename == "manifest.json"


@pytest.mark.parametrize(("is_damaged", "code"), [(True, 1), (False, 2)])
def test_the_command_lists_what_was_found_and_what_was_not_read(cache, is_damaged, code):
    unread = ["fields/image/00001.shard"]
    if not is_damaged:
        unread = [f"fields/image/0000{shard}.shard" for shard in range(3)]
    for name in unread:
        (cache / name).chmod(0)
    with as_nobody():
        result = CliRunner().invoke(app, ["verify", str(cache), "--json"])
        shown = CliRunner().invoke(app, ["verify", str(cache)])
    assert (result.exit_code, shown.exit_code) == (code, code)
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(line["file"], line["errno"]) for line in lines if line["type"] == "unread"] == [
        (name, errno.EACCES) for name in unread
    ]
    assert sum(line["type"] == "problem" for line in lines) == (4 if is_damaged else 0)
    summary = lines[-1]
    assert (summary["status"], summary["unread"]) == ("damaged" if is_damaged else "unseen", len(unread))
    assert summary["bytes_read"] == summary["bytes"] - 4096 * len(unread)
    assert summary["seconds"] > 0
    assert "Permission denied: 'fields/image/0000" in summary["message"]
    for name in unread:
        assert f"  {name}: Permission denied" in shown.stdout.splitlines()
    verdict = "damaged: 4 problems, 1 file not read"
    first = verdict if is_damaged else "no problem in what could be read, 3 files not read"
    assert shown.stdout.splitlines()[0] == f"{cache}: {first}"
