import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from dsrt_format import Manifest, reference, validate
from dsrt_format.columns import COLUMN_TYPES
from dsrt_format.conformance import run
from dsrt_format.conformance.compare import differences
from dsrt_format.conformance.made_large import LARGE
from dsrt_format.conformance.reference import ReferenceReader, record_of
from dsrt_format.conformance.vectors import Vector, each, names
from dsrt_format.dtypes import ITEMSIZE
from dsrt_format.rules import RULES

Record = tuple[tuple[int, ...], bytes]


def test_every_file_is_what_its_sum_says(vectors: Path) -> None:
    listed = dict(line.split("  ")[::-1] for line in (vectors / "SHA256SUMS").read_text().splitlines())
    files = [path for path in vectors.rglob("*") if path.is_file()]
    found = {
        path.relative_to(vectors).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
        if path.name not in ("SHA256SUMS", "README.md")
    }
    assert found == listed


def test_every_rule_but_those_of_the_journal_has_a_bad_vector(vectors: Path) -> None:
    made = {name[4:8] for name in names() if name.startswith("bad/")}
    shipped = {path.name[:4] for path in vectors.glob("bad/*")}
    assert made | shipped >= {*RULES, "R070", "R071", "R072"}


def test_good_vectors_hold_every_kind_dtype_codec_and_type_of_column(vectors: Path) -> None:
    fields, columns = set(), set()
    for path in vectors.glob("good/*/expected.json"):
        columns |= {column["type"] for column in json.loads(path.read_text("utf-8"))["columns"].values()}
        manifest = Manifest.load(path.parent / "cache")
        fields |= {(field.kind, field.dtype, field.codec) for field in manifest.fields}
    kinds = {"dense": ITEMSIZE, "ragged": ITEMSIZE, "bytes": ["uint8"], "text": ["uint8"]}
    assert fields == {
        (kind, dtype, codec)
        for kind, dtypes in kinds.items()
        for dtype in dtypes
        for codec in ("raw", "zstd", "zstd-dict")
    }
    assert columns == set(COLUMN_TYPES)


def test_a_bad_vector_lists_its_rule_among_the_problems(vectors: Path) -> None:
    for path in vectors.glob("bad/*/expected.json"):
        expected = json.loads(path.read_text("utf-8"))
        assert path.parent.name[:4] in expected["rules"]
        if "problems" in expected:
            assert expected["rules"] == sorted({problem["rule"] for problem in expected["problems"]})


def wrong(vector: Vector) -> list[Any]:
    """What the reference and the validator say of a vector and should not."""
    found = [
        {"rule": p.rule, "field": p.field, "shard": p.shard, "sample": p.sample, "kind": p.kind}
        for p in validate(vector.path)
    ]
    expected = list(vector.expected.get("problems", []))
    return [(vector.name, found)] * (found != expected) + list(
        differences(str(vector.path), vector.expected, ReferenceReader)
    )


def test_reference_conforms_and_the_validator_reports_exactly_the_problems() -> None:
    assert [found for vector in each(lambda name: name not in LARGE) for found in wrong(vector)] == []


@pytest.mark.parametrize("name", LARGE)
def test_reference_and_validator_conform_where_it_is_large(name: str) -> None:
    assert [found for vector in each(lambda other: other == name) for found in wrong(vector)] == []


class OneByOne(ReferenceReader):
    """Each record read alone."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._samples = reference.read(path)

    def record(self, field: str, sample: int) -> Record:
        return record_of(reference.read_sample(self._path, sample)[field])

    def column(self, name: str) -> list[bytes | None]:
        return ReferenceReader(self._path).column(name)


def test_reference_conforms_sample_by_sample() -> None:
    assert run(OneByOne, only=["good/all-kinds", "good/shards", "good/empty-records", "good/delta"]) == []
