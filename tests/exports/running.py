"""Runs exported scripts as their users do: each in a process of its own, with the tests' Chromium."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.exports.node_packages import node_packages

ROOT = Path(__file__).parents[2]
RUNNER = ROOT / "examples" / "replay_recording.mjs"
PASSWORD = "open sesame 42"
_LIMIT_S = 300
_CONFIG = """\
{"compilerOptions": {"strict": true, "noEmit": true, "noUnusedLocals": true, "noUnusedParameters": true,
 "target": "ES2022", "module": "NodeNext", "moduleResolution": "NodeNext", "types": ["node"], "skipLibCheck": true,
 "lib": ["ES2022", "DOM", "DOM.Iterable"]}, "include": ["*.spec.ts"]}
"""


class Runs:
    """A folder for scripts, and the environment that they are run with."""

    def __init__(self, folder: Path, chromium: Path, **variables: str) -> None:
        self.folder = folder
        self._environment = {
            **os.environ,
            "CHROMIUM_PATH": str(chromium),
            "CHROMIUM_ARGS": "--no-sandbox",
            "NO_PROXY": "127.0.0.1,localhost",
            "PYTHONPATH": "",
            **variables,
        }

    def python(self, text: str, *arguments: str, given: str = "") -> str:
        """Run a program; its standard output."""
        return self._run([sys.executable, "-P", str(self._file("script.py", text)), *arguments], given=given)

    def pytest(self, text: str, **variables: str) -> str:
        """Run a module of tests; its standard output."""
        file = self._file("test_script.py", text)
        command = [sys.executable, "-P", "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", "-c", os.devnull]
        return self._run([*command, f"--rootdir={self.folder}", str(file)], variables)

    def typescript(self, text: str, **variables: str) -> str:
        """Check the types of a test and run it; its standard output."""
        self.checks_types(text)
        modules = self._modules()
        self._file("playwright.config.ts", "export default { testDir: '.', reporter: 'line', workers: 1 };\n")
        return self._run(["node", str(modules / "@playwright/test/cli.js"), "test"], variables)

    def checks_types(self, text: str) -> None:
        """See that the compiler has nothing to say of a test."""
        modules = self._modules()
        self._file("script.spec.ts", text)
        self._file("tsconfig.json", _CONFIG)
        self._run(["node", str(modules / "typescript/lib/tsc.js"), "-p", "tsconfig.json"])

    def devtools(self, text: str, **variables: str) -> str:
        """Run a recording; its standard output."""
        self._modules()
        runner = self._file("replay.mjs", RUNNER.read_text(encoding="utf-8"))
        return self._run(["node", str(runner), str(self._file("recording.json", text))], variables)

    def _modules(self) -> Path:
        """Node's packages, beside the scripts."""
        here = self.folder / "node_modules"
        if not here.exists():
            here.symlink_to(node_packages() / "node_modules")
        return here

    def _file(self, name: str, text: str) -> Path:
        file = self.folder / name
        file.write_text(text, encoding="utf-8", newline="\n")
        return file

    def _run(self, command: list[str], variables: Mapping[str, str] | None = None, given: str = "") -> str:
        done = subprocess.run(
            command,
            cwd=self.folder,
            env={**self._environment, **(variables or {})},
            input=given,
            capture_output=True,
            text=True,
            timeout=_LIMIT_S,
            check=False,
        )
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
        return done.stdout
