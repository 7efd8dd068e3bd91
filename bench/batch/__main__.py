"""How fast a batch goes, what it takes and how large its histories are, with real servers.

    make bench-batch                                              # 2,000 rows, 32 at a time, browsers played
    make bench-batch ARGS="--rows 200"
    make bench-batch ARGS="--tier requests --rows 5000 --kills 10" # rows by requests on a site, workers killed

With `--tier requests` a site, workers and browsers are real too: two runs of the page show the requests, a worker is
killed at random moments, and the site says in the end what it was sent.
"""

import argparse
import asyncio
import json
import sys

from rich.console import Console

from bench.batch import by_requests, played
from bench.truth.tasks import REAL, SHORT

PARALLEL = {"page": 32, "requests": 16}


def main() -> int:
    """Measure, print a table, and as the last line the figures as JSON; 1 if a row was not done once."""
    parser = argparse.ArgumentParser(
        prog="make bench-batch", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tier", choices=tuple(PARALLEL), default="page", help="page: played by a script (default)")
    parser.add_argument("--rows", type=int, default=2_000, help="rows of the batch (default: %(default)s)")
    parser.add_argument("--parallel", type=int, help="rows at the same time (default: 32, by requests 16)")
    parser.add_argument("--kills", type=int, default=0, help="by requests: workers that are killed meanwhile")
    parser.add_argument("--workers", type=int, default=2, help="by requests (default: %(default)s)")
    parser.add_argument("--impatient", action="store_true", help="by requests: shorter `in_flight_ms`, as `make truth`")
    parser.add_argument("--seed", type=int, default=1, help="decides when workers are killed (default: %(default)s)")
    given = parser.parse_args()
    parallel = PARALLEL[given.tier] if given.parallel is None else given.parallel
    if min(given.rows, parallel, given.workers) < 1 or given.kills < 0:
        parser.error("--rows, --parallel and --workers: expected 1 or more; --kills: 0 or more")
    console = Console(width=160)
    if given.tier == "page":
        figures = asyncio.run(played.measured(given.rows, parallel, console))
    else:
        asked = by_requests.Asked(
            given.rows, parallel, given.workers, given.kills, given.seed, SHORT if given.impatient else REAL
        )
        figures = asyncio.run(by_requests.measured(asked, console))
    print(json.dumps(figures))
    return 1 if figures.get("wrong") else 0


if __name__ == "__main__":
    sys.exit(main())
