"""`python -m replaywright.keeper --dir SESSION_DIR --options JSON`: run one session keeper."""

import argparse
import asyncio
import json
import logging
import os
import stat
import sys
from pathlib import Path

from replaywright.children import write_no_core_files
from replaywright.keeper.process import Keeper
from replaywright.keeper.protocol import KeeperOptions

MAX_LOG_BYTES = 512 * 1024


class _BoundedStderr(logging.StreamHandler):  # type: ignore[type-arg]  # generic only in the type stubs
    """Writes to stderr; where that is a file that has grown too long, its older half is dropped."""

    def emit(self, record: logging.LogRecord) -> None:
        super().emit(record)
        status = os.fstat(2)
        if stat.S_ISREG(status.st_mode) and status.st_size > MAX_LOG_BYTES:
            path = Path(f"/proc/{os.getpid()}/fd/2")
            kept = path.read_bytes()[-MAX_LOG_BYTES // 2 :]
            os.ftruncate(2, 0)
            os.write(2, kept)


def _options_in(argument: str, secret: bytes) -> KeeperOptions:
    """Return the options of the argument or its file, with the secret ones."""
    text = Path(argument[1:]).read_text("utf-8") if argument.startswith("@") else argument
    return KeeperOptions.model_validate(json.loads(text) | json.loads(secret))


def main() -> int:
    """Detach from the launcher and keep the session; return the exit code."""
    parser = argparse.ArgumentParser(prog="replaywright.keeper", description="Keep one browser session.")
    parser.add_argument("--dir", type=Path, required=True, help="the session's directory; made if need be")
    parser.add_argument("--options", required=True, help="options as JSON, or @FILE")
    parser.add_argument("--secret-options", action="store_true", help="read the options that no file has from stdin")
    parser.add_argument("--ready-fd", type=int, help="file descriptor that gets a line when workers can attach")
    parser.add_argument("--detach", action="store_true", help="go on in a child process of nobody")
    arguments = parser.parse_args()
    if arguments.detach and os.fork():
        os._exit(0)  # without flushing and clean-up: that is the child's
    os.umask(0o077)
    write_no_core_files()
    options = _options_in(arguments.options, sys.stdin.buffer.read() if arguments.secret_options else b"{}")
    arguments.dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", handlers=[_BoundedStderr()])

    async def run() -> int:
        return await Keeper(arguments.dir, options).run(arguments.ready_fd)

    return asyncio.run(run())


if __name__ == "__main__":
    sys.exit(main())
