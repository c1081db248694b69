"""The pages of the format say what is: their bytes, sums and tables are compared with files and code."""

import json
import re
import struct
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import blake3
import google_crc32c
import pytest

from dsrt_format import Manifest, Problem, reference
from dsrt_format.columns import COLUMN_TYPES
from dsrt_format.dtypes import ITEMSIZE
from dsrt_format.rules import RULES

ROOT = Path(__file__).parent.parent
SPEC = ROOT / "docs" / "spec"
CRATES = ROOT / "packages" / "dsrt-native" / "crates"
EXAMPLE = Path(str(files("dsrt_format") / "vectors" / "example"))
EXAMPLES = SPEC / "examples.md"

HEX = r"[0-9a-f]{2}(?: [0-9a-f]{2})*"
TITLE = re.compile(r"(\S+), bytes (\d+) to (\d+)")
ROW = re.compile(rf" *(\d+)  ({HEX})(?:  +\S.*)?")
RANGE = re.compile(r"(\S+), (\d+) to (\d+)")
REPEATED = re.compile(r"([0-9a-f]{2}) × (\d+)")
SUM = re.compile(r"(crc32c|blake3)\((.*)\) = ([0-9a-f]+)")
XOR = re.compile(r"([0-9a-f]{8}) xor ([0-9a-f]{8}) = ([0-9a-f]{8})")
STEPS = re.compile(r"(?:[0-9a-f]{2} [0-9a-f]{8}(?:   |$))+")


def blocks(page: Path) -> list[str]:
    return re.findall(r"^```\w+\n(.*?)\n```$", page.read_text(), re.DOTALL | re.MULTILINE)


def table(page: str, *header: str) -> list[list[str]]:
    """The rows of the one table of a page that has this header."""
    found: list[list[list[str]]] = []
    for lines in re.findall(r"(?:^\|.*\|\n)+", (SPEC / page).read_text(), re.MULTILINE):
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines.splitlines()]
        if tuple(rows[0]) == header:
            found.append(rows[2:])
    (rows,) = found
    return rows


def content(words: str) -> bytes:
    """Bytes as a page writes them: in hexadecimal, one byte repeated, or a range of an example's file."""
    if place := RANGE.fullmatch(words):
        return (EXAMPLE / place[1]).read_bytes()[int(place[2]) : int(place[3])]
    if repeated := REPEATED.fullmatch(words):
        return bytes.fromhex(repeated[1]) * int(repeated[2])
    return bytes.fromhex(words)


def sums(page: Path) -> Iterator[str]:
    for block in blocks(page):
        yield from (line for line in block.splitlines() if SUM.fullmatch(line) or XOR.fullmatch(line))


def check_sum(line: str) -> None:
    if found := SUM.fullmatch(line):
        data = content(found[2])
        result = (
            blake3.blake3(data).hexdigest() if found[1] == "blake3" else f"{google_crc32c.value(data):08x}"
        )
        assert result == found[3], line
    else:
        found = XOR.fullmatch(line)
        assert found is not None
        a, b, c = (int(word, 16) for word in found.groups())
        assert a ^ b == c, line


def check_rows(block: str) -> None:
    title, *rows = block.splitlines()
    place = TITLE.fullmatch(title)
    assert place is not None
    name, start, end = place[1], int(place[2]), int(place[3])
    data = (EXAMPLE / name).read_bytes()
    assert end <= len(data)
    at = start
    for row in rows:
        found = ROW.fullmatch(row)
        assert found is not None, row
        shown = bytes.fromhex(found[2])
        assert int(found[1]) == at, row
        assert shown == data[at : at + len(shown)], row
        at += len(shown)
    assert at == end, title


def check_steps(block: str) -> None:
    """The register of CRC-32C after each byte of record 1 of the fixed shard and of its ordinal."""
    expected, register = [], 0xFFFFFFFF
    record = (EXAMPLE / "demo/fields/image/00001.shard").read_bytes()[76:88]
    for byte in record + struct.pack("<Q", 1):
        register ^= byte
        for _ in range(8):
            register = register >> 1 ^ (0x82F63B78 if register & 1 else 0)
        expected.append(f"{byte:02x} {register:08x}")
    assert re.split(r"   |\n", block) == expected


def check_json(block: str) -> None:
    """A manifest in full, or with white space and in another order."""
    value = json.loads(block)
    data = (EXAMPLE / value["name"] / "manifest.json").read_text()
    assert value == json.loads(data)
    assert "\n" in block or block == data


@pytest.mark.parametrize("number", range(len(blocks(EXAMPLES))))
def test_a_block_of_the_example_is_what_the_files_hold(number):
    block = blocks(EXAMPLES)[number]
    lines = block.splitlines()
    if TITLE.fullmatch(lines[0]):
        check_rows(block)
    elif block.startswith('{"attributes"'):
        assert block == "{" + (EXAMPLE / "empty/manifest.json").read_text()[77:]
    elif block.startswith("{"):
        check_json(block)
    elif all(STEPS.fullmatch(line) for line in lines):
        check_steps(block)
    else:
        assert lines
        for line in lines:
            check_sum(line)


def test_the_blocks_of_the_example_are_of_every_sort():
    found = "\n".join(blocks(EXAMPLES))
    for name in ("image/00001.shard", "tokens/00001.shard", "tokens/dictionary.bin", "metadata.arrow"):
        assert name in found


def test_the_sums_of_other_pages_are_right():
    lines = [line for page in sorted(SPEC.glob("*.md")) if page != EXAMPLES for line in sums(page)]
    assert len(lines) >= 9
    for line in lines:
        check_sum(line)


@pytest.mark.parametrize(
    ("name", "pages_id"), [("empty", "5800493788793326625"), ("demo", "1779736405239361470")]
)
def test_the_ids_of_the_example_are_those_of_its_manifests(name, pages_id):
    manifest = Manifest.load(EXAMPLE / name)
    text = EXAMPLES.read_text()
    assert str(manifest.cache_id) == pages_id
    assert f"{pages_id}." in text
    assert manifest.digest[:16] in text


def test_numbers_in_the_text_of_the_example_are_those_of_the_files():
    text = EXAMPLES.read_text()
    lengths = {
        path.relative_to(EXAMPLE / "demo" / "fields").with_suffix("").as_posix(): path.stat().st_size
        for path in EXAMPLE.glob("demo/fields/*/*.shard")
    }
    rows = table("examples.md", "file", "index", "before it")
    for file, index, before in rows:
        name, length = re.fullmatch(r"(\w+/\d+),.*?(\d+) bytes", file).groups()
        count, entry, product = map(int, re.match(r"(\d+) × (\d+) = (\d+)", index).groups())
        start = int(re.match(r"\d+", before)[0])
        assert (count * entry, lengths[name]) == (product, int(length))
        assert start + product == int(length)
        assert start % 8 == 0
    assert f"`demo/manifest.json` has {(EXAMPLE / 'demo/manifest.json').stat().st_size:,} bytes" in text
    assert f"`empty/manifest.json`, {(EXAMPLE / 'empty/manifest.json').stat().st_size} bytes" in text


def test_the_records_of_the_example_are_those_that_are_read():
    rows = table("examples.md", "sample", "image", "feat", "tokens", "jpeg", "caption", "label", "split")
    samples = reference.read(EXAMPLE / "demo")
    assert len(rows) == len(samples) == 5
    for row, sample in zip(rows, samples, strict=True):
        number, image, feat, tokens, jpeg, caption, label, split = row
        assert content(image.split()[2]) * int(image.split()[0]) == sample["image"].tobytes()
        assert [float(item) for item in feat.split(", ")] == sample["feat"].tolist()
        assert ([] if tokens == "none" else [int(item) for item in tokens.split(", ")]) == sample[
            "tokens"
        ].tolist()
        assert bytes.fromhex("" if jpeg == "none" else jpeg) == sample["jpeg"]
        assert ("" if caption == "empty" else caption) == sample["caption"]
        assert (int(label), split) == (sample["label"], sample["split"])
        assert int(number) == sample["label"]


def rules_of_the_page() -> dict[str, list[str]]:
    rows = table("rules.md", "id", "requirement", "found", "kind", "mask", "level")
    assert len({row[0] for row in rows}) == len(rows)
    return {row[0]: row[1:] for row in rows}


def numbers_in_rust() -> tuple[set[str], set[str]]:
    """The rules that code raises by number, and those that comments name, ranges spelt out."""
    raised: set[str] = set()
    named: set[str] = set()
    for path in CRATES.rglob("*.rs"):
        if "target" in path.relative_to(CRATES).parts:
            continue
        text = path.read_text()
        for number in re.findall(r"\b(?:rule|breach|in_field)\(\s*(?:[^,()]+,\s*)?(\d{1,2}),", text):
            raised.add(f"R{int(number):03}")
        named.update(re.findall(r"\bR0\d\d\b", text))
        for low, high in re.findall(r"\bR0(\d\d) to R0(\d\d)\b", text):
            named.update(f"R{number:03}" for number in range(int(low), int(high) + 1))
    return raised, named


def test_the_table_of_rules_holds_exactly_the_rules_there_are():
    page = set(rules_of_the_page())
    raised, named = numbers_in_rust()
    # Ranges in comments run over numbers that no rule has.
    gaps = {f"R{number:03}" for number in (9, *range(22, 30), *range(47, 50))}
    assert page == set(RULES) | raised | named - gaps


def test_every_rule_of_the_table_is_in_the_code():
    page = rules_of_the_page()
    raised, named = numbers_in_rust()
    assert {rule for rule in page if rule < "R060"} == set(RULES)
    assert set(page) <= raised | named


def test_what_the_table_says_of_rules_is_said_in_the_same_words_everywhere():
    kinds = {"manifest", "file", "record", "dictionary", "metadata", "unknown", "none"}
    for rule, (_, found, kind, mask, level) in rules_of_the_page().items():
        assert kind in kinds
        assert kind == "none" or kind == Problem(rule, "", None, None, None, "").kind
        assert (level == "none") == (kind == "none") == (rule >= "R060")
        assert level in {"structure", "records", "digests", "none"}
        assert mask == ("yes" if "R030" <= rule <= "R040" and rule != "R039" else "no")
        assert set(found.split(", ")) <= {
            "open",
            "first use",
            "read",
            "lengths",
            "metadata",
            "validator",
            "writer",
            "merge",
            "dataset",
        }


def test_every_rule_that_a_page_names_is_in_the_table():
    named = {
        rule for page in sorted(SPEC.glob("*.md")) for rule in re.findall(r"\bR0\d\d\b", page.read_text())
    }
    assert named == set(rules_of_the_page())


def test_the_tables_of_types_are_those_of_the_code():
    rows = table("codecs.md", "dtype", "itemsize", "element")
    assert {row[0]: int(row[1]) for row in rows} == ITEMSIZE
    rows = table("metadata.md", "column type", "Arrow type", "bytes a value")
    words = [word for row in rows for word in re.findall(r"\w+(?:\[[^\]]*\])?", row[0])]
    assert sorted(words) == sorted(COLUMN_TYPES)


def test_links_between_pages_lead_to_headings():
    def anchor(heading: str) -> str:
        return re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower())

    headings = {
        page.name: {anchor(line) for line in re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)}
        for page in SPEC.glob("*.md")
    }
    for page in sorted(SPEC.glob("*.md")):
        for name, mark in re.findall(r"\]\(([\w.]*)#([\w-]+)\)", page.read_text()):
            assert mark in headings[name or page.name], f"{page.name}: {name}#{mark}"
