"""What a validator reports of a forged case: thought out from what the case breaks, not taken from one."""

from __future__ import annotations

from typing import Any

from tests.rules.case import Case
from tests.vectors.model import place

Places = list[dict[str, Any]]


def of(case: Case) -> Places:
    """The problems of a case, in the order of a validator."""
    if case.id in SPECIAL:
        return SPECIAL[case.id]
    rule = case.rule
    if rule == "R045":
        return [place(rule, COLUMNS.get(case.name, "odd" if case.name.startswith("type ") else None))]
    if rule == "R046":
        return [place(rule, "weight", sample=WEIGHTS.get(case.name))]
    if case.when == "metadata" or rule < "R007":
        return [place(rule)]
    if rule in ("R031", "R039", "R040") or case.when == "open":
        return [place(rule, case.field, case.shard)]
    return [place(rule, case.field, case.shard, case.sample)]


def shard(field: str, number: int, rules: str, *records: tuple[str, int]) -> Places:
    """Problems of one file, then those of its records."""
    return [place(rule, field, number) for rule in rules.split()] + [
        place(rule, field, number, sample) for rule, sample in records
    ]


# The key of a file comes from its digest in the manifest: under another digest no checksum and no body holds.
BOTH = (("R033", 3), ("R033", 4))
BETWEEN_0_1 = shard("rag", 0, "", ("R032", 0), ("R032", 1))
LAST = shard("rag", 1, "R051", ("R032", 4))
SPECIAL: dict[str, Places] = {
    "R031 dense, the manifest names another body": shard("dense", 1, "R031 R050", *BOTH),
    "R031 rag, the manifest names another body": shard("rag", 1, "R031 R050", *BOTH),
    "R031 two shards exchanged": [
        *shard("dense", 0, "R031 R050", ("R033", 0), ("R033", 1)),
        *shard("dense", 1, "R031 R050", ("R033", 2), ("R033", 3)),
    ],
    "R031 dense, the shard of another build": shard("dense", 1, "R031 R050", *BOTH),
    "R031 rag, the shard of another build": shard("rag", 1, "R031 R039 R050", *BOTH),
    "R033 dense, another build under our header": shard("dense", 1, "R050", *BOTH),
    "R033 rag, another build under our header": shard("rag", 1, "R039 R050", *BOTH),
    "R033 checksums without the key": shard("dense", 1, "R050", *BOTH),
    # What moves the end of a record moves the beginning of the next one.
    "R033 records exchanged with their entries": shard("rag", 1, "", *BOTH),
    "R033 rag, a byte of the next record": shard("rag", 1, "", *BOTH),
    "R033 rag, a byte left to the next record": shard("rag", 1, "", *BOTH),
    "R032 rag, first record ends in the header": BETWEEN_0_1,
    "R032 rag, record begins in the header": BETWEEN_0_1,
    "R032 feat, first record ends at 0": shard("feat", 0, "", ("R032", 0), ("R032", 1)),
    "R032 rag, ends before it begins": shard("rag", 0, "", ("R032", 1), ("R032", 2)),
    "R032 rag, begins behind its end": shard("rag", 1, "", ("R032", 3), ("R032", 4)),
    # The last end of all does not lead to the index.
    "R032 rag, a byte into the index": LAST,
    "R032 rag, at the end of the file": LAST,
    "R032 rag, far behind the file": LAST,
    "R032 rag, end 2^63": LAST,
    "R032 rag, end 2^64 - 1": LAST,
    "R032 tokens, a byte into the index": shard("tokens", 1, "R051", ("R032", 4)),
    # Files that the manifest does not name lie there.
    "R020 no files": [place("R020", "dense"), place("R053"), place("R053")],
    "R015 codec unknown, index undigested": [place("R015", "tokens"), place("R053")],
}

# The column that is at fault, where one is.
COLUMNS = {
    "custom metadata of a field": "int8",
    "a column not nullable": "weight",
    "type dictionary": None,  # the footer lists a dictionary, which is refused before its columns are read
    "name empty": "",
    "name of 256 bytes": "a" * 256,
    "name of 256 bytes in 128 letters": "é" * 128,
    "name with a NUL": "a\0b",
    "name with an underscore first": "_x",
    "name cache_id": "cache_id",
    "name of a field": "rag",
    "name of another column": "int64",
    "int of 24 bits": "odd",
    "int of 24 bits, its children refer to their own place": "odd",
}

# The row of a weight that is none; of another type all are.
WEIGHTS = {"a null": 1, "NaN": 2, "infinity": 4, "negative": 3, "negative and subnormal": 3}
