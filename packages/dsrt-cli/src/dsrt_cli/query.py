"""`dsrt query`: SQL over the metadata of a cache."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from dsrt_cli.extras import need
from dsrt_cli.summary import plain
from dsrt_cli.terminal import fail, output, printable

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
        for row in _rows(found):
            typer.echo(json.dumps(row, default=str))
    else:
        _show(found)


def _rows(frame: "pl.DataFrame") -> Iterator[dict[str, Any]]:
    """Rows as JSON can hold them: times as ISO 8601, binaries in hex, NaN and infinities as texts."""
    import polars.selectors as cs

    for part in frame.iter_slices(_ROWS_AT_ONCE):
        told = part.with_columns(cs.temporal().dt.to_string("iso:strict"), cs.binary().bin.encode("hex"))
        for row in told.iter_rows(named=True):
            yield {name: plain(value) for name, value in row.items()}


def _show(frame: "pl.DataFrame") -> None:
    """As many rows and columns as fit the terminal, and how many more there are."""
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


def _cell(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, float):
        # Six digits to look at; --json has them all.
        return f"{value:.6g}"
    text = printable(str(value)).replace("\n", "\\n")
    return text if len(text) <= _MOST_LETTERS else text[:_MOST_LETTERS] + "…"
