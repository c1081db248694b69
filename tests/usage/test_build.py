"""a_build.py: built, crashed in a worker, gone on with, changed; what it says was kept is true."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dsrt_format import reference

from .conftest import SCRIPTS

COUNT = 300
LOGGED = """
_load_image = load_image
def load_image(f, size):
    with open(os.environ["CALLS"], "a") as calls:
        calls.write(f"{f.stem}\\n")
    return _load_image(f, size)
"""


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inputs")
    for i in range(COUNT):
        (folder / f"{'abc'[i % 3]}{i}.txt").write_text(f"{'purr ' * (i % 7)}number {i}")
    return folder


@pytest.fixture(scope="module")
def whole(inputs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a run that nothing ends makes."""
    folder = tmp_path_factory.mktemp("whole")
    done = run(SCRIPTS / "a_build.py", inputs, folder)
    assert done.stdout == said("built", 0)
    return folder / "caches" / "pets-train"


def run(script: Path, inputs: Path, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"} | variables
    command = [sys.executable, str(script), str(inputs)]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def said(status: str, kept: int) -> str:
    counts = f"{COUNT} samples, {kept} of them kept from an earlier run"
    return f"pets-train: {status}, {counts} -> caches/pets-train\n"


def files_of(cache: Path) -> dict[str, bytes]:
    return {str(p.relative_to(cache)): p.read_bytes() for p in sorted(cache.rglob("*")) if p.is_file()}


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


def copied(folder: Path, version: int = 3) -> Path:
    """The script with another version, and with a list of the samples that are made."""
    script = (SCRIPTS / "a_build.py").read_text()
    assert "SIZE, VERSION = 32, 3 " in script
    (folder / "a_build.py").write_text(
        script.replace("SIZE, VERSION = 32, 3 ", f"SIZE, VERSION = 32, {version} ")
    )
    shutil.copy(SCRIPTS / "tiny.py", folder)
    with (folder / "tiny.py").open("a") as tiny:
        tiny.write(LOGGED)
    return folder / "a_build.py"


def test_every_sample_is_what_its_file_says(whole: Path, inputs: Path) -> None:
    files = sorted(inputs.glob("*.txt"))
    for sample, file in zip(reference.read(whole), files, strict=True):
        assert sample["caption"] == file.read_text()
        assert sample["tokens"].tolist() == [ord(letter) for letter in sample["caption"]]
        assert (sample["label"], sample["species"]) == (ord(file.stem[0]) % 3, file.stem[0])
        assert sample["image"].shape == (32, 32, 3)


def test_a_crash_in_a_worker_costs_no_full_shard_and_the_next_run_says_the_truth(
    whole: Path, inputs: Path, tmp_path: Path
) -> None:
    stems = [file.stem for file in sorted(inputs.glob("*.txt"))]
    crash = run(SCRIPTS / "a_build.py", inputs, tmp_path, CRASH_AT=stems[280])
    assert crash.returncode == 1
    last = crash.stderr.splitlines()
    (death,) = (line for line in last if line.startswith("dsrt_format.errors.WorkerError: "))
    assert "ended with exit code 9" in death
    promise = int(last[-1].removeprefix("caches/pets-train: ").split()[0])
    assert last[-1].endswith(f"{promise} samples are durable; the next run goes on from there")
    assert names(tmp_path / "caches") == [".pets-train.building"]

    again = run(copied(tmp_path), inputs, tmp_path, CALLS=str(tmp_path / "calls"))
    kept = int(again.stdout.split(" samples, ")[1].split()[0])
    assert again.stdout == said("built", kept)
    assert 0 < kept < COUNT
    assert (kept, kept % 64) == (promise, 0)
    assert sorted((tmp_path / "calls").read_text().split()) == sorted(stems[kept:])
    assert files_of(tmp_path / "caches" / "pets-train") == files_of(whole)
    assert names(tmp_path / "caches") == ["pets-train"]


def test_changed_preprocessing_is_built_anew_and_after_that_reused(
    whole: Path, inputs: Path, tmp_path: Path
) -> None:
    shutil.copytree(whole, tmp_path / "caches" / "pets-train")
    calls = tmp_path / "calls"
    same = run(copied(tmp_path), inputs, tmp_path, CALLS=str(calls))
    assert (same.stdout, calls.exists()) == (said("reused", 0), False)
    changed = run(copied(tmp_path, version=4), inputs, tmp_path, CALLS=str(calls))
    assert (changed.stdout, changed.stderr) == (said("rebuilt", 0), "")
    assert len(calls.read_text().split()) == COUNT
    third = run(copied(tmp_path, version=4), inputs, tmp_path, CALLS=str(calls))
    assert (third.stdout, len(calls.read_text().split())) == (said("reused", 0), COUNT)
    assert names(tmp_path / "caches") == ["pets-train"]
