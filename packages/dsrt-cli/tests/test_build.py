import subprocess
import sys

import pytest

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
    assert len(read("caches/points")) == 3
    taken = dsrt("build", "sources_d:Points", "-o", "caches", "--on-stale", "reuse")
    assert taken.stdout == "reused: 3 samples in caches/points\n"
    replaced = dsrt("build", "sources_d:Points", "-o", "caches", "--on-stale", "rebuild")
    assert (replaced.exit_code, len(read("caches/points"))) == (0, 4)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("sources_e", "expected a module, a colon and a name"),
        ("no_such_module:Points", "there is no module 'no_such_module'"),
        ("sources_e.deeper:Points", "there is no module 'sources_e.deeper'"),
        ("sources_e:Pionts", "has no 'Pionts'; sources there: Points, points"),
        ("sources_e:needs", "cannot be called without arguments"),
        ("sources_e:number", "is no source but int: it has no name and fields and metadata"),
    ],
)
def test_words_that_name_no_source_are_refused_and_leave_nothing(dsrt, module, tmp_path, words, said):
    module("sources_e", SOURCE)
    result = dsrt("build", words, "-o", "caches")
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.replace("│", " ").split())
    assert not (tmp_path / "caches").exists()


def test_an_error_in_the_code_of_a_source_keeps_its_traceback(module, tmp_path):
    module("sources_f", SOURCE.replace('"label": i}', '"label": 1 // (i - 2)}'))
    command = [sys.executable, "-m", "dsrt_cli", "build", "sources_f:Points", "-o", "caches"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    assert "sources_f.py" in done.stderr
    assert "ZeroDivisionError" in done.stderr
    assert not (tmp_path / "caches" / "points").exists()


def test_a_missing_import_of_a_source_is_not_taken_for_a_missing_module(dsrt, module):
    module("sources_g", "import surely_not_installed")
    with pytest.raises(ModuleNotFoundError, match="surely_not_installed"):
        dsrt("build", "sources_g:Points", "-o", "caches")
