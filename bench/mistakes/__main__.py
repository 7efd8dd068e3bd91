"""Make every mistake of the catalogue at a running stack, and then do as the message says.

    make mistakes
    make mistakes ARGS="--only role dialog --show"

A message is right if it says what is in the catalogue of cause and remedy, shows no structure of the program, ends with
the right exit status, and the mended task or command works. No model takes part.
"""

import argparse
import asyncio
import json
import sys

from rich.console import Console

from bench.mistakes.catalogue import MISTAKES
from bench.mistakes.trying import figures_of, run


def main() -> int:
    """Try, print, and return 1 if a message is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only these mistakes")
    parser.add_argument("--show", action="store_true", help="print every message")
    given = parser.parse_args()
    known = {mistake.name: mistake for mistake in MISTAKES}
    if unknown := set(given.only or ()) - set(known):
        parser.error(f"--only: no mistake is named {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    console = Console()
    results = asyncio.run(run([known[name] for name in given.only or known], console))
    figures = figures_of(results, console, shows_all=given.show)
    print(json.dumps(figures))
    return 0 if figures["diagnoses"] == figures["diagnoses_right"] else 1


if __name__ == "__main__":
    sys.exit(main())
