"""Pages and tools that nobody here wrote, each in an environment of its own: never in ours, never in the tree.

    python -m bench.environments [NAME …]     makes them; nothing to do where they exist

`environment(name)` makes one on first use: a virtual environment from `bench/requirements/NAME.txt`, a `node_modules`
from `bench/requirements/NAME/package-lock.json`, or the files of Debian's packages from
`bench/requirements/NAME/packages.txt`. Hashes pin every file in all three, and nobody's scripts are run. Afterwards it
costs one look at a file. A changed requirements file makes a new one.
"""

import contextlib
import fcntl
import hashlib
import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import venv
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Literal, get_args

Name = Literal[
    "django-old",
    "django-new",
    "django-skins",
    "miniwob",
    "nicegui",
    "streamlit",
    "dash",
    "browser-use",
    "workflow-use",
    "stagehand",
    "hyperagent",
    "datasette",
    "datasette-new",
    "locust",
    "locust-old",
    "jupyterlab",
    "jupyterlab-old",
    "node-red",
    "node-red-old",
    "sqlite-web",
    "sqlite-web-old",
    "radicale",
    "radicale-old",
    "trac",
    "wagtail",
    "wagtail-old",
    "tiddlywiki",
    "tiddlywiki-old",
    "fava",
    "optuna",
    "marimo",
    "supervisor",
    "fossil",
    "adminer",
    "ocr",
    "tesseract",
]

NAMES: tuple[Name, ...] = get_args(Name)
"""`miniwob` has no dependencies installed: nothing of it is run, its pages are served."""

_NEEDS: dict[str, tuple[int, int]] = {"workflow-use": (3, 12)}
"""The first Python that reads it, where ours may not: workflow-use 0.2.11 asks for 3.11, and is not written in it."""
_LATER = ("python3.12", "python3.13")
"""What is looked for on PATH then; not all that it needs has wheels for later ones."""
_HERE = Path(__file__).parent
_HOME = _HERE.parent / ".environments"
_STAMP = "installed"
_PACKAGES = "packages.txt"
"""Lines of `NAME=VERSION sha256:DIGEST`."""


class EnvironmentFailed(Exception):
    """An environment cannot be made; the message says why and what to do."""


def environment(name: Name, *, home: Path = _HOME) -> Path:
    """Return the folder of the environment; make it, if it is not there or its requirements have changed.

    Python programs are run as `bin/python -m …`: scripts in `bin` name the folder that the environment was made in.
    Several processes may ask at the same time; one makes it and the others wait.

    Raises:
        EnvironmentFailed: there is no such name, or pip or npm could not install it; nothing is left behind.
    """
    if name not in NAMES:
        raise EnvironmentFailed(f"no environment is named {name!r}; there are {', '.join(NAMES)}")
    folder, wanted = home / name, _wanted(name)
    if not _is_made(folder, wanted):
        home.mkdir(exist_ok=True)
        with _only_one(home / f"{name}.lock"):
            if not _is_made(folder, wanted):
                _make(name, folder, wanted)
    return folder


def _wanted(name: Name) -> str:
    """What an environment must have been made from: these requirements, this Python where they are for Python."""
    interpreter = "" if _is_node(name) or _is_debian(name) else f"{sys.implementation.cache_tag} {sys.base_prefix}\n"
    return hashlib.sha256(interpreter.encode() + _requirements(name).read_bytes()).hexdigest()


def _is_node(name: Name) -> bool:
    return (_HERE / "requirements" / name / "package-lock.json").is_file()


def _is_debian(name: Name) -> bool:
    return (_HERE / "requirements" / name / _PACKAGES).is_file()


def _requirements(name: Name) -> Path:
    """What pins every file."""
    if _is_node(name):
        return _HERE / "requirements" / name / "package-lock.json"
    if _is_debian(name):
        return _HERE / "requirements" / name / _PACKAGES
    return _HERE / "requirements" / f"{name}.txt"


def _is_made(folder: Path, wanted: str) -> bool:
    try:
        return (folder / _STAMP).read_text(encoding="ascii") == wanted
    except FileNotFoundError:
        return False


@contextlib.contextmanager
def _only_one(lock: Path) -> Iterator[None]:
    """Hold the lock; the kernel takes it from a process that dies."""
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _make(name: Name, folder: Path, wanted: str) -> None:
    """Build it beside its place and rename it, so that what is there is whole."""
    _say(f"making the environment {name} in {folder} …")
    with tempfile.TemporaryDirectory(prefix=f"{name}-", dir=folder.parent, ignore_cleanup_errors=True) as workshop:
        new = Path(workshop) / name
        if _is_node(name):
            shutil.copytree(_requirements(name).parent, new)
            _install_node(name, new)
        elif _is_debian(name):
            shutil.copytree(_requirements(name).parent, new)
            _install_debian(name, new, Path(workshop))
        else:
            _create(name, new)
            _install(name, new)
        (new / _STAMP).write_text(wanted, encoding="ascii")
        if folder.exists():
            shutil.move(folder, Path(workshop) / "old")
        new.rename(folder)
    _say(f"the environment {name} is made")


def _create(name: Name, folder: Path) -> None:
    """Make an empty virtual environment, of our own Python if that will do."""
    needs = _NEEDS.get(name, (3, 11))
    if sys.version_info[:2] >= needs:
        venv.create(folder, with_pip=False, symlinks=True)
        return
    for interpreter in filter(None, map(shutil.which, _LATER)):
        made = subprocess.run([interpreter, "-m", "venv", "--without-pip", folder], capture_output=True, check=False)
        if made.returncode == 0:  # pyenv's placeholders are on PATH for what it does not run
            return
    version = ".".join(map(str, needs))
    raise EnvironmentFailed(f"the environment {name!r} needs Python {version}: put one of {', '.join(_LATER)} on PATH")


def _install(name: Name, folder: Path) -> None:
    """Install with our own pip, so that no environment needs one.

    Dependencies are in the file or not wanted; wheels only, so that nobody's setup script is run.
    """
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "--disable-pip-version-check"]
    how = ["--quiet", "--no-deps", "--only-binary=:all:", "--require-hashes"]
    command = [*pip, "install", *how, "--requirement", str(_requirements(name))]
    _run(name, command, "a package index that pip can reach (pip config, PIP_INDEX_URL or PIP_FIND_LINKS)")


def _install_node(name: Name, folder: Path) -> None:
    """Install just what the lock names; nobody's scripts are run, and no browser is fetched."""
    npm = shutil.which("npm")
    if npm is None:
        raise EnvironmentFailed(f"the environment {name!r} needs Node.js with npm, and there is no npm on PATH")
    command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", str(folder.resolve())]
    _run(name, command, "a registry that npm can reach (npm config get registry)")


def _install_debian(name: Name, folder: Path, workshop: Path) -> None:
    """Unpack just the packages that are listed; nothing is installed on the machine."""
    for command in ("apt-get", "dpkg"):
        if shutil.which(command) is None:
            raise EnvironmentFailed(f"the environment {name!r} needs Debian's {command}, and there is none on PATH")
    for line in _requirements(name).read_text(encoding="ascii").splitlines():
        package, _, digest = line.partition(" sha256:")
        before = set(workshop.glob("*.deb"))
        _run(name, ["apt-get", "download", package], "Debian's packages (apt-get update)", within=workshop)
        [file] = set(workshop.glob("*.deb")) - before
        if hashlib.sha256(file.read_bytes()).hexdigest() != digest:
            raise EnvironmentFailed(f"{file.name} is not the package that {_requirements(name)} pins")
        _run(name, ["dpkg", "-x", str(file), str(folder)], "room on the disk")


def _run(name: Name, command: list[str], needs: str, within: Path | None = None) -> None:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, cwd=within)
    if done.returncode:
        tool = "npm" if _is_node(name) else command[0] if _is_debian(name) else "pip"
        raise EnvironmentFailed(
            f"{tool} could not install the environment {name!r} from "
            f"{_requirements(name)}:\n{done.stdout.strip()}\nIt needs {needs}. "
            f"Then: {Path(sys.executable).name} -m bench.environments {name}"
        )


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def version_in(folder: Path, package: str) -> str:
    """The version of a package that is installed in an environment."""
    manifest = folder / "node_modules" / package / "package.json"
    if manifest.is_file():
        told: dict[str, str] = json.loads(manifest.read_text(encoding="utf-8"))
        return told["version"]
    if (folder / _PACKAGES).is_file():
        lines = (folder / _PACKAGES).read_text(encoding="ascii").splitlines()
        [version] = [line.split()[0].partition("=")[2] for line in lines if line.startswith(f"{package}=")]
        return version
    [found] = importlib.metadata.distributions(name=package, path=[str(site_packages(folder))])
    return found.version


def site_packages(folder: Path) -> Path:
    """Where the packages of an environment are."""
    (found,) = folder.glob("lib/python*/site-packages")
    return found


def miniwob_pages() -> Path:
    """Return the folder to serve: the tasks are `miniwob/NAME.html` in it, and refer to `core` beside that."""
    return site_packages(environment("miniwob")) / "miniwob" / "html"


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  named by the base class
        """Print nothing: a page has many parts."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: object, client_address: object) -> None:
        """Print a fault, unless it is a browser that leaves while it is served."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]  # as the base class gave it


@contextlib.contextmanager
def serve_folder(folder: Path) -> Iterator[str]:
    """Serve the files of a folder on a free port of loopback; yields the address, without a slash at its end."""
    with _Server(("127.0.0.1", 0), partial(_Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def main(arguments: list[str]) -> int:
    """Make the environments of these names, or all; 1 if one could not be made."""
    for name in arguments or NAMES:
        try:
            print(environment(name))  # type: ignore[arg-type]  # an unknown name is refused with the names there are
        except EnvironmentFailed as error:
            _say(str(error))
            return 1
    return os.EX_OK


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
