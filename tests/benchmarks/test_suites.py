import pytest

from benchmarks.command import chosen, plan
from benchmarks.peer import load
from benchmarks.peers import ALL, FULL, QUICK
from benchmarks.suites import SUITES


@pytest.mark.parametrize("name", SUITES)
def test_a_suite_names_cases_and_systems_that_there_are(name: str) -> None:
    suite = SUITES[name]
    assert {*suite.QUICK, *suite.SMOKE} <= set(suite.CASES)
    assert suite.SMOKE
    assert suite.PEERS
    assert set(suite.PEERS) <= set(ALL)


def test_a_name_is_a_suite_or_a_workload() -> None:
    assert chosen(["verify"], full=False, smoke=False) == {"verify": list(SUITES["verify"].CASES)}
    found = chosen(["tokens-zstd"], full=False, smoke=False)
    assert {"read", "write", "verify"} <= set(found)
    assert all(cases == ["tokens-zstd"] for cases in found.values())


def test_full_adds_systems_and_cases() -> None:
    assert plan([]).peers == QUICK
    assert plan(["full"]).peers == QUICK + FULL
    assert plan(["full"]).cases == {name: list(suite.CASES) for name, suite in SUITES.items()}


def test_a_quick_run_starts_the_workers_of_torch_in_every_way() -> None:
    assert plan([]).cases["workers"]
    ways = {config.get("method") for config in load("torch").SWEEP["workers"]}
    assert ways >= {"fork", "spawn", "forkserver"}


def test_a_run_says_how_to_repeat_it() -> None:
    assert plan(["full", "--rounds", "3"]).command == "nox -s bench -- full --rounds 3"
    assert plan([]).command == "nox -s bench"


def test_an_unknown_name_is_refused_with_those_that_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        plan(["tokns"])
    assert "no such suite or workload: tokns; there are read, " in capsys.readouterr().err


@pytest.mark.parametrize(
    "refused", [["--smoke", "--continue"], ["--smoke", "--publish"], ["--peer", "lmdb", "--publish"]]
)
def test_what_would_spoil_a_record_or_the_page_is_refused(refused: list[str]) -> None:
    with pytest.raises(SystemExit):
        plan(refused)
