"""Faults of bytes: flips, runs, holes, and places that are exchanged, within one file or between files."""

from __future__ import annotations

from random import Random

from tests.faults.caches import Specimen
from tests.faults.fault import Content, Fault
from tests.faults.layout import CHANCES, Span, entry_bytes, record_spans

_BLOCKS = (512, 4096)


def flip(random: Random, of: Specimen) -> Fault:
    """Flip one bit, two, or many, in one region."""
    count = random.choice([1, 1, 1, 2, random.randrange(3, 65)])
    region, span = _aim(random, of)
    data = bytearray(of.new[span.file])
    places = [(random.randrange(span.start, span.end), random.randrange(8)) for _ in range(count)]
    for at, bit in places:
        data[at] ^= 1 << bit
    what = ", ".join(f"bit {bit} of byte {at}" for at, bit in places)
    return Fault(f"{min(count, 3)} bits", region, f"{span.file}: {what} flipped", {span.file: bytes(data)})


def run(random: Random, of: Specimen) -> Fault:
    """Set a run of bytes to 00, FF, or anything."""
    region, span = _aim(random, of)
    start = random.randrange(span.start, span.end)
    length = min(random.choice([1, 2, 4, 8, 16, 64, 300]), len(of.new[span.file]) - start)
    value = random.choice(["00", "FF", "random"])
    fill = random.randbytes(length) if value == "random" else bytes.fromhex(value) * length
    return _written(of, "run", region, span.file, start, fill, f"{value} over")


def hole(random: Random, of: Specimen) -> Fault:
    """Zero a block of the disk, as a file system does that lost it."""
    region, span = _aim(random, of)
    block = random.choice(_BLOCKS)
    start = random.randrange(span.start, span.end) // block * block
    length = min(block, len(of.new[span.file]) - start)
    return _written(of, "hole", region, span.file, start, bytes(length), "a hole in place of")


def moved(random: Random, of: Specimen) -> Fault:
    """Put a piece of the cache over another of the same length."""
    region, target = _aim(random, of)
    _, origin = _aim(random, of, region if random.random() < 0.7 else None)
    length = min(target.length, origin.length, random.choice([4, 8, 16, 64, 1 << 20]))
    start = random.randrange(target.start, target.end - length + 1)
    source = random.randrange(origin.start, origin.end - length + 1)
    piece = of.new[origin.file][source : source + length]
    return _written(of, "moved piece", region, target.file, start, piece, f"{origin.file} {source} over")


def other_build(random: Random, of: Specimen) -> Fault:
    """Put bytes of another build over those at the same place: a copy that ended in the middle."""
    region, span = _aim(random, of)
    build = random.choice(["old", "old", "sibling"])
    there = of.files[build].get(span.file, b"")
    start = random.randrange(span.start, span.end)
    length = random.choice([1, 4, 16, 64, 4096, 1 << 20])
    piece = there[start : start + length][: len(of.new[span.file]) - start]
    fault = _written(of, "other build's bytes", region, span.file, start, piece, f"the {build} build over")
    if of.files[build].get(span.file) == fault.edits[span.file] and span.file == "manifest.json":
        fault.build = build
    return fault


def exchanged(random: Random, of: Specimen) -> Fault:
    """Exchange two records, two index entries, or both, of one shard or of two of a field."""
    name = random.choice(sorted(of.layout.entries))
    entry, count = of.layout.entries[name]
    folder = name.rpartition("/")[0]
    others = [one for one in sorted(of.layout.entries) if one.startswith(folder + "/")]
    other = random.choice([name, random.choice(others)])
    first, second = random.randrange(count), random.randrange(of.layout.entries[other][1])
    which = random.choice(["records", "entries", "both"])
    data = {one: bytearray(of.new[one]) for one in (name, other)}
    size = entry_bytes(entry)
    pairs = []
    if which != "entries":
        pairs.append(
            tuple(
                record_spans(one, of.new[one], *of.layout.entries[one])[place]
                for one, place in ((name, first), (other, second))
            )
        )
    if which != "records":
        pairs.append(
            tuple(
                _entry(one, len(of.new[one]), of.layout.entries[one][1], size, place)
                for one, place in ((name, first), (other, second))
            )
        )
    for left, right in pairs:
        # Records of other lengths: as much as both have.
        length = min(left.length, right.length)
        a = of.new[left.file][left.start : left.start + length]
        b = of.new[right.file][right.start : right.start + length]
        data[left.file][left.start : left.start + length] = b
        data[right.file][right.start : right.start + length] = a
    region = "index" if which == "entries" else "payload"
    what = f"{which} {first} of {name} and {second} of {other} exchanged"
    return Fault(f"exchanged {which}", region, what, {one: bytes(content) for one, content in data.items()})


def renumbered(random: Random, of: Specimen) -> Fault:
    """Write another number into an index entry: a neighbour's, the next one, or that of another axis."""
    name = random.choice(sorted(of.layout.entries))
    entry, count = of.layout.entries[name]
    data = bytearray(of.new[name])
    size = entry_bytes(entry)
    place = random.randrange(count)
    span = _entry(name, len(data), count, size, place)
    widths = [4] if size == 4 else [8, 4, *[8] * ((size - 12) // 8)]
    slot = random.randrange(len(widths))
    at = span.start + sum(widths[:slot])
    width = widths[slot]
    other = _entry(name, len(data), count, size, random.randrange(count)).start + sum(widths[:slot])
    axes = [span.start + 12 + 8 * axis for axis in range(len(widths) - 2)]
    old = int.from_bytes(data[at : at + width], "little")
    choices = [
        data[other : other + width],
        (old + random.choice([1, -1, 8]) % 2**32).to_bytes(9, "little")[:width],
    ]
    if at in axes and len(axes) > 1:
        swapped = random.choice([axis for axis in axes if axis != at])
        data[at : at + 8], data[swapped : swapped + 8] = data[swapped : swapped + 8], data[at : at + 8]
        what = f"axes of entry {place} exchanged"
    else:
        data[at : at + width] = random.choice(choices)
        what = f"number {slot} of entry {place} was {old}"
    return Fault("index number", "index", f"{name}: {what}", {name: bytes(data)})


def many(random: Random, of: Specimen) -> Fault:
    """Do several of these at once, in any files."""
    parts = [random.choice([flip, run, hole, moved])(random, of) for _ in range(random.randrange(2, 5))]
    edits: dict[str, Content] = {}
    for part in parts:
        edits |= part.edits
    return Fault("several at once", "several", "; ".join(part.what for part in parts), edits)


def _entry(file: str, length: int, count: int, size: int, place: int) -> Span:
    start = length - (count - place) * size
    return Span(file, start, start + size)


def _aim(random: Random, of: Specimen, region: str | None = None) -> tuple[str, Span]:
    """Return a region by chance and a span of it by length."""
    spans = of.layout.spans
    if region is None:
        there = [one for one in CHANCES if one in spans]
        (region,) = random.choices(there, [CHANCES[one] for one in there])
    (span,) = random.choices(spans[region], [one.length for one in spans[region]])
    return region, span


def _written(of: Specimen, kind: str, region: str, file: str, start: int, fill: bytes, what: str) -> Fault:
    data = of.new[file]
    edited = data[:start] + fill + data[start + len(fill) :]
    return Fault(kind, region, f"{file}: {what} bytes {start} to {start + len(fill)}", {file: edited})


BY_CHANCE = [
    (flip, 40),
    (run, 15),
    (hole, 6),
    (moved, 10),
    (other_build, 8),
    (exchanged, 8),
    (renumbered, 6),
    (many, 3),
]
