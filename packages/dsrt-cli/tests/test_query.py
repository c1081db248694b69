import json
import re

import polars as pl
import pytest

import dsrt_cli.query
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


@pytest.fixture
def many(tmp_path):
    """A cache of a hundred samples with one column, n."""
    samples = [{"x": None, "n": i} for i in range(100)]
    path = tmp_path / "many"
    write(path, {"x": Dense("uint8", (0,))}, [_with_x(sample) for sample in samples], metadata={"n": "int64"})
    return path


def test_a_table_is_cut_to_the_terminal_and_says_how_many_rows_more(on_terminal, many, monkeypatch):
    monkeypatch.setenv("LINES", "16")
    sql = "SELECT n FROM samples ORDER BY n"
    text = on_terminal("-m", "dsrt_cli", "query", many, sql, stream="stdout")
    lines = re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines()
    assert [line.strip() for line in lines[2:12]] == [str(i) for i in range(10)]
    assert lines[12] == "… and 90 more of 100 rows; --json gives all"


@pytest.mark.parametrize("rows_at_once", [7, 10_000])
def test_a_table_that_is_no_terminals_has_all_rows_and_columns_in_line(dsrt, many, monkeypatch, rows_at_once):
    monkeypatch.setattr(dsrt_cli.query, "_ROWS_AT_ONCE", rows_at_once)
    monkeypatch.setenv("LINES", "16")
    monkeypatch.setenv("COLUMNS", "20")
    columns = ", ".join(f"n * n * n AS cube_{i}" for i in range(200))
    result = dsrt("query", many, f"SELECT n, {columns} FROM samples ORDER BY n")
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["n", *(f"cube_{i}" for i in range(200))]
    assert [line.split() for line in lines[2:]] == [[str(i), *[str(i**3)] * 200] for i in range(100)]
    assert len({len(line) for line in lines}) == 1


def test_a_table_without_rows_has_its_columns(dsrt, many):
    lines = dsrt("query", many, "SELECT n FROM samples WHERE n > 100").stdout.splitlines()
    assert [line.split() for line in lines] == [["n"], ["int64"]]
    result = dsrt("query", many, "SELECT n FROM samples WHERE n > 100", "--json")
    assert (result.exit_code, result.stdout) == (0, "")


def _with_x(sample):
    import numpy as np

    return {**sample, "x": np.zeros(0, np.uint8)}


def test_floats_have_six_digits_in_the_table_and_all_of_them_in_json(dsrt, cache):
    sql = "SELECT score / 3 AS third FROM samples WHERE score = 1"
    assert dsrt("query", cache, sql).stdout.split()[-1] == "0.333333"
    assert json.loads(dsrt("query", cache, sql, "--json").stdout) == {"third": 1 / 3}


def test_columns_that_do_not_fit_are_named(on_terminal, cache, monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    sql = "SELECT sample_id, label, note, score FROM samples"
    text = on_terminal("-m", "dsrt_cli", "query", cache, sql, stream="stdout")
    assert "… and the columns" in text
    assert "note, score" in text


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


def test_what_is_in_lists_and_structs_is_told_as_it_is_outside(dsrt, cache, monkeypatch):
    import datetime
    from decimal import Decimal

    moment = datetime.datetime(2024, 2, 29, 12, 30, 0, 250)
    inside = {
        "at": moment,
        "took": datetime.timedelta(seconds=90),
        "day": moment.date(),
        "hour": datetime.time(12, 30),
        "key": b"\x00\xff",
        "price": Decimal("1.50"),
        "score": float("nan"),
    }
    told = {
        "at": "2024-02-29T12:30:00.000250",
        "took": "PT1M30S",
        "day": "2024-02-29",
        "hour": "12:30:00",
        "key": "00ff",
        "price": "1.50",
        "score": "nan",
    }
    frame = pl.DataFrame(
        {
            "list": [[inside, None], None, []],
            "struct": [
                {"deep": [inside["day"], None], "far": {"key": b"a"}},
                None,
                {"deep": None, "far": None},
            ],
            "pair": pl.Series([[1.0, float("inf")], None, [2.0, 3.0]], dtype=pl.Array(pl.Float64, 2)),
        }
    )
    monkeypatch.setattr(pl.SQLContext, "execute", lambda *_: frame)
    lines = dsrt("query", cache, "SELECT 1", "--json").stdout.splitlines()

    def refuse(word):
        raise AssertionError(f"{word} is no JSON")

    assert [json.loads(line, parse_constant=refuse) for line in lines] == [
        {
            "list": [told, None],
            "struct": {"deep": ["2024-02-29", None], "far": {"key": "61"}},
            "pair": [1.0, "inf"],
        },
        {"list": None, "struct": None, "pair": None},
        {"list": [], "struct": {"deep": None, "far": None}, "pair": [2.0, 3.0]},
    ]


def test_text_of_strangers_cannot_steer_the_terminal(dsrt, tmp_path):
    import numpy as np

    row = {"x": np.uint8(0), "note": "\x1b[31mred\nnext"}
    write(tmp_path / "odd", {"x": Dense("uint8")}, [row], metadata={"note": "string"})
    text = dsrt("query", tmp_path / "odd", "SELECT note FROM samples").stdout
    assert r"\x1b[31mred\nnext" in text
