"""One nursery and one set of undisturbed builds for all tests of a run."""

from collections.abc import Iterator

import pytest

from tests.survival.expected import Expected
from tests.survival.nursery import Nursery
from tests.survival.small_disk import why_not


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    with Nursery() as nursery:
        yield nursery


@pytest.fixture(scope="session")
def expected(nursery, tmp_path_factory) -> Expected:
    return Expected(nursery, tmp_path_factory.mktemp("expected"))


def pytest_terminal_summary(terminalreporter):
    if (reason := why_not()) is not None:
        terminalreporter.write_line(f"tests/survival: no small disks and other devices here: {reason}")
