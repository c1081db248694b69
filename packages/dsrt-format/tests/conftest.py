from pathlib import Path

import pytest

import dsrt_format


@pytest.fixture(scope="session")
def vectors() -> Path:
    return Path(dsrt_format.__file__).parent / "vectors"
