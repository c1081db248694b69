"""The work of one process: a single system on a single case of a suite. It prints one line of JSON.

python -m benchmarks.measure SUITE prepare|measure PEER CASE FOLDER SECONDS [smoke]
"""

import json
import sys
from pathlib import Path

from benchmarks.suite import Job
from benchmarks.suites import SUITES


def main() -> None:
    """Do as the arguments say."""
    suite, action, peer, case, folder, seconds, *smoke = sys.argv[1:]
    job = Job(peer, case, Path(folder), float(seconds), bool(smoke))
    if action == "measure":
        print(json.dumps(SUITES[suite].measure(job)))
    else:
        job.folder.mkdir(parents=True)
        SUITES[suite].prepare(job)
        print("{}")


if __name__ == "__main__":
    main()
