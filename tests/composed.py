"""The services of docker-compose.yml as plain processes: with the variables, commands and health checks that it gives.

What only a container has, names of other services and paths of mounts, is replaced by what is there instead. The
environment is the service's alone: of the process that runs the tests it has only where Python's packages are.
"""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ops.check_compose import ROOT
from ops.compose_file import read
from replaywright.stack import Child, start_child


def image_environment(dockerfile: Path = ROOT / "Dockerfile") -> dict[str, str]:
    """The variables that the last stage of a Dockerfile sets."""
    last_stage = dockerfile.read_text(encoding="utf-8").rpartition("\nFROM ")[2]
    found: dict[str, str] = {}
    for instruction in re.findall(r"^ENV ((?:.*\\\n)*.*)", last_stage, re.MULTILINE):
        for word in shlex.split(instruction.replace("\\\n", " ")):
            name, _, value = word.partition("=")
            found[name] = value
    return found


def image_instruction(name: str, dockerfile: Path = ROOT / "Dockerfile") -> list[str]:
    """The words of `ENTRYPOINT`, `CMD`, or of `HEALTHCHECK`'s command."""
    text = dockerfile.read_text(encoding="utf-8")
    match = re.findall(rf"^{name}\b[^\[\n]*(?:\\\n[^\[\n]*)?(\[.*\])", text, re.MULTILINE)
    words: list[str] = json.loads(match[-1])
    return words


class Composed:
    """The services, with what stands for the containers' surroundings."""

    def __init__(self, folder: Path, places: Mapping[str, str], environ: Mapping[str, str]) -> None:
        """`places`: what is written in the file → what is there; `environ`: what fills in its variables."""
        data: dict[str, Any] = read((ROOT / "docker-compose.yml").read_text(encoding="utf-8"), environ)
        self.services: dict[str, Any] = data["services"]
        self.networks: dict[str, Any] = data["networks"]
        self.folder = folder
        self._places = dict(places)

    def environment(self, service: str, **more: str) -> dict[str, str]:
        """What the container would have, and `more` in place of it."""
        declared = self.services[service].get("environment", {})
        given = {**image_environment(), **{name: str(value) for name, value in declared.items()}}
        for file in self.services[service].get("env_file", []):
            given |= _lines(Path(self._mapped(file["path"], service)))
        return {**{name: self._mapped(value, service) for name, value in given.items()}, **more}

    def words(self, service: str, words: list[str]) -> list[str]:
        """A command of this service with everything in its place."""
        return [self._mapped(word, service) for word in words]

    def start(self, service: str, program: list[str], arguments: list[str], **more: str) -> Child:
        """Start `program` in place of the entry point, with the service's environment and nothing else."""
        variables = self.environment(service, **more)
        for name in ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH"):
            if name in os.environ:
                variables[name] = os.environ[name]
        given = [f"{name}={value}" for name, value in variables.items()]
        command = ["/usr/bin/env", "--ignore-environment", *given, *program, *self.words(service, arguments)]
        return start_child(service, command, log=self.folder / f"{service}.log")

    def start_worker(self, service: str, **more: str) -> Child:
        """Start the image's entry point with the service's command."""
        assert image_instruction("ENTRYPOINT") == ["replaywright-worker"]
        program = [sys.executable, "-P", "-m", "worker"]
        return self.start(service, program, self.services[service]["command"], **more)

    def is_healthy(self, service: str) -> bool:
        """Whether the service's own health check says so, run once."""
        kind, *words = self.services[service]["healthcheck"]["test"]
        assert kind == "CMD"
        run = subprocess.run(self.words(service, words), capture_output=True, check=False, timeout=10)
        return run.returncode == 0

    def _mapped(self, text: str, service: str) -> str:
        own = self.folder / service
        own.mkdir(mode=0o700, exist_ok=True)
        places = {
            "/run/replaywright": str(own),
            "/var/lib/replaywright": str(own),
            "/home/replaywright": str(own),
            **self._places,
        }
        for written, there in places.items():
            text = text.replace(written, there)
        return text


def _lines(file: Path) -> dict[str, str]:
    if not file.exists():
        return {}
    return dict(line.split("=", 1) for line in file.read_text(encoding="utf-8").splitlines() if "=" in line)
