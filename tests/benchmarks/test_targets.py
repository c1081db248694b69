import pytest

from benchmarks.answers import Target, growth, ours_by_theirs, own
from benchmarks.record import Record
from benchmarks.suite import Figures
from benchmarks.suites import engine
from benchmarks.targets import TARGETS, _checksums, report


def record(figures: dict[str, dict[str, list[float] | str]], smoke: bool = False) -> Record:
    said = {"versions": "", "reads": "", "writes": ""}
    return Record(
        [], smoke, {"dsrt": said, "loaderx": said, "lance": "does not install"}, {"read": {"images": figures}}
    )


BESIDE = ours_by_theirs("read", "images", "gather", "loaderx")


@pytest.mark.parametrize(("ours", "state"), [(40.0, "met"), (35.0, "met"), (34.9, "missed")])
def test_a_target_is_met_from_what_is_to_be_reached_on(ours: float, state: str) -> None:
    found = record({"gather": {"dsrt": [ours, 99.0, 0.0], "loaderx": [9.0, 10.0, 11.0]}})
    assert Target("", 3.5, {"images": BESIDE}).answer(found).state == state


def test_the_worst_of_several_decides_and_is_named() -> None:
    found = record({"gather": {"dsrt": [2.0]}, "loop": {"dsrt": [1.0]}})
    values = {work: own("read", "images", work) for work in ("gather", "loop")}
    assert Target("", 1.5, values).answer(found).figure == "~1 x (loop)"
    assert Target("", 1.5, values, at_most=True).answer(found).figure == "~2 x (gather)"


def test_what_was_not_measured_is_not_run_and_says_what() -> None:
    beside = ours_by_theirs("read", "images", "gather", "lance")
    figures: dict[str, dict[str, list[float] | str]] = {"gather": {"dsrt": [1.0]}}
    for target in (Target("", 1, {"": beside}), Target("", 1, {"": growth("size", "open", "1e4", "1e7")})):
        answer = target.answer(record(figures))
        assert answer.state == "not run"
        assert answer.figure in ("lance", "size 1e4")


def test_a_rival_that_cannot_is_left_out() -> None:
    found = record({"gather": {"dsrt": [1.0], "loaderx": "no codec"}})
    values = {"images": BESIDE, "ours": own("read", "images", "gather")}
    assert Target("", 1, values).answer(found).state == "met"
    answer = Target("", 1, {"images": BESIDE}).answer(found)
    assert (answer.state, answer.figure) == ("not run", "no other system can")


@pytest.mark.parametrize(
    "reason",
    [
        "failed: it broke",
        "failed: no answer within 120 s",
        "not within 60 s",
        "would take 1,200 s and 3.0 GB to write",
        "12 pages of its files do not stay in memory",
    ],
)
def test_a_rival_that_failed_or_took_too_long_leaves_the_target_not_run(reason: str) -> None:
    found = record({"gather": {"dsrt": [1.0], "loaderx": reason}})
    values = {"images": BESIDE, "ours": own("read", "images", "gather")}
    answer = Target("", 1, values).answer(found)
    assert answer.state == "not run"
    assert f"read images with loaderx: {reason}" in answer.figure


def test_what_the_machine_has_no_figure_of_is_not_run_and_never_left_out() -> None:
    found = record({"gather": {"dsrt": [1.0], "machine": "no C compiler: cc"}})
    found.systems["machine"] = found.systems["dsrt"]
    answer = Target("", 1, {"": ours_by_theirs("read", "images", "gather", "machine")}).answer(found)
    assert (answer.state, answer.figure) == ("not run", "read images with machine: no C compiler: cc")


@pytest.mark.parametrize(
    ("verified", "unverified", "mark", "shown"),
    [
        # A turn that is slow in both is no reason to doubt what the two differ by.
        ([90.0, 45.0, 91.0], [100.0, 50.0, 100.0], "", "10 %"),
        ([90.0, 45.0, 96.0], [100.0, 50.0, 100.0], "~", "10 %"),
        ([90.0, 90.0], [100.0, 100.0], "~", "10 %"),
        ([102.0, 102.0, 102.0], [100.0, 100.0, 100.0], "", "-2 %"),
    ],
)
def test_checksums_are_a_percentage_of_each_turn(
    verified: list[float], unverified: list[float], mark: str, shown: str
) -> None:
    figures: Figures = {"verified": {"dsrt": verified}, "unverified": {"dsrt": unverified}}
    found = record({})
    found.results["engine"] = {"images": figures}
    answer = Target("", 10, {"": _checksums("images")}, at_most=True, unit="%").answer(found)
    assert (answer.state, answer.mark, answer.figure) == ("met", mark, mark + shown)
    assert engine.mark(engine.checksums(verified, unverified)) == mark


@pytest.mark.parametrize("ours", ["failed: it broke", "not within 60 s", None])
def test_a_figure_of_ours_that_should_be_there_and_is_not_is_no_answer(ours: str | None) -> None:
    figures: dict[str, dict[str, list[float] | str]] = {"gather": {"loaderx": [1.0]}}
    if ours:
        figures["gather"]["dsrt"] = ours
    assert Target("", 1, {"images": BESIDE}).answer(record(figures)).state == "no answer"


def test_no_target_is_answered_by_a_smoke_run() -> None:
    lines = list(report(record({}, smoke=True)))
    assert len(lines) == 2 + len(TARGETS)
    assert all("**not run**" in line for line in lines[2:])


def test_failures_are_what_no_system_says_of_itself() -> None:
    found = record(
        {"gather": {"dsrt": [1.0], "loaderx": "no codec"}, "loop": {"loaderx": "failed: it broke"}}
    )
    assert found.failures() == {"read images loop loaderx": "failed: it broke"}


def test_what_took_the_first_too_long_is_a_failure_and_what_another_is_none() -> None:
    late = "not within 60 s"
    found = record({"gather": {"dsrt": late, "loaderx": late}})
    assert found.failures() == {"read images gather dsrt": f"failed: {late}"}


def test_what_the_machine_lacks_for_a_figure_of_ours_is_no_failure_but_said() -> None:
    found = record({"allocations": {"dsrt": "no C compiler: cc"}})
    answer = Target("", 0, {"": own("read", "images", "allocations")}, at_most=True).answer(found)
    assert (answer.state, answer.figure) == ("not run", "no C compiler: cc")
    assert found.failures() == {}


@pytest.mark.parametrize(
    ("gather", "loop", "state", "mark"),
    [
        ([2.0] * 3, [3.0] * 3, "met", ""),
        ([2.0] * 3, [3.0], "met", "~"),
        ([1.0] * 3, [3.0], "missed", ""),
        ([1.0], [3.0] * 3, "missed", "~"),
        ([0.9], [1.0] * 3, "missed", ""),
        ([1.0, 2.0, 3.0], [3.0] * 3, "met", "~"),
    ],
)
def test_an_answer_is_marked_where_an_uncertain_figure_decides_it(
    gather: list[float], loop: list[float], state: str, mark: str
) -> None:
    values = {work: own("read", "images", work) for work in ("gather", "loop")}
    answer = Target("", 2, values).answer(record({"gather": {"dsrt": gather}, "loop": {"dsrt": loop}}))
    assert (answer.state, answer.mark) == (state, mark)
