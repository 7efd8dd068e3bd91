"""Keys of a process: from its settings, or those that the stack of one machine makes for itself in the home folder."""

import os
import secrets
import stat
from collections.abc import Sequence
from pathlib import Path

from replaywright.domain.secrets.signing import KEY_BYTES, UNSIGNED, Key, Signer, parse_keys, written_key
from replaywright.errors import SettingsInvalid
from replaywright.settings import PREFIX, Settings
from replaywright.stack.state import read_running
from replaywright.value_files import CONTAINER_SECRETS, SUFFIX

_OWN = {"signing": "signing.keys", "artifact": "artifact.keys", "ui": "ui.keys"}


def new_key(key_id: str = "") -> Key:
    """Make a key of 32 random bytes; without an id, it gets a random one."""
    return Key(key_id or f"k{secrets.token_hex(3)}", secrets.token_bytes(KEY_BYTES))


def signer_of(settings: Settings, *, make: bool = True) -> Signer:
    """Return the signer of records in Redis.

    Without `make`, no key is made for this home: there may be none yet.

    Raises:
        SettingsInvalid: a Redis is configured and no keys are, or they cannot be read.
    """
    if settings.unsigned:
        return UNSIGNED
    keys = _given(settings, "signing")
    own = not keys and _is_own_redis(settings)
    if own:
        keys = _own(settings.home, "signing", make=make)
    if not keys and not own:
        raise SettingsInvalid(
            f"{PREFIX}SIGNING_KEYS: a Redis is configured and no keys to sign what is kept there: set it to what "
            f"`replaywright admin keys new` prints, the same for all workers and commands (or {PREFIX}UNSIGNED=true, "
            "to act on whatever is found there)"
        )
    return Signer(keys)


def known_signer(settings: Settings) -> Signer:
    """Return the signer with the keys that are there: none are made, and without any, nothing is verified.

    Raises:
        SettingsInvalid: keys are configured and cannot be read.
    """
    if settings.unsigned:
        return UNSIGNED
    return Signer(_given(settings, "signing") or _own(settings.home, "signing", make=False))


def codec_keys_of(settings: Settings) -> Sequence[Key]:
    """Return the keys of the payload codec; none where payloads are clear text.

    Raises:
        SettingsInvalid: they cannot be read.
    """
    return _given(settings, "codec")


def artifact_keys_of(settings: Settings, *, make: bool = True) -> Sequence[Key]:
    """Return the keys of the artifact store; none where artifacts are clear text.

    Raises:
        SettingsInvalid: they cannot be read.
    """
    given = _given(settings, "artifact")
    return given or (_own(settings.home, "artifact", make=make) if settings.artifacts_url is None else ())


def ui_key_of(home: Path) -> bytes:
    """Return the key from which the address of Temporal's UI is derived: links stay good over restarts.

    Raises:
        SettingsInvalid: it cannot be read.
    """
    return _own(home, "ui", make=True)[0].secret


def _is_own_redis(settings: Settings) -> bool:
    """Return whether Redis is that of this machine's stack, which others cannot reach."""
    if settings.redis_url is None:
        return True
    running = read_running(settings.home)
    owns = running is not None and any(service.name == "Redis" for service in running.services)
    return owns and running is not None and running.redis_url == settings.redis_url


def _given(settings: Settings, purpose: str) -> tuple[Key, ...]:
    variable = f"{PREFIX}{purpose.upper()}_KEYS"
    given: str | Path | None = getattr(settings, f"{purpose}_keys")
    if given is None:
        return ()
    if isinstance(given, Path):
        variable += SUFFIX
        given = _read(given, variable)
    try:
        return parse_keys(given)
    except ValueError as exc:
        raise SettingsInvalid(f"{variable}: {exc}; `replaywright admin keys new` prints one") from None


def _read(file: Path, variable: str) -> str:
    try:
        is_private = file.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO) == 0
        if not is_private and file.parent != CONTAINER_SECRETS:
            raise SettingsInvalid(f"{variable}: others on this machine can read {file}: chmod 600 {file}")
        return file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        raise SettingsInvalid(f"{variable}: {file} cannot be read: {exc}") from exc


def own_keys_file(home: Path, purpose: str) -> Path:
    """Return the file of the stack's own keys for `signing`, `artifact` or `ui`."""
    return home / _OWN[purpose]


def _own(home: Path, purpose: str, *, make: bool) -> tuple[Key, ...]:
    """Return the key of this home folder; with `make`, made when it is asked for first."""
    file = own_keys_file(home, purpose)
    variable = f"{PREFIX}HOME"
    if not file.exists():
        if not make:
            return ()
        draft = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
        try:
            home.mkdir(parents=True, exist_ok=True, mode=0o700)
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as stream:
                stream.write(written_key(new_key("home")) + "\n")
                stream.flush()
                os.fsync(stream.fileno())
            try:
                os.link(draft, file)  # whoever is first wins: there is one key, and it is whole
            except FileExistsError:
                pass
            finally:
                draft.unlink()
        except OSError as exc:
            raise SettingsInvalid(f"{variable}: no key can be kept in {home}: {exc}") from exc
    try:
        return parse_keys(_read(file, variable))
    except ValueError as exc:
        raise SettingsInvalid(f"{variable}: {file}: {exc}") from None
