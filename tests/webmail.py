"""The webmail of the demo in a process of its own."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]


@contextmanager
def webmail(store: Path, password: str, *arguments: str) -> Iterator[str]:
    """Yield the address of a webmail that keeps its mails in `store`."""
    with program("demo.webmail", "--store", str(store), *arguments, WEBMAIL_PASSWORD=password) as url:
        yield url


@contextmanager
def program(module: str, *arguments: str, **variables: str) -> Iterator[str]:
    """Yield the address that a program of the demo serves; ended by SIGTERM, it exits with 0."""
    command = [sys.executable, "-m", module, "--port", "0", *arguments]
    environment = {**os.environ, **variables}
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())["url"]
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=10) == 0
