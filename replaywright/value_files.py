"""Values in files that variables name, as Docker, Podman and Kubernetes hand secrets over.

`REPLAYWRIGHT_REDIS_URL_FILE=/run/secrets/redis_url` stands for `REPLAYWRIGHT_REDIS_URL`, and so for every setting; the
keys of model providers keep their names (`OPENAI_API_KEY_FILE`). Messages name variable and file, never a value.
"""

from collections.abc import Iterable, Mapping, MutableMapping
from pathlib import Path

from replaywright.errors import SettingsInvalid

SUFFIX = "_FILE"
"""Behind the name of a variable: its value is in the file of this name."""

PROVIDER_KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY")
"""Keys of model providers: their libraries read these variables."""

CONTAINER_SECRETS = Path("/run/secrets")
"""Folder in which container runtimes mount secrets, readable for all in a container that only the worker uses."""

_LIMIT = 65_536
"""Bytes; what is longer is no setting."""


def values_in_files(variables: Iterable[str], environ: Mapping[str, str]) -> dict[str, str]:
    """Return variable → content of the file that `<variable>_FILE` names, without one line break at the end.

    Raises:
        SettingsInvalid: the file cannot be read, or is empty; or the variable itself is set, too, to something else.
    """
    found: dict[str, str] = {}
    for variable in variables:
        file = environ.get(variable + SUFFIX, "")
        if not file:
            continue
        value = _content(file, variable + SUFFIX)
        if not value:
            raise SettingsInvalid(f"{variable}{SUFFIX}: {file} is empty: write the value into it, or unset this")
        # The same value twice is what a process hands to its children.
        if environ.get(variable, value) not in ("", value):
            raise SettingsInvalid(f"{variable} and {variable}{SUFFIX} are both set: set one of them")
        found[variable] = value
    return found


def take_provider_keys(environ: MutableMapping[str, str]) -> None:
    """Set the variables of model providers from the files that are named for them.

    An empty file is a provider that is not used: whoever mounts secrets has to mount one for each.

    Raises:
        SettingsInvalid: a file cannot be read, or the variable is set, too, to something else.
    """
    used = [key for key in PROVIDER_KEYS if (file := environ.get(key + SUFFIX)) and _content(file, key + SUFFIX)]
    environ.update(values_in_files(used, environ))


def _content(file: str, variable: str) -> str:
    try:
        with Path(file).open("rb") as stream:
            content = stream.read(_LIMIT + 1)
        if len(content) > _LIMIT:
            raise SettingsInvalid(f"{variable}: {file} has more than {_LIMIT:,} bytes: that is no setting")
        text = content.decode("utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        why = exc.strerror if isinstance(exc, OSError) else "it is no UTF-8 text"
        raise SettingsInvalid(
            f"{variable}: {file} cannot be read: {why}; name a file that this process may read"
        ) from None
    return text.removesuffix("\n").removesuffix("\r")
