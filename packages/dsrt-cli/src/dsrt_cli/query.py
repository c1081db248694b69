"""`dsrt query`: SQL over the metadata of a cache."""

import json
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from dsrt_cli.extras import need
from dsrt_cli.summary import plain
from dsrt_cli.terminal import fail, is_terminal, one_line, output, printable

if TYPE_CHECKING:
    import polars as pl

__all__ = ["query"]

_ROWS_AT_ONCE = 10_000
_LINES_AROUND = 6
_LEAST_COLUMN_WIDTH = 10
_MOST_LETTERS = 200


def query(
    path: Annotated[Path, typer.Argument(help="The directory of a cache.")],
    sql: Annotated[
        str,
        typer.Argument(metavar="SQL", help='Such as "SELECT label, COUNT(*) FROM samples GROUP BY label".'),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="All rows, a line of JSON each.")] = False,
) -> None:
    """Run SQL over the metadata of a cache.

    The table is called samples; its columns are cache_id, sample_id, those that are stored, and weight.
    """
    meta = need("dsrt_meta", "meta")
    import polars as pl

    frame = meta.Dataset.open(path).metadata
    try:
        found = pl.SQLContext(samples=frame, eager=True).execute(sql)
    except pl.exceptions.PolarsError as error:
        # The first paragraph says what is wrong; what follows is the plan of the query engine.
        reason = str(error).partition("\n\n")[0]
        fail(f"the query failed: {reason}\ncolumns of samples: {', '.join(frame.columns)}")
    if as_json:
        for part in found.iter_slices(_ROWS_AT_ONCE):
            typer.echo("\n".join(json.dumps(row, allow_nan=False) for row in _rows(part)))
    elif is_terminal(sys.stdout):
        _show(found)
    else:
        _write(found)


def _rows(frame: "pl.DataFrame") -> Iterator[dict[str, Any]]:
    """Rows as JSON can hold them: times in ISO 8601, binaries in hex, decimals, NaN, infinities as texts."""
    import polars as pl

    told = frame.with_columns(_told(pl.col(name), kind) for name, kind in frame.schema.items())
    for row in told.iter_rows(named=True):
        yield {name: _plain(value) for name, value in row.items()}


def _told(values: "pl.Expr", kind: "pl.DataType") -> "pl.Expr":
    """Values of a type, and what is in them, as Python and JSON both have them."""
    import polars as pl

    if kind.is_temporal():
        return values.dt.to_string("iso:strict")
    if kind.is_decimal():
        return values.cast(pl.String)
    if isinstance(kind, pl.Binary):
        return values.bin.encode("hex")
    if isinstance(kind, pl.Array):
        inner = cast("pl.DataType", kind.inner)
        return _told(values.arr.to_list(), pl.List(inner))
    if isinstance(kind, pl.List):
        return values.list.eval(_told(pl.element(), cast("pl.DataType", kind.inner)))
    if isinstance(kind, pl.Struct):
        inside = [_told(pl.field(field.name), cast("pl.DataType", field.dtype)) for field in kind.fields]
        return values.struct.with_fields(*inside)
    return values


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return plain(value)


def _show(frame: "pl.DataFrame") -> None:
    """On a terminal as many rows and columns as fit it, and how many more there are."""
    width, height = shutil.get_terminal_size()
    shown = frame[: max(height - _LINES_AROUND, 1), : max(width // _LEAST_COLUMN_WIDTH, 1)]
    table = Table(box=None, header_style="bold")
    for name, kind in shown.schema.items():
        title = Text.assemble(printable(name), "\n", (str(kind).lower(), "dim"))
        table.add_column(title, justify="right" if kind.is_numeric() else "left", no_wrap=True)
    for row in _rows(shown):
        table.add_row(*(_cell(value) for value in row.values()))
    console = output()
    console.print(table)
    if rows := frame.height - shown.height:
        console.print(f"… and {rows:,} more of {frame.height:,} rows; --json gives all", style="dim")
    if columns := frame.columns[shown.width :]:
        console.print(printable(f"… and the columns {', '.join(columns)}"), style="dim")


def _write(frame: "pl.DataFrame") -> None:
    """All rows and columns as a table, in pieces: Rich would hold it as a whole, and take long."""
    titles = [
        [one_line(name) for name in frame.columns],
        [str(kind).lower() for kind in frame.dtypes],
    ]
    widths = [max(map(cell_len, title)) for title in zip(*titles, strict=True)]
    for part in frame.iter_slices(_ROWS_AT_ONCE):
        for row in _rows(part):
            cells = (cell_len(_cell(value)) for value in row.values())
            widths = [max(pair) for pair in zip(widths, cells, strict=True)]
    is_right = [kind.is_numeric() for kind in frame.dtypes]

    def line(cells: Iterable[str]) -> str:
        padded = []
        for cell, width, right in zip(cells, widths, is_right, strict=True):
            space = " " * (width - cell_len(cell))
            padded.append(f" {space}{cell} " if right else f" {cell}{space} ")
        return "".join(padded)

    typer.echo("\n".join(map(line, titles)))
    for part in frame.iter_slices(_ROWS_AT_ONCE):
        typer.echo("\n".join(line(map(_cell, row.values())) for row in _rows(part)))


def _cell(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, float):
        # Six digits to look at; --json has them all.
        return f"{value:.6g}"
    text = printable(str(value)).replace("\n", "\\n")
    return text if len(text) <= _MOST_LETTERS else text[:_MOST_LETTERS] + "…"
