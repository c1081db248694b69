"""The example scripts run as they stand, on caches of the schema that they expect.

Not so h_augment, which asks for worker processes in a loader: there are none yet.

They lie beside a checkout, not in it. Where they are not, nothing here is collected, and the run says so.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from dsrt_format import Dense, Ragged, Text
from dsrt_native import build

SCRIPTS = Path(__file__).parents[3] / "shared" / "usage"
MISSING = {
    "test_scripts.py": None if SCRIPTS.is_dir() else f"{SCRIPTS} is not there",
    "test_build.py": None if SCRIPTS.is_dir() else f"{SCRIPTS} is not there",
    "test_jax.py": "jax is not installed" if find_spec("jax") is None else None,
}
MISSING["test_jax.py"] = MISSING["test_scripts.py"] or MISSING["test_jax.py"]

collect_ignore = [name for name, reason in MISSING.items() if reason]


def pytest_report_collectionfinish() -> list[str]:
    return [f"tests/usage/{name} is not collected: {reason}" for name, reason in MISSING.items() if reason]


class Pets:
    """Labelled images with captions and tokens, as a_build.py makes them, from random numbers."""

    name = "pets-train"
    fields: ClassVar = {
        "image": Dense("uint8", (32, 32, 3), codec="zstd", delta=3),
        "tokens": Ragged("uint16", ndim=1, codec="zstd"),
        "caption": Text(),
    }
    metadata: ClassVar = {"label": "int32", "species": "string", "width": "int32"}
    samples_per_shard = 64

    def __iter__(self) -> Iterator[dict[str, Any]]:
        rng = np.random.default_rng(0)
        for i in range(150):
            label = i % 3
            caption = f"{'abc'[label]}{i}: {'purr ' * (i % 5)}"
            image = rng.integers(0, 255, (32, 32, 3)) // 2 + label * 60
            yield {
                "image": image.astype(np.uint8),
                "tokens": np.array([ord(c) for c in caption], np.uint16),
                "caption": caption,
                "label": label,
                "species": "abc"[i * 7 % 10 % 3],
                "width": int(rng.integers(4, 64)),
            }


class Eval:
    """1,003 samples whose number stands in x."""

    name = "eval"
    fields: ClassVar = {"x": Dense("float32", (2,))}
    metadata: ClassVar = {}

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return ({"x": np.array([i // 3, i], np.float32)} for i in range(1003))


@pytest.fixture(scope="session")
def caches(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("usage") / "caches"
    for source in (Pets(), Eval()):
        assert build(source, root).num_samples in (150, 1003)
    return root


class Folder:
    """A folder that a script runs in, with the caches under `caches`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def run(
        self, script: str, *, processes: int = 0, fails: bool = False, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a script, under torchrun if a number of processes is given."""
        torchrun = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
        command = [sys.executable, *(torchrun if processes else []), str(SCRIPTS / script)]
        environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"} | variables
        done = subprocess.run(command, cwd=self.path, env=environment, capture_output=True, text=True)
        assert (done.returncode != 0) == fails, done.stdout + done.stderr
        return done


@pytest.fixture
def folder(tmp_path: Path, caches: Path) -> Folder:
    (tmp_path / "caches").symlink_to(caches)
    return Folder(tmp_path)
