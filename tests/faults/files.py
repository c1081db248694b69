"""Faults of whole files: cut, grown, gone, exchanged, of another build, or no files at all."""

from __future__ import annotations

import os
from random import Random

from tests.faults.caches import Specimen
from tests.faults.fault import SPECIALS, Content, Fault, LinkTo


def truncated(random: Random, of: Specimen) -> Fault:
    """Cut the end of a file."""
    name = _file(random, of)
    length = len(of.new[name])
    lengths = [0, 1, 8, 63, 64, 72, length // 2, length - 4096, length - 8, length - 1]
    left = random.choice([cut for cut in [*lengths, random.randrange(length)] if 0 <= cut < length])
    return Fault("truncated", _what(name), f"{name} cut to {left} bytes", {name: of.new[name][:left]})


def extended(random: Random, of: Specimen) -> Fault:
    """Let a file grow."""
    name = _file(random, of)
    data = of.new[name]
    tail = random.choice([bytes(random.choice([1, 8, 4096])), random.randbytes(8), data, data[-8:]])
    place = random.choice([0, 64, len(data)])
    grown = data[:place] + tail + data[place:]
    return Fault("extended", _what(name), f"{name}: {len(tail)} bytes put in at {place}", {name: grown})


def replaced(random: Random, of: Specimen) -> Fault:
    """Put something that is no file, or nothing, in the place of a file."""
    name = _file(random, of)
    by = random.choice(SPECIALS)
    return Fault(by, _what(name), f"{by} in place of {name}", {name: by})


def linked(random: Random, of: Specimen) -> Fault:
    """Put a link to a file, the right one or another, in the place of a file."""
    name = _file(random, of)
    target = random.choice([name, _alike(random, of, name)])
    path = of.path / target
    return Fault("link", _what(name), f"{name} is a link to {target}", {name: LinkTo(str(path))})


def copied(random: Random, of: Specimen) -> Fault:
    """Put a copy of another file over a file: a shard twice, or another field's."""
    name = _file(random, of)
    other = _alike(random, of, name)
    return Fault("copy of another file", _what(name), f"{other} copied over {name}", {name: of.new[other]})


def swapped(random: Random, of: Specimen) -> Fault:
    """Exchange two files, of equal length if there are such."""
    name = _file(random, of)
    other = _alike(random, of, name)
    edits: dict[str, Content] = {name: of.new[other], other: of.new[name]}
    return Fault("exchanged files", _what(name), f"{name} and {other} exchanged", edits)


def foreign(random: Random, of: Specimen) -> Fault:
    """Take one file from another build."""
    build = random.choice(["old", "old", "sibling"])
    name = random.choice([one for one in of.new if one in of.files[build]])
    edits: dict[str, Content] = {name: of.files[build][name]}
    whose = build if name == "manifest.json" else "new"
    return Fault("file of another build", _what(name), f"{name} of the {build} build", edits, whose)


def mixed(random: Random, of: Specimen) -> Fault:
    """Take any subset of files from another build, under this manifest or that one."""
    build = random.choice(["old", "old", "sibling"])
    share = random.choice([0.1, 0.5, 0.9, 1.0])
    others = of.files[build]
    edits: dict[str, Content] = {
        name: data for name, data in sorted(others.items()) if name in of.new and random.random() < share
    }
    kept = random.choice([True, False])
    if kept:
        edits.pop("manifest.json", None)
    else:
        edits["manifest.json"] = others["manifest.json"]
    what = f"{len(edits)} of {len(of.new)} files of the {build} build, its manifest {'not ' * kept}among them"
    return Fault("mixed builds", "builds", what, edits, "new" if kept else build)


def added(random: Random, of: Specimen) -> Fault:
    """Put something beside the files that readers must not look at."""
    folder = random.choice(["", "fields/", random.choice(sorted(of.layout.entries)).rpartition("/")[0] + "/"])
    name = folder + random.choice(["notes.txt", "00099.shard", "manifest.json.tmp", ".hidden.swp"])
    content = random.choice([b"something", *SPECIALS[:6]])
    return Fault("added file", "beside", f"{content!r} at {name}", {name: content})


def directory(random: Random, of: Specimen) -> Fault:
    """Put something else in the place of a field's directory, of all of them, or of the cache."""
    fields = sorted({name.rpartition("/")[0] for name in of.layout.entries})
    name = random.choice(["", "fields", *[random.choice(fields)] * 4])
    paths = [
        of.path / random.choice(fields),
        of.path.parents[1] / "old" / of.path.name / name,
        of.path / name,
    ]
    by = random.choice([b"a file", *SPECIALS, *(LinkTo(str(path)) for path in paths)])
    # Not where this run's caches lie: the words are part of the digest of a run.
    told = f"a link to {os.path.relpath(by.target, of.path)}" if isinstance(by, LinkTo) else repr(by)
    what = f"{told} in place of directory {name or 'the cache'}"
    fault = Fault("directory", "directories", what, {name: by})
    if not name and isinstance(by, LinkTo) and by.target == str(paths[1]):
        fault.build = "old"
    return fault


def _file(random: Random, of: Specimen) -> str:
    """Return a file; manifest, metadata and dictionaries more often than by their number."""
    shards = sorted(of.layout.entries)
    others = [name for name in of.new if name not in of.layout.entries]
    return random.choice([random.choice(shards), random.choice(shards), random.choice(others)])


def _alike(random: Random, of: Specimen, name: str) -> str:
    """Return another file: one of the same length, of the same field, or any."""
    others = [one for one in of.new if one != name]
    same = [one for one in others if len(of.new[one]) == len(of.new[name])]
    near = [one for one in others if one.rpartition("/")[0] == name.rpartition("/")[0]]
    return random.choice(random.choice([same or others, near or others, others]))


def _what(name: str) -> str:
    if name.endswith(".shard"):
        return "file: shard"
    return {"manifest.json": "file: manifest", "metadata.arrow": "file: metadata"}.get(
        name, "file: dictionary"
    )


BY_CHANCE = [
    (truncated, 6),
    (extended, 4),
    (replaced, 8),
    (linked, 3),
    (copied, 4),
    (swapped, 4),
    (foreign, 5),
    (mixed, 4),
    (added, 2),
    (directory, 4),
]
