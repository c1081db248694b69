import json

import pytest

from dsrt_format import Dense
from dsrt_format.reference import write


def test_json_gives_every_row_as_a_line(dsrt, cache):
    result = dsrt("query", cache, "SELECT sample_id, label, note FROM samples WHERE label = 1", "--json")
    assert result.exit_code == 0
    assert [json.loads(line) for line in result.stdout.splitlines()] == [
        {"sample_id": 1, "label": 1, "note": None},
        {"sample_id": 3, "label": 1, "note": "note 3"},
    ]


def test_nan_is_told_from_null(dsrt, cache):
    result = dsrt("query", cache, "SELECT score FROM samples WHERE sample_id IN (1, 2)", "--json")
    assert [json.loads(line)["score"] for line in result.stdout.splitlines()] == [0.25, "nan"]


def test_people_see_a_table_with_types(dsrt, cache):
    result = dsrt("query", cache, "SELECT label, COUNT(*) AS n FROM samples GROUP BY label ORDER BY label")
    assert result.exit_code == 0
    lines = [line.split() for line in result.stdout.splitlines()]
    assert lines[0] == ["label", "n"]
    assert lines[1][0] == "int32"
    assert lines[2:4] == [["0", "3"], ["1", "2"]]


def test_a_table_is_cut_to_the_terminal_and_says_how_many_rows_more(dsrt, tmp_path, monkeypatch):
    samples = [{"x": None, "n": i} for i in range(100)]
    path = tmp_path / "many"
    write(path, {"x": Dense("uint8", (0,))}, [_with_x(sample) for sample in samples], metadata={"n": "int64"})
    monkeypatch.setenv("LINES", "16")
    result = dsrt("query", path, "SELECT n FROM samples ORDER BY n")
    assert [line.strip() for line in result.stdout.splitlines()[2:12]] == [str(i) for i in range(10)]
    assert "… and 90 more of 100 rows; --json gives all" in result.stdout


def _with_x(sample):
    import numpy as np

    return {**sample, "x": np.zeros(0, np.uint8)}


def test_floats_have_six_digits_in_the_table_and_all_of_them_in_json(dsrt, cache):
    sql = "SELECT score / 3 AS third FROM samples WHERE score = 1"
    assert dsrt("query", cache, sql).stdout.split()[-1] == "0.333333"
    assert json.loads(dsrt("query", cache, sql, "--json").stdout) == {"third": 1 / 3}


def test_columns_that_do_not_fit_are_named(dsrt, cache, monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    result = dsrt("query", cache, "SELECT sample_id, label, note, score FROM samples")
    assert "… and the columns note, score" in result.stdout


@pytest.mark.parametrize(
    "sql",
    ["SELEC label FROM samples", "SELECT nothing FROM samples", "SELECT * FROM other", "SELECT 1; SELECT 2"],
)
def test_a_query_that_fails_is_one_message_that_names_the_columns(dsrt, cache, sql):
    result = dsrt("query", cache, sql)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("error: the query failed: ")
    assert "columns of samples: cache_id, sample_id, label, note, score, weight" in result.stderr


def test_times_are_iso_8601_and_binaries_hex(dsrt, tmp_path):
    import datetime

    import numpy as np

    moment = datetime.datetime(2024, 2, 29, 12, 30, 0, 250)
    values = {"at": moment, "took": datetime.timedelta(seconds=90), "day": moment.date(), "key": b"\x00\xff"}
    columns = {"at": "timestamp[us]", "took": "duration[us]", "day": "date", "key": "binary"}
    write(tmp_path / "timed", {"x": Dense("uint8")}, [{"x": np.uint8(1), **values}], metadata=columns)
    result = dsrt("query", tmp_path / "timed", "SELECT at, took, day, key FROM samples", "--json")
    assert json.loads(result.stdout) == {
        "at": "2024-02-29T12:30:00.000250",
        "took": "PT1M30S",
        "day": "2024-02-29",
        "key": "00ff",
    }


def test_text_of_strangers_cannot_steer_the_terminal(dsrt, tmp_path):
    import numpy as np

    row = {"x": np.uint8(0), "note": "\x1b[31mred\nnext"}
    write(tmp_path / "odd", {"x": Dense("uint8")}, [row], metadata={"note": "string"})
    text = dsrt("query", tmp_path / "odd", "SELECT note FROM samples").stdout
    assert r"\x1b[31mred\nnext" in text
