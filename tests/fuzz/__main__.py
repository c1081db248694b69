"""Fuzzes the plain implementation: `python -m tests.fuzz TARGET [options of libFuzzer] [folders]`.

Needs atheris; `nox -s fuzz` installs it.
"""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["dsrt_format"]):
    from tests.fuzz import targets


def main() -> None:
    """Never returns: libFuzzer ends the process."""
    name = sys.argv.pop(1)
    if name not in targets.NAMES:
        raise SystemExit(f"{name!r} is no target; they are {', '.join(targets.NAMES)}")
    atheris.Setup(sys.argv, targets.target(name))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
