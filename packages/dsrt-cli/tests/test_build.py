import builtins
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import dsrt_native
from dsrt_format.reference import read

SOURCE = """
import numpy as np
from dsrt_format import Dense

class Points:
    name = "points"
    fields = {"x": Dense("float32", (2,))}
    metadata = {"label": "int32"}
    fingerprint = "one"

    def __init__(self, count=3):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return {"x": np.full(2, i, np.float32), "label": i}

points = Points()

def many():
    return Points(7)

def needs(path):
    return Points(path)

class holder:
    inner = points

number = 3
"""


def test_a_source_is_built_and_then_reused(dsrt, module):
    module("sources_a", SOURCE)
    result = dsrt("build", "sources_a:Points", "-o", "caches")
    assert result.exit_code == 0
    assert result.stdout == "built: 3 samples in caches/points\n"
    assert [(sample["label"], sample["x"].tolist()) for sample in read("caches/points")] == [
        (0, [0.0, 0.0]),
        (1, [1.0, 1.0]),
        (2, [2.0, 2.0]),
    ]
    assert dsrt("build", "sources_a:Points", "-o", "caches").stdout == "reused: 3 samples in caches/points\n"


def test_a_cache_that_is_not_whole_is_refused_with_the_option_that_replaces_it(dsrt, module):
    module("sources_u", SOURCE)
    assert dsrt("build", "sources_u:Points", "-o", "caches").exit_code == 0
    Path("caches/points/fields/x/00000.shard").unlink()
    refused = dsrt("build", "sources_u:Points", "-o", "caches")
    assert refused.exit_code == 2
    assert "--on-stale rebuild replaces this cache, which is not whole" in refused.stderr
    assert dsrt("build", "sources_u:Points", "-o", "caches", "--on-stale", "rebuild").exit_code == 0


@pytest.mark.parametrize(("attribute", "count"), [("points", 3), ("many", 7), ("holder.inner", 3)])
def test_source_is_an_instance_a_function_or_deeper_in_a_module(dsrt, module, attribute, count):
    module("sources_b", SOURCE)
    result = dsrt("build", f"sources_b:{attribute}", "-o", "caches")
    assert result.exit_code == 0
    assert f"{count} samples" in result.stdout


def test_a_stale_cache_is_refused_and_replaced_or_taken_when_told(dsrt, module):
    module("sources_c", SOURCE)
    module("sources_d", SOURCE.replace('"one"', '"two"').replace("count=3", "count=4"))
    assert dsrt("build", "sources_c:Points", "-o", "caches").exit_code == 0
    refused = dsrt("build", "sources_d:Points", "-o", "caches")
    assert refused.exit_code == 2
    assert refused.stderr.startswith("error: ")
    assert "--on-stale rebuild replaces it, --on-stale reuse takes it as it is" in refused.stderr
    assert "on_stale" not in refused.stderr
    assert len(read("caches/points")) == 3
    taken = dsrt("build", "sources_d:Points", "-o", "caches", "--on-stale", "reuse")
    assert taken.stdout == "reused: 3 samples in caches/points\n"
    replaced = dsrt("build", "sources_d:Points", "-o", "caches", "--on-stale", "rebuild")
    assert (replaced.exit_code, len(read("caches/points"))) == (0, 4)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("sources_e", "expected a module (no path), a colon and a name"),
        ("../sources_e:Points", "expected a module (no path), a colon and a name"),
        ("no_such_module:Points", "there is no module 'no_such_module'"),
        ("sources_e.deeper:Points", "there is no module 'sources_e.deeper'"),
        ("sources_e:Pionts", "has no 'Pionts'; sources there: Points, points"),
        ("sources_e:needs", "cannot be called without arguments"),
        ("sources_e:number", "is no source but int: it has no name and fields and metadata"),
        ("sources_e:number.x", "has no 'number.x'; nothing there has a name, fields and metadata"),
        ("builtins:dict", "cannot be called without arguments"),
    ],
)
def test_words_that_name_no_source_are_refused_and_leave_nothing(dsrt, module, tmp_path, words, said):
    module("sources_e", SOURCE)
    result = dsrt("build", words, "-o", "caches")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")
    assert said in result.stderr
    assert not (tmp_path / "caches").exists()


BROKEN_PIPE = """
import os

def broken():
    reading, writing = os.pipe()
    os.close(reading)
    return writing
"""


@pytest.mark.parametrize(
    ("label", "error"),
    [
        ("1 // (i - 2)", "ZeroDivisionError"),
        ("len(open(f'inputs/{i}.txt').read())", "FileNotFoundError"),
        ("__import__('pathlib').Path(f'inputs/{i}.txt').stat().st_size", "FileNotFoundError"),
        ("__import__('dsrt_format').fingerprint(__import__('pathlib').Path('inputs'))", "FileNotFoundError"),
        ("bytes(2**62)", "MemoryError"),
        ("__import__('os').write(broken(), b'x')", "BrokenPipeError"),
    ],
)
def test_an_error_in_the_code_of_a_source_keeps_its_traceback(module, tmp_path, label, error):
    module("sources_f", SOURCE.replace('"label": i}', f'"label": {label}}}') + BROKEN_PIPE)
    command = [sys.executable, "-m", "dsrt_cli", "build", "sources_f:Points", "-o", "caches"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert "Traceback" in done.stderr
    assert "sources_f.py" in done.stderr
    assert error in done.stderr
    assert "while building 'points' from sources_f.Points" in done.stderr
    assert not (tmp_path / "caches" / "points").exists()


EXCEPTIONS = sorted(
    (kind for kind in vars(builtins).values() if isinstance(kind, type) and issubclass(kind, BaseException)),
    key=lambda kind: kind.__name__,
)
ARGUMENTS = {
    "UnicodeDecodeError": "'utf-8', b'x', 0, 1, 'why'",
    "UnicodeEncodeError": "'utf-8', 'x', 0, 1, 'why'",
    "UnicodeTranslateError": "'x', 0, 1, 'why'",
    "BaseExceptionGroup": "'why', [KeyboardInterrupt()]",
    "ExceptionGroup": "'why', [ValueError()]",
}
RAISED = [
    f"{kind.__name__}({ARGUMENTS.get(kind.__name__, '')})"
    for kind in EXCEPTIONS
    if kind not in (SystemExit, KeyboardInterrupt)
]
# Those by which the library of the command line itself ends.
RAISED += [f"typer.{words}" for words in ("Exit(0)", "Abort()", "BadParameter('no')")]


@pytest.mark.parametrize("raised", RAISED)
def test_whatever_a_source_raises_keeps_its_traceback_and_ends_with_2(dsrt, module, raised):
    raising = SOURCE.replace('"label": i}', '"label": i if i < 2 else stop()}')
    module("sources_b3", f"import typer\n{raising}\ndef stop():\n    raise {raised}\n")
    result = dsrt("build", "sources_b3:Points", "-o", "caches")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "Traceback" in result.stderr
    assert "sources_b3.py" in result.stderr
    assert raised.partition("(")[0] in result.stderr
    assert "none of 2 samples is kept" in result.stderr
    assert not Path("caches/points").exists()


@pytest.mark.parametrize("raised", ["EOFError()", "typer.Exit(0)"])
def test_whatever_a_source_raises_in_a_worker_ends_with_2(dsrt, module, raised):
    raising = SOURCE.replace('"label": i}', '"label": i if i < 2 else stop()}')
    module("sources_c3", f"import typer\n{raising}\ndef stop():\n    raise {raised}\n")
    result = dsrt("build", "sources_c3:Points", "-o", "caches", "--workers", 2)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "sources_c3.py" in result.stderr


def test_a_traceback_shows_code_as_it_is(dsrt, module):
    raising = SOURCE.replace('"label": i}', '"label": i if i < 2 else stop(workers=2, resume=True)}')
    raised = "raise __import__('dsrt_format').DsrtError('no, workers=3 in /data/workers=4/x')"
    module("sources_d3", f"{raising}\ndef stop(**options):\n    {raised}\n")
    result = dsrt("build", "sources_d3:Points", "-o", "caches", "--workers", 2)
    assert result.stderr.startswith("error: no, --workers 3 in /data/workers=4/x\n")
    assert "stop(workers=2, resume=True)" in result.stderr


def test_a_file_that_is_missing_when_a_source_is_imported_or_made_keeps_its_traceback(dsrt, module):
    module("sources_v", f"open('labels.csv')\n{SOURCE}")
    module("sources_w", SOURCE.replace("self.count = count", "self.count = open('labels.csv')"))
    for name in ("sources_v", "sources_w"):
        result = dsrt("build", f"{name}:Points", "-o", "caches")
        assert result.exit_code == 2
        assert result.stderr.startswith("Traceback")
        assert f"{name}.py" in result.stderr


def test_an_error_of_a_source_in_a_worker_keeps_the_traceback_of_there(dsrt, module):
    module("sources_x", SOURCE.replace('"label": i}', '"label": len(open(f"inputs/{i}.txt").read())}'))
    result = dsrt("build", "sources_x:Points", "-o", "caches", "--workers", 2)
    assert result.exit_code == 2
    assert "in worker process" in result.stderr
    assert "sources_x.py" in result.stderr


def test_a_broken_pipe_of_a_source_in_a_worker_is_not_the_end_of_who_reads_the_output(module, tmp_path):
    broken = SOURCE.replace('"label": i}', """"label": __import__('os').write(broken(), b'x')}""")
    module("sources_z", broken + BROKEN_PIPE)
    build = ["build", "sources_z:Points", "-o", "caches", "--workers", "2"]
    command = [sys.executable, "-m", "dsrt_cli", *build]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert "in worker process" in done.stderr
    assert "sources_z.py" in done.stderr
    assert "BrokenPipeError" in done.stderr


LOAD = "__import__('dsrt_format').Manifest.load('upstream')"


@pytest.mark.parametrize(
    ("text", "attribute"),
    [
        (f"upstream = {LOAD}\n{SOURCE}", "Points"),
        (SOURCE.replace("return Points(7)", f"return Points({LOAD})"), "many"),
        (SOURCE.replace('"label": i}', f'"label": {LOAD}}}'), "Points"),
    ],
    ids=["imported", "made", "asked for a sample"],
)
def test_damage_that_the_code_of_a_source_meets_is_its_error_and_no_damage_found(
    dsrt, module, text, attribute
):
    Path("upstream").mkdir()
    Path("upstream/manifest.json").write_text("no manifest")
    module("sources_a2", text)
    result = dsrt("build", f"sources_a2:{attribute}", "-o", "caches")
    assert result.exit_code == 2
    assert result.stderr.startswith("Traceback")
    assert "sources_a2.py" in result.stderr
    assert "FormatError: R002" in result.stderr


def test_an_error_of_the_system_that_is_not_the_sources_is_one_message(dsrt, module):
    module("sources_y", SOURCE)
    Path("file").write_text("no directory")
    result = dsrt("build", "sources_y:Points", "-o", "file")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("code", ["None", "0", "'bye'"])
def test_a_source_that_ends_the_program_is_a_failure_whatever_code_it_asks_for(dsrt, module, code):
    ending = SOURCE.replace('"label": i}', f'"label": i if i < 2 else sys.exit({code})}}')
    module("sources_s", f"import sys\n{ending}")
    result = dsrt("build", "sources_s:Points", "-o", "caches")
    assert result.exit_code == 2
    assert result.stderr.startswith(f"error: sources_s:Points ended the program by sys.exit({code})\n")
    assert not Path("caches/points").exists()


@pytest.mark.parametrize(
    ("text", "attribute"),
    [
        (f"import sys\n{SOURCE}\nsys.exit(0)\n", "Points"),
        (f"import sys\n{SOURCE}".replace("return Points(7)", "sys.exit(0)"), "many"),
        (
            f"import sys\n{SOURCE}".replace(
                'name = "points"', "@property\n    def name(self):\n        sys.exit(0)"
            ),
            "Points",
        ),
    ],
    ids=["imported", "made", "asked for its name"],
)
def test_a_source_that_ends_the_program_before_the_first_sample_is_a_failure(dsrt, module, text, attribute):
    module("sources_e3", text)
    result = dsrt("build", f"sources_e3:{attribute}", "-o", "caches")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"error: sources_e3:{attribute} ended the program by sys.exit(0)\n"


def test_ctrl_c_says_what_is_kept(dsrt, module):
    stopped = SOURCE.replace('"label": i}', '"label": i if i < 2 else stop()}')
    small = stopped.replace('fingerprint = "one"', 'fingerprint = "one"\n    samples_per_shard = 1')
    module("sources_t", f"{small}\ndef stop():\n    raise KeyboardInterrupt\n")
    result = dsrt("build", "sources_t:Points", "-o", "caches")
    assert result.exit_code == 130
    assert "caches/points: 2 samples are durable; the next run goes on from there" in result.stderr


def test_a_missing_import_of_a_source_is_not_taken_for_a_missing_module(dsrt, module):
    module("sources_g", "import surely_not_installed")
    result = dsrt("build", "sources_g:Points", "-o", "caches")
    assert result.exit_code == 2
    assert result.stderr.startswith("Traceback")
    assert "ModuleNotFoundError: No module named 'surely_not_installed'" in result.stderr


def test_workers_and_threads_give_the_same_cache(dsrt, module, tmp_path):
    module("sources_h", SOURCE)
    assert dsrt("build", "sources_h:many", "-o", "alone").exit_code == 0
    result = dsrt("build", "sources_h:many", "-o", "shared", "--workers", 2, "--threads", 3)
    assert (result.exit_code, result.stdout) == (0, "built: 7 samples in shared/points\n")
    files = [p.relative_to("alone") for p in sorted(Path("alone").rglob("*")) if p.is_file()]
    assert len(files) == 3
    assert all((Path("shared") / file).read_bytes() == (Path("alone") / file).read_bytes() for file in files)


@pytest.mark.parametrize(
    "words", [("--workers", -1), ("--workers", 1025), ("--threads", 0), ("--threads", 1025)]
)
def test_numbers_of_workers_and_threads_are_checked(dsrt, module, words):
    module("sources_i", SOURCE)
    result = dsrt("build", "sources_i:Points", "-o", "caches", *words)
    assert result.exit_code == 2
    assert words[0] in result.stderr


def test_workers_need_a_source_with_random_access(dsrt, module, tmp_path):
    module("sources_r", SOURCE.replace("__getitem__", "from_number"))
    result = dsrt("build", "sources_r:Points", "-o", "caches", "--workers", 2)
    assert result.exit_code == 2
    assert "sources_r:Points has no __getitem__ and __len__" in result.stderr
    assert not (tmp_path / "caches").exists()


def test_a_warning_that_the_result_does_not_hold_is_shown(dsrt, module, monkeypatch):
    module("sources_s", SOURCE)
    build = dsrt_native.build

    def warned(*args, **arguments):
        result = build(*args, **arguments)
        warnings.warn("the cache is published, but its work directory stays", RuntimeWarning, stacklevel=1)
        return result

    monkeypatch.setattr(dsrt_native, "build", warned)
    with pytest.warns(RuntimeWarning, match="its work directory stays"):
        assert dsrt("build", "sources_s:Points", "-o", "caches").exit_code == 0


LONG = SOURCE.replace("count=3", "count=11").replace(
    'name = "points"', 'name = "points"\n    samples_per_shard = 4'
)
CRASHING = LONG.replace('"label": i}', '"label": 1 // (10 - i)}')


def crashed(name, tmp_path):
    """Build a source whose last sample raises."""
    command = [sys.executable, "-m", "dsrt_cli", "build", f"{name}:Points", "-o", "caches"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert "8 samples are durable; the next run goes on from there" in done.stderr


def test_a_build_that_crashed_goes_on_and_says_how_much_was_kept(dsrt, module, tmp_path):
    module("sources_j", CRASHING)
    crashed("sources_j", tmp_path)
    module("sources_k", LONG)
    result = dsrt("build", "sources_k:Points", "-o", "caches")
    assert result.stdout == "built: 11 samples in caches/points, 8 of them from an earlier run\n"
    assert [sample["label"] for sample in read("caches/points")] == [0] * 8 + [8, 9, 10]


def test_no_resume_starts_over_and_says_so(dsrt, module, tmp_path):
    module("sources_l", CRASHING)
    crashed("sources_l", tmp_path)
    module("sources_m", LONG)
    result = dsrt("build", "sources_m:Points", "-o", "caches", "--no-resume")
    built, reason = result.stdout.splitlines()
    assert built == "built: 11 samples in caches/points"
    assert reason.startswith("not resumed: 8 samples")
    assert reason.endswith("are discarded: --no-resume")
    assert [sample["label"] for sample in read("caches/points")] == list(range(11))


def test_why_samples_of_an_earlier_run_were_not_used_is_said_once(dsrt, module, tmp_path, recwarn):
    module("sources_n", CRASHING)
    crashed("sources_n", tmp_path)
    module("sources_o", LONG.replace('"one"', '"two"'))
    result = dsrt("build", "sources_o:Points", "-o", "caches")
    built, reason = result.stdout.splitlines()
    assert built == "built: 11 samples in caches/points"
    assert reason.startswith("not resumed: 8 samples")
    assert "are discarded: the fingerprint changed since then" in reason
    assert (result.stderr, list(recwarn)) == ("", [])


def test_a_sample_that_does_not_fit_is_named_with_its_source(dsrt, module):
    module("sources_p", SOURCE.replace('"label": i}', '"label": str(i)}'))
    result = dsrt("build", "sources_p:Points", "-o", "caches")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: field label, sample 0: ")
    assert "while building 'points' from sources_p.Points, at sample 0" in result.stderr


def test_a_worker_that_dies_is_named_and_ends_with_2(dsrt, module):
    module(
        "sources_q", "import os\n" + SOURCE.replace('"label": i}', '"label": i if i < 6 else os._exit(7)}')
    )
    result = dsrt("build", "sources_q:many", "-o", "caches", "--workers", 2)
    assert result.exit_code == 2
    assert "exit code 7" in result.stderr
    assert "it was making sample 6 of 'points'" in result.stderr


def test_an_error_is_not_glued_to_a_bar_that_stays(module, tmp_path, on_terminal):
    module("sources_f3", SOURCE.replace('"label": i}', '"label": shown(i)}') + "\nimport time\n")
    with open("sources_f3.py", "a") as file:
        file.write("\ndef shown(i):\n    time.sleep(0.3)\n    return 'no number'\n")
    code = (
        "import functools, sys\n"
        "import dsrt_cli.build\n"
        "from dsrt_cli import main\n"
        "dsrt_cli.build.progress = functools.partial(dsrt_cli.build.progress, delay=0)\n"
        "sys.argv = ['dsrt', 'build', 'sources_f3:Points', '-o', 'caches']\n"
        "try:\n"
        "    main()\n"
        "except SystemExit as end:\n"
        "    assert end.code == 2\n"
    )
    text = on_terminal("-c", code, cwd=tmp_path)
    before, _, after = text.partition("error: ")
    assert "building points" in before
    assert "building points" not in after
    # The last thing before it is that the line of the bar is erased.
    assert re.search(r"\x1b\[2K(\x1b\[[0-9;]*m)*$", before)
