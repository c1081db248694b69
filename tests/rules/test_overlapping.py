"""What overlaps in metadata.arrow: a small file that stands for much is bounded, and refused by all alike."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from dsrt_format.errors import DataError
from dsrt_format.metadata import read_table
from dsrt_native import Cache, verify

from .arrow_columns import TYPES, Column, Packed
from .arrow_file import BATCH_ROWS, ArrowFile, Batch, Footer
from .goods import TALL, main, table, tall, with_metadata
from .problems import differences


@pytest.mark.parametrize(
    ("length", "rules"), [(2**31 // BATCH_ROWS, []), (2**31 // BATCH_ROWS + 1, ["R042"])]
)
def test_strings_of_a_batch_have_two_gib_together_and_no_more(
    tmp_path: Path, length: int, rules: list[str]
) -> None:
    def overlap(columns: dict[str, Packed], number: int) -> None:
        if number == 0:
            view = struct.pack("<i4sii", length, b"xxxx", 0, 0)
            columns["v"].buffers[1:] = [bytearray(view * BATCH_ROWS), bytearray(b"x" * length)]

    file = ArrowFile([Column("v", TYPES["utf8_view"], [""] * TALL)], TALL, edit_packed=overlap)
    tall(file).write(tmp_path / "c")
    assert differences(tmp_path / "c", "structure") == []
    assert [problem.rule for problem in verify(tmp_path / "c", level="structure")] == rules
    if rules:
        with pytest.raises(DataError) as plain:
            read_table(tmp_path / "c")
        with pytest.raises(DataError) as native:
            _ = Cache.open(tmp_path / "c").metadata
        assert [plain.value.rule, native.value.rule] == rules * 2


def test_blocks_that_all_lead_to_one_large_message_are_counted_and_not_read_again(tmp_path: Path) -> None:
    def enlarge(batch: Batch, number: int) -> None:
        batch.ranges += [[0, 0]] * 65_536

    def repeat(footer: Footer) -> None:
        footer.blocks *= 200_000

    file = table(5)
    file.edit_batch, file.edit_footer = enlarge, repeat
    cache = main()
    with_metadata(cache, file)
    cache.write(tmp_path / "c")
    # Copied for each block, the messages would be 200 GB.
    assert differences(tmp_path / "c", "structure") == []
    assert [problem.rule for problem in verify(tmp_path / "c", level="structure")] == ["R043"]
