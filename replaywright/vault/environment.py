"""Secrets from environment variables, or from files that they name."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from replaywright.domain.redaction import Redactor
from replaywright.domain.runs import SECRET_PREFIX
from replaywright.errors import SecretMissing

FILE_SUFFIX = "_FILE"
"""`REPLAYWRIGHT_SECRET_NAME_FILE` names a file that holds the value, as Docker and Kubernetes mount them."""


class EnvironmentSecrets:
    """`Secrets` from `REPLAYWRIGHT_SECRET_<NAME>`, or from the file named by `REPLAYWRIGHT_SECRET_<NAME>_FILE`.

    A file is read at every use, so that a rotated secret is taken up without a restart; one line break at its end does
    not count. Redaction knows every secret that is configured, used or not (an adopted page may still show what another
    worker typed), and every value that a file ever had while this process looked.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = dict(environ)
        self._values: set[tuple[str, str]] = set()
        for variable in self._environ:
            name = variable.removeprefix(SECRET_PREFIX)
            if name == variable:
                continue
            if name.endswith(FILE_SUFFIX):
                value = _content(self._environ[variable])
                self._values.add((name.removesuffix(FILE_SUFFIX), value or ""))
            else:
                self._values.add((name, self._environ[variable]))
        self._redactor = Redactor(self._values)

    def resolve(self, name: str) -> str:
        """The value of the secret `name`.

        Raises:
            SecretMissing: neither variable is set, both are, or the file cannot be read; the message names them.
        """
        variable = SECRET_PREFIX + name
        direct, path = self._environ.get(variable, ""), self._environ.get(variable + FILE_SUFFIX, "")
        if direct and path:
            raise SecretMissing(f"secret {name!r}: both {variable} and {variable}{FILE_SUFFIX} are set; unset one")
        if not direct and not path:
            raise SecretMissing(f"secret {name!r} has no value here; set {variable} or {variable}{FILE_SUFFIX}")
        value = direct or _content(path)
        if not value:
            raise SecretMissing(
                f"secret {name!r}: {variable}{FILE_SUFFIX} names {path!r}, which is empty or unreadable"
            )
        if (name, value) not in self._values:
            self._values.add((name, value))
            self._redactor = Redactor(self._values)
        return value

    def redact(self, text: str) -> str:
        """`text` with every secret, in any common encoding, replaced by `{{secret:NAME}}`."""
        return self._redactor.text(text)

    def redact_data(self, value: Any) -> Any:
        """JSON-like data with every secret replaced, in keys too."""
        return self._redactor.data(value)


def _content(path: str) -> str | None:
    try:
        return Path(path).read_text(encoding="utf-8").removesuffix("\n").removesuffix("\r")
    except (OSError, ValueError):
        return None
