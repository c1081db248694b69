"""What is checked before it is timed is refused where it is wrong: draws, and what a transform has made."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.suites import sampler, transform
from tests.benchmarks.test_workload import _pool

ROWS = 10_000
WEIGHTS = sampler._weights(ROWS)

Drawn = Callable[[np.random.Generator], np.ndarray]


def _uniform(rng: np.random.Generator) -> np.ndarray:
    return rng.integers(0, ROWS, ROWS)


def _weighted(rng: np.random.Generator) -> np.ndarray:
    return rng.choice(ROWS, ROWS, p=WEIGHTS / WEIGHTS.sum())


def _permuted(rng: np.random.Generator) -> np.ndarray:
    return rng.permutation(ROWS)


RIGHT: dict[str, Drawn] = {"permuted": _permuted, "uniform": _uniform, "weighted": _weighted}

WRONG: list[tuple[str, str, Drawn]] = [
    ("permuted", "came in order", lambda rng: np.arange(ROWS)),
    ("permuted", "came twice", _uniform),
    ("uniform", "a mean of", lambda rng: rng.integers(0, ROWS // 2, ROWS)),
    ("uniform", "a mean of", lambda rng: np.full(ROWS, ROWS // 2 + 1000)),
    ("uniform", "draws from -", lambda rng: np.arange(-1, ROWS - 1)),
    ("uniform", f"to {ROWS} of", lambda rng: np.arange(ROWS, 0, -1)),
    ("weighted", "without weight", _uniform),
    ("weighted", "a mean of", lambda rng: rng.choice(np.flatnonzero(WEIGHTS), ROWS)),
]


def _checked(order: str, drawn: Drawn, size: int = sampler.BATCH) -> None:
    rows = drawn(np.random.default_rng(1))
    batches = iter([rows[first : first + size] for first in range(0, ROWS, sampler.BATCH)])
    sampler._check(order, ROWS, batches.__next__)


@pytest.mark.parametrize("order", RIGHT)
def test_draws_that_are_what_was_asked_for_pass(order: str) -> None:
    _checked(order, RIGHT[order])


@pytest.mark.parametrize(("order", "said", "drawn"), WRONG)
def test_draws_that_are_not_what_was_asked_for_are_refused(order: str, said: str, drawn: Drawn) -> None:
    with pytest.raises(ValueError, match=said):
        _checked(order, drawn)


def test_batches_of_another_size_than_asked_for_are_refused() -> None:
    with pytest.raises(ValueError, match="draws from"):
        _checked("uniform", _uniform, sampler.BATCH - 1)


def test_a_batch_that_was_not_transformed_or_is_not_whole_is_refused() -> None:
    case = transform.CASES["python"]
    workload = replace(case.workload, samples=20, batch=4, content=_pool)
    batch = np.stack([workload.sample(number) for number in (3, 1, 4, 15)])
    right = np.asarray(case.transform(batch))
    transform._check(workload, "python", right)
    for wrong in (batch, right[:3]):
        with pytest.raises(ValueError, match="is not the transform"):
            transform._check(workload, "python", wrong)
