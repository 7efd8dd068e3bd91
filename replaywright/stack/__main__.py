"""Print the path of a Chromium, installing one if need be: what `make setup` needs before anything runs."""

import sys

from replaywright.errors import ReplaywrightError
from replaywright.settings import load_settings
from replaywright.stack.chromium import find_chromium


def main() -> int:
    """Return the exit status: 0 when a Chromium that starts is there now."""
    try:
        chromium = find_chromium(load_settings().chromium, tell=lambda text: print(text, file=sys.stderr, flush=True))
    except ReplaywrightError as exc:
        print(exc, file=sys.stderr)
        return 1
    print(f"{chromium.path} ({chromium.version})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
