"""The table of all cases, and the ids that need one."""

from __future__ import annotations

from . import (
    cases_arrow,
    cases_files,
    cases_frames,
    cases_json,
    cases_keys,
    cases_records,
    cases_rows,
    cases_schema,
    cases_values,
)
from .case import Case

TABLES = (
    cases_json.TABLE,
    cases_keys.TABLE,
    cases_values.TABLE,
    cases_files.OPEN,
    cases_files.READ,
    cases_files.LENGTHS,
    cases_records.TABLE,
    cases_frames.TABLE,
    cases_rows.TABLE,
    cases_schema.TABLE,
    cases_arrow.TABLE,
)
CASES: list[Case] = sorted((case for table in TABLES for case in table.cases), key=lambda case: case.rule)

# Section 9 of the format names these on the reading path; R009 and R022 to R029 do not exist.
RULES = (
    *(f"R{number:03d}" for number in range(9)),
    *(f"R{number:03d}" for number in range(10, 22)),
    *(f"R{number:03d}" for number in range(30, 47)),
)
