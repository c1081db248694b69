"""A short form of ``python -m tests.faults``: some hundred faults and forged caches through every reader."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dsrt_format import DataError
from tests.faults import caches
from tests.faults.counts import BITES, Counts
from tests.faults.fault import Bench, Fault
from tests.faults.forgeries import forgery
from tests.faults.judge import Judge
from tests.faults.mutate import changes, fault
from tests.faults.pool import Request, tried
from tests.faults.trial import CONTROLS, PATHS, Trial

SEED = 1  # another than the long form's
PLAIN, FORGED = 400, 200
NOTHING = {"label": "no effect", "rules": {}, "failures": {}}


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("caches")
    caches.build_all(place)
    return place


@pytest.fixture(scope="module")
def counts(root, tmp_path_factory) -> Iterator[Counts]:
    requests = [Request(case, validate=2) for case in range(PLAIN)]
    requests += [Request(case, forged=True) for case in range(FORGED)]
    found = Counts()
    for result in tried(root, tmp_path_factory.mktemp("work"), SEED, requests, workers=2):
        found.add(result)
    return found


def test_no_fault_is_read_as_data_and_no_reader_fails_in_a_foreign_way(counts):
    assert counts.failed == []


def test_most_faults_are_refused_by_every_reader(counts):
    for path in PATHS:
        assert counts.refused(path) > (PLAIN + FORGED) // 2


def test_with_checks_turned_off_the_same_faults_are_read_as_data(counts):
    silent = counts.silent(next(iter(CONTROLS)))
    assert [part for part in BITES if silent[part] == 0] == []


@pytest.mark.parametrize("name", caches.names())
def test_a_sound_cache_is_read_whole_by_every_reader_and_by_the_controls(root, tmp_path, name):
    of = caches.specimen(root, name)
    with Trial(of, Fault("nothing", "nothing", "nothing"), Bench(of.path, tmp_path)) as trial:
        for path in [*PATHS, *CONTROLS]:
            assert trial.read(path) == NOTHING
        assert trial.validate() == NOTHING


def test_a_value_of_another_build_is_a_silent_one(root, tmp_path):
    of = caches.specimen(root, "kinds-native")
    old = Fault("all", "builds", "the old build", dict(of.files["old"]))
    with Trial(of, old, Bench(of.path, tmp_path)) as trial:
        for path in PATHS:
            assert trial.read(path)["label"] == "silently wrong"


def test_a_case_is_the_same_each_time(root):
    for case in range(50):
        first, second = fault(root, SEED, case)[1], fault(root, SEED, case)[1]
        assert first == second
        one, other = forgery(root, SEED, case)[1], forgery(root, SEED, case)[1]
        assert (one.kind, one.cache.metadata) == (other.kind, other.cache.metadata)


def test_a_bench_is_as_before_after_every_fault(root, tmp_path):
    benches = {}
    for case in range(150):
        of, made = fault(root, SEED, case)
        if of.name not in benches:
            (tmp_path / of.name).mkdir()
            benches[of.name] = Bench(of.path, tmp_path / of.name)
        bench = benches[of.name]
        bench.apply(made.edits)
        bench.revert(made.edits)
        left = {
            str(path.relative_to(bench.path)): path.read_bytes()
            for path in bench.path.rglob("*")
            if not path.is_dir()
        }
        assert left == of.new


def test_no_fault_reaches_the_sound_caches(root, counts):
    for name in caches.names():
        of = caches.specimen(root, name)
        assert {file: (of.path / file).read_bytes() for file in of.new} == of.new
    assert counts.failed == []


def test_a_link_to_the_file_itself_changes_nothing_and_a_link_to_another_does(root):
    found = set()
    for case in range(3000):
        of, made = fault(root, SEED, case)
        if made.kind == "link":
            name, _, target = made.what.partition(" is a link to ")
            found.add(changes(of, made) == (of.new[name] != of.new[target]))
    assert found == {True}


def test_an_error_that_names_another_place_is_found(root):
    of = caches.specimen(root, "kinds-native")
    judge = Judge("/a/cache", of.truths["new"], ("rag", 1))
    with judge.attempt("read", "rag", 5):
        raise DataError("damaged", rule="R033", cache="/a/cache", field="rag", shard=1, sample=6)
    assert judge.label == "wrong place"
    assert "names sample 6, but 5 was read" in judge.failures["wrong place"][0]


def test_a_foreign_exception_is_found(root):
    judge = Judge("/a/cache", caches.specimen(root, "kinds-native").truths["new"])
    with judge.attempt("open"):
        raise IndexError("of range")
    assert judge.label == "foreign exception"


@pytest.mark.parametrize(("vast", "label"), [(False, "memory"), (True, "refused at a read")])
def test_a_lack_of_memory_is_a_failure_where_the_machine_should_have_enough(root, vast, label):
    judge = Judge("/a/cache", caches.specimen(root, "kinds-native").truths["new"])
    with judge.attempt("masked", vast=vast):
        raise MemoryError
    assert judge.label == label
