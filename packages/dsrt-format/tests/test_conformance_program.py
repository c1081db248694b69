import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dsrt_format.conformance import run
from dsrt_format.conformance.__main__ import main
from dsrt_format.conformance.program import Program
from dsrt_format.conformance.vectors import names

OURS = [sys.executable, "-m", "dsrt_format.conformance.reference"]
SHOWN = [
    "good/all-kinds",
    "good/empty",
    "good/metadata-nulls",
    "bad/R000-manifest-missing",
    "bad/R038-title-cut-short",
]


def test_reference_conforms_as_a_program() -> None:
    assert run(Program(OURS), only=SHOWN) == []


def script(tmp_path: Path, body: str) -> Program:
    """A program of these lines; `path` is the cache, `say` prints an object."""
    (tmp_path / "reader.py").write_text(
        f"import json, sys\npath = sys.argv[1]\nsay = lambda **line: print(json.dumps(line))\n{body}\n"
    )
    return Program([sys.executable, str(tmp_path / "reader.py")], timeout=60)


def messages(program: Program, name: str) -> list[str]:
    return [problem.message for problem in run(program, only=name)]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("sys.exit(3)", "exit code 3: no words"),
        ("raise SystemExit('out of memory')", "exit code 1: out of memory"),
        ("pass", "it printed nothing"),
        ("print('hello')", "line 1 is not understood"),
        ("say(samples='many')", "line 1 is not understood"),
        ("say(samples=0); say(field='x')", "line 2 is not understood"),
        ("say(rule='R033'); say(samples=0)", "line 2 is not understood"),
        ("say(samples=5)", "it printed neither this nor a refusal"),
        ("say(samples=4)", "4 samples, expected 5"),
        ("say(samples=5, cache_id='none')", "line 1 is not understood"),
        ("say(samples=5, cache_id=7)", "the cache_id is 7, expected"),
        ("say(samples=5, cache_id='8')", "the cache_id is 8, expected"),
        ("say(rule='R003', message='no')", "was refused with R003 (no); it must be read"),
    ],
)
def test_a_program_that_answers_badly_fails(body: str, message: str, tmp_path: Path) -> None:
    found = messages(script(tmp_path, body), "good/all-kinds")
    assert any(message in line for line in found), found


def test_a_program_that_does_not_end_is_killed(tmp_path: Path) -> None:
    program = script(tmp_path, "import time; time.sleep(60)")
    program._timeout = 0.5
    assert messages(program, "good/empty") == [
        "the cache was refused with ProgramError: no end after 0.5 seconds; it must be read"
    ]


def test_a_program_may_print_digests_instead_of_values(tmp_path: Path) -> None:
    digests = (
        "from dsrt_format.conformance.expectation import column_digest, field_digest\n"
        "from dsrt_format.conformance.reference import *\n"
        "from dsrt_format.conformance.reference import Manifest, read_columns\n"
        "reader = ReferenceReader(path)\n"
        "say(samples=len(reader))\n"
        "for f in Manifest.load(path).fields:\n"
        "    say(field=f.name, blake3=field_digest(reader.record(f.name, i) for i in range(len(reader))))\n"
        "for name in read_columns(path):\n"
        "    say(column=name, blake3=column_digest(reader.column(name)))\n"
    )
    assert messages(script(tmp_path, digests), "good/all-kinds") == []
    (wrong, *_) = messages(
        script(tmp_path, digests.replace("reader.record(f.name, i)", "((), b'')")), "good/all-kinds"
    )
    assert "has the digest" in wrong


def test_a_program_may_refuse_one_record_and_read_on(tmp_path: Path) -> None:
    vector = "bad/R033-dense-first-byte"
    body = (
        "expected = json.load(open(path + '/../expected.json'))\n"
        "say(samples=5)\n"
        "for i, record in enumerate(expected['fields']['dense']['records']):\n"
        "    if record: say(field='dense', sample=i, **record)\n"
        "say(rule='R033', message='damaged', field='dense', sample=4)\n"
    )
    assert messages(script(tmp_path, body), vector) == []
    assert messages(script(tmp_path, body.replace("'R033'", "'R032'")), vector)
    # Whoever says of the whole that it is well must not leave it out.
    assert messages(script(tmp_path, body.rpartition("say(")[0]), vector)
    read = body.rpartition("say(")[0] + "say(field='dense', sample=4, shape=[2, 3], hex='00' * 12)\n"
    assert "must be refused with R033" in messages(script(tmp_path, read), vector)[0]


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]) -> Callable[[], str]:
    return lambda: capsys.readouterr().out


def test_the_command_says_what_is_wrong_by_its_exit_code(printed: Callable[[], str], tmp_path: Path) -> None:
    assert main(["--only", "good/empty", *OURS]) == 0
    assert printed() == "all 1 answers are right\n"
    (tmp_path / "reader.py").write_text("")
    assert main(["--only", "good/empty", sys.executable, str(tmp_path / "reader.py")]) == 1
    assert printed().endswith("it must be read\n1 of 1 vectors have wrong answers\n")
    for arguments in ([], ["no-such-program", "reader.js"], ["--only", "god/*", sys.executable]):
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        assert caught.value.code == 2
    printed()
    assert main(["--list"]) == 0
    assert printed().split() == names()
    assert main(["--list", "--only", "bad/R033*"]) == 0
    assert printed().split() == [name for name in names() if name.startswith("bad/R033")]


def test_no_two_vectors_share_a_name() -> None:
    assert len(set(names())) == len(names())
