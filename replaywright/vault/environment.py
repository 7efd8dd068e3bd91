"""The secrets of this process: from environment variables, files and commands that they name, and files of the home."""

import contextlib
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from replaywright.domain.secrets.redaction import Redactor
from replaywright.domain.secrets.secret_sites import Site
from replaywright.errors import PictureUnread, SecretMissing
from replaywright.observing import observer
from replaywright.vault.pictures import painted, reads_pictures
from replaywright.vault.sources import SecretSource, bound_to, names_in, secrets_folder, source_of, sources_of

_log = logging.getLogger("replaywright.vault")

COMMAND_TTL_S = 30.0
"""A command is asked again after so long: a rotated secret is taken up, and a vault is not asked for every step."""


PASSING_KEPT = 100
"""Codes for one use that are redacted, the newest."""


class EnvironmentSecrets:
    """`Secrets` from `REPLAYWRIGHT_SECRET_<NAME>`, `…_FILE`, `…_COMMAND` or the home; see `replaywright.vault.sources`.

    A file is read at every use and a command run every half minute at most, so that a rotated secret is taken up
    without a restart; so is a new file of the home. Redaction knows every secret that is configured, used or not
    (an adopted page may still show what another worker typed; commands are asked for that by `learn`), and every value
    that one ever had while this process looked. May be used by several threads.
    """

    def __init__(self, environ: Mapping[str, str], home: Path | None = None) -> None:
        """Read values and bindings from `environ`, and from the files and the grants of `home`, if one is given."""
        self._environ = dict(environ)
        self._home = home
        self._folder = "" if home is None else os.fspath(secrets_folder(home))
        self._lock = threading.Lock()
        self._printed: dict[str, tuple[float, str]] = {}
        self._values: set[tuple[str, str]] = set()
        self._passing: deque[tuple[str, str]] = deque(maxlen=PASSING_KEPT)
        self._redactor = Redactor(())
        self._looked_at_ns = 0
        for name in self.names:
            self._note_configured(name)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all secrets that are configured, rightly or not."""
        return names_in(self._environ, self._home)

    def source(self, name: str) -> SecretSource:
        """Return the source of the secret `name`.

        Raises:
            SecretMissing: from nowhere, or from more than one place; the message names the variables.
        """
        return source_of(name, self._environ, self._home)

    def check(self, name: str) -> None:
        """See that the secret `name` has one source, which is not asked.

        Raises:
            SecretMissing: it has none, or more than one; the message names the variables.
        """
        self.source(name)

    def resolve(self, name: str) -> str:
        """Return the value of the secret `name`. A command may take its time: not for the event loop.

        Raises:
            SecretMissing: it has no value, or more than one source; the message names the variables, no value.
        """
        source = self.source(name)
        if source.kind != "command":
            value = source.read(self._environ)
        else:
            with self._lock:
                at, value = self._printed.get(name, (-COMMAND_TTL_S, ""))
            if time.monotonic() - at >= COMMAND_TTL_S:
                value = source.read(self._environ)
                with self._lock:
                    self._printed[name] = (time.monotonic(), value)
        self._note(name, value)
        return value

    def domains(self, name: str) -> tuple[Site, ...]:
        """Return the sites that the secret is bound to, by its variable and by the grants; none where nobody bound it.

        The file of grants is read at every use: a binding holds without a restart.

        Raises:
            SecretMissing: the variable holds no list of domains, or the file of grants cannot be used.
        """
        return bound_to(name, self._environ, self._home)

    def learn(self) -> None:
        """Ask every command once, so that redaction knows what it prints; those that fail are logged."""
        asked = [name for name in self.names if self._is_command(name)]
        if asked:
            with ThreadPoolExecutor(max_workers=len(asked)) as pool:
                list(pool.map(self._learn, asked))

    def remember(self, name: str, value: str) -> None:
        """Redact `value` from now on, and until so many others have come after it."""
        with self._lock:
            if value and (name, value) not in self._passing:
                self._passing.append((name, value))
                self._redactor = Redactor([*self._values, *self._passing])

    def redact(self, text: str) -> str:
        """Return `text` with every secret, in any common encoding, replaced by `{{secret:NAME}}`."""
        self._look()
        return self._redactor.text(text)

    def redact_data(self, value: Any) -> Any:
        """Return JSON-like data with every secret replaced, in keys too."""
        self._look()
        return self._redactor.data(value)

    async def redact_picture(self, data: bytes, within_s: float) -> bytes:
        """Return the picture with every secret painted over that is drawn in it, if the extra `ocr` is installed.

        Raises:
            PictureUnread: it could not be read, or not in time.
        """
        self._look()
        with self._lock:
            values = [value for _, value in (*self._values, *self._passing)]
        if not values or not reads_pictures():
            return data
        redacted = self._redactor.text
        try:
            return await painted(data, values, lambda text: redacted(text) != text, within_s)
        except PictureUnread:
            observer().not_masked("picture")
            raise

    def _look(self) -> None:
        """Note the values of files that are new in the home; called for every text, so with no more than one `stat`."""
        try:
            changed_ns = os.stat(self._folder).st_mtime_ns if self._folder else 0  # noqa: PTH116
        except OSError:
            return
        if changed_ns != self._looked_at_ns:
            self._looked_at_ns = changed_ns
            for name in self.names:
                self._note_configured(name)

    def _is_command(self, name: str) -> bool:
        try:
            return self.source(name).kind == "command"
        except SecretMissing:
            return False

    def _learn(self, name: str) -> None:
        try:
            self.resolve(name)
        except SecretMissing as exc:
            _log.warning("%s", exc)

    def _note_configured(self, name: str) -> None:
        """Redact a value even where it is not used, as there are two sources."""
        for source in sources_of(name, self._environ, self._home):
            if source.kind != "command":
                with contextlib.suppress(SecretMissing):
                    self._note(name, source.read(self._environ))

    def _note(self, name: str, value: str) -> None:
        with self._lock:
            if value and (name, value) not in self._values:
                self._values.add((name, value))
                self._redactor = Redactor([*self._values, *self._passing])
