"""Fresh copies of a cache, and what it holds."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dsrt_native import Cache, build

from .caches import Source, answers


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with both versions."""
    root = tmp_path_factory.mktemp("built")
    for version in (1, 2):
        build(Source(version), root / str(version))
    return root


@pytest.fixture(scope="session")
def old(built: Path) -> dict[str, Any]:
    """The answers of the first version."""
    with Cache.open(built / "1/cache", io="mmap") as cache:
        return answers(cache)


@pytest.fixture
def fresh(built: Path, tmp_path: Path) -> Callable[[], Path]:
    """Copies of the first version that may be changed, one after another, with the second beside each."""

    def copy() -> Path:
        root = tmp_path / str(len(os.listdir(tmp_path)))
        shutil.copytree(built / "1", root)
        os.symlink(built / "2", root / "second")
        return root / "cache"

    return copy
