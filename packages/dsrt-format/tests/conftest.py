from pathlib import Path

import pytest
from hypothesis import settings

import dsrt_format

# How long an example takes says more about the machine than about the code.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture(scope="session")
def vectors() -> Path:
    return Path(dsrt_format.__file__).parent / "vectors"
