"""`python -m replaywright` is `replaywright`."""

from replaywright.cli import main

if __name__ == "__main__":
    main()
