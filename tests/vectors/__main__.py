"""``python -m tests.vectors``: makes the vectors of dsrt-format, all the same bytes whenever and wherever.

Without arguments it adds those that are not there yet, and fills in the tables of docs/spec/vectors.md.
``--check`` changes nothing and says in what the shipped files differ from those that are made.
``--record`` also keeps what zstd and Arrow made for the first time, in tests/rules/recorded.json.
"""

from __future__ import annotations

import argparse
import json
import sys

from tests.rules.recorded import FILE, FRESH, KNOWN
from tests.vectors import page, shipped


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.vectors", description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    files = dict(shipped.made())
    if FRESH and options.record:
        FILE.write_text(json.dumps(KNOWN | FRESH, indent=1, sort_keys=True) + "\n")
    elif FRESH:
        print(f"{len(FRESH)} frames or dictionaries are made by this machine's libraries; use --record")
        return 1
    if options.check:
        wrong = shipped.differences(files)
        wrong += (
            [] if page.PAGE.read_text() == page.filled(page.PAGE.read_text()) else [f"{page.PAGE} is old"]
        )
        print("\n".join(wrong) or f"{len(files)} files are what they were")
        return 1 if wrong else 0
    print(f"{shipped.add(files)} files added to {len(files)}")
    page.PAGE.write_text(page.filled(page.PAGE.read_text()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
