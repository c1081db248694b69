"""What lies on the disk after a run: a whole cache or none, leftovers, and what the journal holds."""

import hashlib
import json
import stat
from pathlib import Path

import google_crc32c

TARGET = "target"
WORK = ".target.building"

Image = dict[str, str]


def image(path: Path) -> Image:
    """Return digest and mode of every file below a directory, and the mode of every directory, by name."""
    found = {}
    for one in sorted(path.rglob("*")):
        status = one.lstat()
        mode = stat.filemode(status.st_mode)
        digest = hashlib.blake2b(one.read_bytes()).hexdigest() if stat.S_ISREG(status.st_mode) else ""
        found[str(one.relative_to(path))] = f"{mode} {digest}"
    return found


def names(root: Path) -> list[str]:
    """Return what lies in a directory, hidden or not."""
    return sorted(one.name for one in root.iterdir())


def journalled(root: Path, fingerprint: str | None = None) -> int:
    """Return how many samples the journal says are durable, of any plan or of the one with a fingerprint."""
    try:
        lines = (root / WORK / "journal").read_bytes().split(b"\n")[:-1]
    except FileNotFoundError:
        return 0
    good = []
    for line in lines:
        if len(line) < 9 or line[:8] != b"%08x" % google_crc32c.value(line[9:]):
            break
        good.append(json.loads(line[9:]))
    if not good or (fingerprint is not None and good[0]["fingerprint"] != fingerprint):
        return 0
    return sum(entry.get("samples", 0) for entry in good[1:])
