"""``python -m demo.standin --port 0 [--log FILE]``."""

import argparse
from pathlib import Path

from demo.serving import serve
from demo.standin.app import create_app


def main() -> None:
    """Serve the model stand-in until Ctrl-C."""
    parser = argparse.ArgumentParser(prog="python -m demo.standin", description=main.__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8026, help="0 takes a free port")
    parser.add_argument("--log", type=Path, help="append every request and answer here, one JSON object a line")
    arguments = parser.parse_args()

    serve(create_app(arguments.log), arguments.host, arguments.port)


if __name__ == "__main__":
    main()
