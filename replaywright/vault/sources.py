"""Sources of a secret: a variable, a file or command that a variable names, or a file of the home."""

import os
import re
import shlex
import signal
import stat
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from replaywright.children import for_command
from replaywright.domain.common.templates import ITEM_NAME, SECRET_PREFIX
from replaywright.domain.secrets.secret_sites import Site, sites_in
from replaywright.errors import InputInvalid, SecretMissing, SettingsInvalid
from replaywright.grants import read_grants

FILE_SUFFIX = "_FILE"
"""`REPLAYWRIGHT_SECRET_NAME_FILE` names a file that holds the value, as Docker and Kubernetes mount them."""
COMMAND_SUFFIX = "_COMMAND"
"""`REPLAYWRIGHT_SECRET_NAME_COMMAND` is a command that prints the value: split like a shell's line, run without one."""
DOMAINS_SUFFIX = "_DOMAINS"
"""`REPLAYWRIGHT_SECRET_NAME_DOMAINS` binds the secret to hosts, beside the grants of the home."""
SUFFIXES = (FILE_SUFFIX, COMMAND_SUFFIX, DOMAINS_SUFFIX)
COMMAND_LIMIT_S = 10.0
OUTPUT_LIMIT = 65_536
"""Bytes of what a command prints, or a file holds."""
_OPEN_TO_OTHERS = stat.S_IRWXG | stat.S_IRWXO


@dataclass(frozen=True)
class SecretSource:
    """Configuration of one secret."""

    name: str
    variable: str
    """Name of the variable; of a file of the home its path."""
    given: str
    """Content of the variable: for the kind `environment` the value itself."""

    @property
    def kind(self) -> str:
        """`environment`, `file` or `command`."""
        if self.variable == SECRET_PREFIX + self.name:
            return "environment"
        return "command" if self.variable.endswith(COMMAND_SUFFIX) and not self._is_of_home else "file"

    @property
    def _is_of_home(self) -> bool:
        return self.variable == self.given

    @property
    def shown(self) -> str:
        """Text for people: the file's path, or the program without its arguments, which may be secret too."""
        match self.kind:
            case "environment":
                return self.variable
            case "file":
                return self.given
            case _:
                return Path(_argv(self)[0]).name

    def read(self, environ: Mapping[str, str]) -> str:
        """Read the value.

        Raises:
            SecretMissing: there is none; names the variable, and for a command its exit code, never what it printed.
        """
        match self.kind:
            case "environment":
                return self.given
            case "file":
                return self._content()
            case _:
                return self._printed(environ)

    def _content(self) -> str:
        try:
            with Path(self.given).open("rb") as stream:
                if self._is_of_home and os.fstat(stream.fileno()).st_mode & _OPEN_TO_OTHERS:
                    raise SecretMissing(f"secret {self.name!r}: others may read {self.given!r}: chmod 600 it")
                data = stream.read(OUTPUT_LIMIT + 1)
            value = "" if len(data) > OUTPUT_LIMIT else without_line_break(data.decode())
        except (OSError, ValueError):
            value = ""
        if not value:
            where = f"{self.given!r}" if self._is_of_home else f"{self.variable} names {self.given!r}, which"
            raise SecretMissing(
                f"secret {self.name!r}: {where} is empty or unreadable, or has more than {OUTPUT_LIMIT} bytes"
            )
        return value

    def _printed(self, environ: Mapping[str, str]) -> str:
        where = f"secret {self.name!r}: the command in {self.variable}"
        try:
            with subprocess.Popen(
                _argv(self),
                env=for_command(environ),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            ) as process:
                try:
                    printed, _ = process.communicate(timeout=COMMAND_LIMIT_S)
                except subprocess.TimeoutExpired:
                    _end(process)
                    raise
        except subprocess.TimeoutExpired:
            raise SecretMissing(f"{where} did not end within {COMMAND_LIMIT_S:g} s") from None
        except OSError as exc:
            raise SecretMissing(f"{where} cannot be run: {exc.strerror}") from None
        if process.returncode:
            raise SecretMissing(f"{where} ended with exit code {process.returncode}")
        try:
            value = without_line_break(printed.decode())
        except UnicodeDecodeError:
            raise SecretMissing(f"{where} printed something that is no UTF-8 text") from None
        if not value or len(printed) > OUTPUT_LIMIT:
            what = f"more than {OUTPUT_LIMIT} bytes" if value else "nothing"
            raise SecretMissing(f"{where} printed {what}")
        return value


def secrets_folder(home: Path) -> Path:
    """Return the folder of the files that hold secrets of `home`, each named as its secret."""
    return home / "secrets"


def keep_secret(name: str, value: str, home: Path) -> Path:
    """Write the value into its file of `home`, which its owner alone may read; return the file.

    Raises:
        InputInvalid: it is no name of a secret, or the value is empty or too long.
        SettingsInvalid: nothing can be written there.
    """
    if not re.fullmatch(ITEM_NAME, name) or name.endswith(SUFFIXES):
        raise InputInvalid(f"{name!r} is no name of a secret: expected letters, digits and _, no digit first")
    if not 0 < len(value.encode()) <= OUTPUT_LIMIT:
        raise InputInvalid(f"secret {name!r}: expected a value of 1 to {OUTPUT_LIMIT} bytes")
    file = secrets_folder(home) / name
    draft = file.with_name(f".{name}.{os.getpid()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "w") as stream:
            stream.write(value)
        draft.replace(file)
    except OSError as exc:
        raise SettingsInvalid(f"{file}: cannot be written: {exc.strerror}; set REPLAYWRIGHT_HOME") from exc
    return file


def sources_of(name: str, environ: Mapping[str, str], home: Path | None) -> list[SecretSource]:
    """Return all sources of the secret `name`, of which there should be one."""
    variables = (f"{SECRET_PREFIX}{name}{suffix}" for suffix in ("", FILE_SUFFIX, COMMAND_SUFFIX))
    found = [SecretSource(name, variable, given) for variable in variables if (given := environ.get(variable, ""))]
    if home is not None and (file := secrets_folder(home) / name).exists():
        found.append(SecretSource(name, str(file), str(file)))
    return found


def source_of(name: str, environ: Mapping[str, str], home: Path | None) -> SecretSource:
    """Return the one source of the secret `name`.

    Raises:
        SecretMissing: there is none, or more than one; names the variables.
    """
    variable = SECRET_PREFIX + name
    if name.endswith(SUFFIXES):
        raise SecretMissing(f"{name!r} is no name of a secret: {variable} says something about another one")
    found = sources_of(name, environ, home)
    if len(found) > 1:
        both = " and ".join(source.variable for source in found)
        raise SecretMissing(f"secret {name!r}: {both} are set; keep one and remove the rest")
    if not found:
        raise SecretMissing(
            f"secret {name!r} has no value here: `replaywright admin secrets set {name}`, or set {variable}, "
            f"{variable}{FILE_SUFFIX} or {variable}{COMMAND_SUFFIX} before the worker is started"
        )
    return found[0]


def bound_to(name: str, environ: Mapping[str, str], home: Path | None) -> tuple[Site, ...]:
    """Return the sites that the secret is bound to, by its variable and the grants of `home`; none if unbound.

    Raises:
        SecretMissing: the variable holds no list of domains, or the file of grants cannot be used.
    """
    variable = SECRET_PREFIX + name + DOMAINS_SUFFIX
    try:
        declared = sites_in(environ[variable], variable) if variable in environ else ()
        hosts = () if home is None else read_grants(home).secrets.get(name, ())
        granted = sites_in(",".join(hosts), name) if hosts else ()
    except (InputInvalid, SettingsInvalid) as exc:
        raise SecretMissing(f"secret {name!r} is not used: {exc}") from None
    return (*declared, *granted)


def names_in(environ: Mapping[str, str], home: Path | None) -> tuple[str, ...]:
    """Return the names of all secrets in the environment and in `home`, in order."""
    found = (variable.removeprefix(SECRET_PREFIX) for variable in environ if variable.startswith(SECRET_PREFIX))
    kept = () if home is None else (file.name for file in _files_in(secrets_folder(home)))
    return tuple(sorted({*map(_without_suffix, found), *kept} - {""}))


def _files_in(folder: Path) -> list[Path]:
    try:
        return [file for file in folder.iterdir() if re.fullmatch(ITEM_NAME, file.name)]
    except OSError:
        return []


def without_line_break(text: str) -> str:
    """Return `text` without the one line break that editors and commands put at its end."""
    return text.removesuffix("\n").removesuffix("\r")


def _without_suffix(name: str) -> str:
    return next((name.removesuffix(suffix) for suffix in SUFFIXES if name.endswith(suffix)), name)


def _argv(source: SecretSource) -> list[str]:
    try:
        argv = shlex.split(source.given)
    except ValueError as exc:
        raise SecretMissing(f"secret {source.name!r}: {source.variable} cannot be read: {exc}") from None
    if not argv:
        raise SecretMissing(f"secret {source.name!r}: {source.variable} names no command")
    return argv


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Kill the process and its children."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return
