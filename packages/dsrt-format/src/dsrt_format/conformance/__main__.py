"""``python -m dsrt_format.conformance COMMAND...``: show all vectors to a program that reads caches."""

import argparse
import shutil
import sys

from dsrt_format.conformance.program import Program
from dsrt_format.conformance.run import run
from dsrt_format.conformance.vectors import matching

_PROTOCOL = """\
COMMAND is started as COMMAND CACHE for each vector and prints lines of JSON (UTF-8) on its standard output:

  {"samples": 5}                                                    first, once it has opened the cache;
                                                                    "cache_id": 123 may stand beside it
  {"field": "x", "sample": 0, "shape": [2, 3], "hex": "00ff.."}     each record of each field, in any order
  {"field": "x", "blake3": "64 hex digits"}                         or all records of a field at once
  {"column": "label", "values": ["05000000", null]}                 each metadata column
  {"column": "label", "blake3": "64 hex digits"}                    or all its values at once
  {"rule": "R033", "message": "..."}                                last, where it refuses and reads no more
  {"rule": "R033", "message": "...", "field": "x", "sample": 3}     or of one record, and it reads on

and ends with exit code 0 in each case; docs/spec/vectors.md explains every line.
Exit codes here: 0 it conforms, 1 it does not, 2 wrong arguments.
"""


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line and return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m dsrt_format.conformance",
        description="Show all vectors of the DSRT format to a reader.",
        epilog=_PROTOCOL,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--only", action="append", metavar="NAME", help="vectors of this name or pattern; may be repeated"
    )
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds for one vector (60)")
    parser.add_argument(
        "--list", action="store_true", help="print the names of the vectors that would be shown, and end"
    )
    parser.add_argument("command", nargs=argparse.REMAINDER, help="the program and its arguments")
    options = parser.parse_args(arguments)
    try:
        shown = matching(options.only)
    except ValueError as error:
        parser.error(f"{error}; --list alone prints the names of all")
    if options.list:
        print("\n".join(shown))
        return 0
    if not options.command:
        parser.error("which program? For example: node reader.js")
    if shutil.which(options.command[0]) is None:
        parser.error(f"there is no program {options.command[0]!r}")
    problems = run(Program(options.command, options.timeout), only=options.only)
    for problem in problems:
        print(problem)
    wrong = len({problem.vector for problem in problems})
    if wrong:
        print(f"{wrong} of {len(shown)} vectors have wrong answers")
    else:
        print(f"all {len(shown)} answers are right")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
