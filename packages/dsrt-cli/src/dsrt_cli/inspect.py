"""`dsrt inspect`: what a cache holds, or one sample of it."""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from dsrt_cli.summary import in_words, summary
from dsrt_cli.terminal import fail, one_line, output, printable, size
from dsrt_format import Manifest, NotPublishedError

__all__ = ["inspect"]

_MOST_LETTERS = 2_000


def inspect(
    path: Annotated[Path, typer.Argument(help="The directory of a cache.")],
    sample: Annotated[int | None, typer.Argument(help="The position of a sample, from 0.", min=0)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One line of JSON.")] = False,
) -> None:
    """Describe a cache, or show one of its samples.

    Descriptions come from the manifest and the schema of the metadata; payloads are not read. A build beside
    it that is not finished is named, with what of it is durable.
    """
    if sample is not None:
        _show_sample(path, sample, as_json)
        return
    found = describe(path)
    if as_json:
        typer.echo(json.dumps(found, allow_nan=False))
    else:
        _show(found)


def describe(path: Path) -> dict[str, Any]:
    """What a cache holds, as JSON can hold it.

    Raises:
        FormatError: There is no sound cache.
        OSError: It cannot be read.
    """
    from dsrt_format.metadata import read_columns

    unfinished = _unfinished(path)
    try:
        manifest = Manifest.load(path)
    except NotPublishedError as error:
        if unfinished is not None:
            error.add_note(unfinished["message"])
        raise
    metadata_bytes = 0 if manifest.metadata is None else manifest.metadata.bytes
    total = manifest.total_bytes
    fields = [
        {
            "name": field.name,
            "kind": field.kind,
            "dtype": field.dtype,
            "shape": None if field.shape is None else list(field.shape),
            "ndim": field.ndim,
            "codec": field.codec,
            "delta": field.delta,
            "bytes": field.total_bytes,
            "share": field.total_bytes / total if total else 0.0,
        }
        for field in manifest.fields
    ]
    return {
        "path": str(path),
        "name": manifest.name,
        "cache_id": manifest.cache_id,
        "digest": manifest.digest,
        "samples": manifest.num_samples,
        "shards": list(manifest.shards),
        "bytes": total,
        "fields": fields,
        "metadata": {
            "bytes": metadata_bytes,
            "share": metadata_bytes / total if total else 0.0,
            "columns": read_columns(path, manifest=manifest),
        },
        "fingerprint": manifest.fingerprint,
        "attributes": manifest.attributes,
        "unfinished": unfinished,
    }


def _unfinished(path: Path) -> dict[str, Any] | None:
    """A build beside the path, which may be the one of a cache that is not there yet."""
    place = path.absolute()
    work = place.parent / f".{place.name}.building"
    try:
        if not work.is_dir():
            return None
        if not _engine_is_there():
            message = f"{work} holds a build that is not finished; dsrt-cli[native] tells how far it got"
            return {"path": str(work), "durable_count": None, "message": message}
        from dsrt_native.unfinished import unfinished_build

        found = unfinished_build(path)
    except OSError as error:
        # Of a cache that is sound this says nothing.
        message = f"{work} may hold a build that is not finished, but cannot be looked at: {error}"
        return {"path": str(work), "durable_count": None, "message": message}
    if found is None:
        return None
    return {"path": str(found.path), "durable_count": found.durable_count, "message": found.message}


def _engine_is_there() -> bool:
    return find_spec("dsrt_native") is not None


def _values() -> Table:
    """Names and values, without frames; long ones are on as many lines as they need."""
    table = Table.grid(padding=(0, 2))
    table.add_column(overflow="fold")
    table.add_column(overflow="fold")
    return table


def _show(found: dict[str, Any]) -> None:
    facts = _values()
    facts.add_row("cache", f"{found['name']} at {one_line(found['path'])}")
    facts.add_row("samples", f"{found['samples']:,}")
    facts.add_row("shards", f"{len(found['shards']):,}")
    facts.add_row("size", size(found["bytes"]))
    facts.add_row("cache id", str(found["cache_id"]))
    facts.add_row("digest", found["digest"])
    facts.add_row("fingerprint", "none" if found["fingerprint"] is None else one_line(found["fingerprint"]))
    facts.add_row("attributes", _cut(one_line(json.dumps(found["attributes"], ensure_ascii=False))))

    fields = Table(box=None, header_style="bold")
    for title in ("field", "kind", "dtype", "shape", "codec"):
        fields.add_column(title, overflow="fold")
    for title in ("size", "share"):
        fields.add_column(title, justify="right", overflow="fold")
    for field in found["fields"]:
        codec = field["codec"] if field["delta"] is None else f"{field['codec']}, delta {field['delta']}"
        row = field["name"], field["kind"], field["dtype"], _shape(field), codec
        fields.add_row(*row, size(field["bytes"]), f"{field['share']:.1%}")
    metadata = found["metadata"]
    if metadata["columns"]:
        fields.add_row("metadata", "", "", "", "", size(metadata["bytes"]), f"{metadata['share']:.1%}")

    columns = Table(box=None, header_style="bold")
    columns.add_column("metadata column", overflow="fold")
    columns.add_column("type", overflow="fold")
    for name, word in metadata["columns"].items():
        columns.add_row(printable(name), word)

    console = output()
    console.print(facts)
    if found["unfinished"] is not None:
        console.print()
        console.print(printable(found["unfinished"]["message"]), soft_wrap=True)
    console.print()
    console.print(fields)
    if metadata["columns"]:
        console.print()
        console.print(columns)


def _cut(text: str) -> str:
    """The beginning of a long text."""
    return (
        text
        if len(text) <= _MOST_LETTERS
        else f"{text[:_MOST_LETTERS]}… ({len(text):,} letters; all with --json)"
    )


def _shape(field: dict[str, Any]) -> str:
    if field["kind"] == "dense":
        return "(" + ", ".join(map(str, field["shape"])) + ")"
    return f"{field['ndim']} axes" if field["kind"] == "ragged" and field["ndim"] > 1 else "any length"


def _read_sample(path: Path, number: int) -> dict[str, Any]:
    """One sample, by the engine if it is there: the plain reader takes all of the metadata into memory."""
    if not _engine_is_there():
        from dsrt_format.reference import read_sample

        return read_sample(path, number)
    from dsrt_format.metadata import read_columns
    from dsrt_native import Cache

    manifest = Manifest.load(path)
    # Each by its name: the column `weight` is there only if it is asked for.
    names = [*(field.name for field in manifest.fields), *read_columns(path, manifest=manifest)]
    with Cache.open(path, fields=names) as cache:
        return cache[number]


def _show_sample(path: Path, number: int, as_json: bool) -> None:
    try:
        values = _read_sample(path, number)
    except (IndexError, ImportError) as error:
        fail(str(error))
    if as_json:
        found = {name: summary(value) for name, value in values.items()}
        typer.echo(json.dumps({"path": str(path), "sample": number, "values": found}, allow_nan=False))
        return
    table = _values()
    for name, value in values.items():
        table.add_row(printable(name), in_words(value))
    output().print(table)
