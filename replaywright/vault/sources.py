"""Sources of a secret: a variable, or a file or command that a variable names."""

import os
import shlex
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from replaywright.children import for_command
from replaywright.domain.common.templates import SECRET_PREFIX
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
"""Bytes of what a command prints."""


@dataclass(frozen=True)
class SecretSource:
    """Configuration of one secret."""

    name: str
    variable: str
    given: str
    """Content of the variable: for the kind `environment` the value itself."""

    @property
    def kind(self) -> str:
        """`environment`, `file` or `command`."""
        if self.variable == SECRET_PREFIX + self.name:
            return "environment"
        return "file" if self.variable.endswith(FILE_SUFFIX) else "command"

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
                data = stream.read(OUTPUT_LIMIT + 1)
            value = "" if len(data) > OUTPUT_LIMIT else without_line_break(data.decode())
        except (OSError, ValueError):
            value = ""
        if not value:
            raise SecretMissing(
                f"secret {self.name!r}: {self.variable} names {self.given!r}, which is empty or unreadable, "
                f"or has more than {OUTPUT_LIMIT} bytes"
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


def source_of(name: str, environ: Mapping[str, str]) -> SecretSource:
    """Return the one source of the secret `name`.

    Raises:
        SecretMissing: there is none, or more than one; names the variables.
    """
    variable = SECRET_PREFIX + name
    if name.endswith(SUFFIXES):
        raise SecretMissing(f"{name!r} is no name of a secret: {variable} says something about another one")
    found = [
        SecretSource(name, variable + suffix, given)
        for suffix in ("", FILE_SUFFIX, COMMAND_SUFFIX)
        if (given := environ.get(variable + suffix, ""))
    ]
    if len(found) > 1:
        both = " and ".join(source.variable for source in found)
        raise SecretMissing(f"secret {name!r}: {both} are set; keep one and unset the rest")
    if not found:
        raise SecretMissing(
            f"secret {name!r} has no value here; set {variable}, {variable}{FILE_SUFFIX} or {variable}{COMMAND_SUFFIX}"
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


def names_in(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names of all secrets in the environment, in order."""
    found = (variable.removeprefix(SECRET_PREFIX) for variable in environ if variable.startswith(SECRET_PREFIX))
    return tuple(sorted({_without_suffix(name) for name in found} - {""}))


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
