"""Grants of this machine's operator: hosts of each secret, addresses that pages may reach, folders of uploads.

They stand in one file of the home, `grants.json`, that its owner alone may write. Tasks, skills and imports cannot
change it.
"""

import contextlib
import fcntl
import os
import re
import secrets
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from replaywright.domain.common.templates import ITEM_NAME
from replaywright.domain.secrets.secret_sites import sites_in
from replaywright.domain.session.host_patterns import host_rule
from replaywright.domain.session.network_policy import HostRule, grants_nothing
from replaywright.errors import InputInvalid, SettingsInvalid

_LIMIT = 1_000_000
"""Bytes of the file."""
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_UNUSABLE = "mend it, or remove it and grant anew (`replaywright admin secrets bind`, `replaywright admin hosts allow`)"


def _secret_name(name: str) -> str:
    if not re.fullmatch(ITEM_NAME, name):
        raise InputInvalid(f"{name!r} is no name of a secret: expected letters, digits and _, no digit first")
    return name


def _site(pattern: str) -> str:
    return ",".join(map(str, sites_in(pattern, "host")))


def _address(pattern: str) -> str:
    return host_rule(pattern, "host").text


_SecretName = Annotated[str, AfterValidator(_secret_name)]
_Site = Annotated[str, AfterValidator(_site)]


def _folder(path: str) -> str:
    if not Path(path).is_absolute():
        raise InputInvalid(f"{path!r} is no absolute path of a folder")
    return path


_Folder = Annotated[str, AfterValidator(_folder)]
_Address = Annotated[str, AfterValidator(_address)]


class Grants(BaseModel):
    """Grants of one home."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    secrets: dict[_SecretName, Annotated[tuple[_Site, ...], Field(min_length=1)]] = Field(default_factory=dict)
    """Name of a secret → hosts whose pages may get it: `shop.example`, `*.shop.example`, `host:port`, `http://host`."""
    hosts: tuple[_Address, ...] = ()
    """Addresses that are not public and that pages may reach, as patterns of `hosts.allow`."""
    uploads: tuple[_Folder, ...] = ()
    """Absolute paths of folders that files may be uploaded from, beside those of the settings."""

    def bound(self, name: str, hosts: tuple[str, ...]) -> "Grants":
        """Grants with the secret `name` bound to `hosts`, beside those that it has.

        Raises:
            InputInvalid: name or host is wrong.
        """
        every = dict.fromkeys((*self.secrets.get(name, ()), *(_site(host) for host in hosts)))
        return self.model_copy(update={"secrets": {**self.secrets, _secret_name(name): tuple(every)}})

    def unbound(self, name: str, hosts: tuple[str, ...] = ()) -> "Grants":
        """Grants with the secret `name` bound to none of `hosts`; without `hosts`, to nothing.

        Raises:
            InputInvalid: it is not bound to one of them.
        """
        present = self.secrets.get(name, ())
        gone = tuple(map(_site, hosts)) or present
        if unknown := [host for host in gone or (name,) if host not in present]:
            raise InputInvalid(f"secret {name!r} is not bound to {unknown[0]!r}; see `replaywright admin secrets list`")
        left = tuple(host for host in present if host not in gone)
        others = {other: sites for other, sites in self.secrets.items() if other != name}
        return self.model_copy(update={"secrets": {**others, name: left} if left else others})

    def allowed(self, hosts: tuple[str, ...]) -> "Grants":
        """Grants with these addresses, beside those that it has.

        Raises:
            InputInvalid: one is no pattern, or names no address that needs a grant.
        """
        every = dict.fromkeys((*self.hosts, *map(_granting, hosts)))
        return self.model_copy(update={"hosts": tuple(every)})

    def revoked(self, hosts: tuple[str, ...]) -> "Grants":
        """Grants without these addresses.

        Raises:
            InputInvalid: one of them is not granted.
        """
        gone = tuple(map(_address, hosts))
        if unknown := [host for host in gone if host not in self.hosts]:
            raise InputInvalid(f"{unknown[0]!r} is not granted; see `replaywright admin hosts list`")
        return self.model_copy(update={"hosts": tuple(host for host in self.hosts if host not in gone)})

    def uploading(self, folders: tuple[str, ...]) -> "Grants":
        """Grants with these folders, beside those that it has.

        Raises:
            InputInvalid: one is no folder.
        """
        real = tuple(str(Path(folder).expanduser().resolve()) for folder in folders)
        if missing := [folder for folder in real if not Path(folder).is_dir()]:
            raise InputInvalid(f"{missing[0]!r} is no folder: name one that is there")
        return self.model_copy(update={"uploads": tuple(dict.fromkeys((*self.uploads, *real)))})

    def not_uploading(self, folders: tuple[str, ...]) -> "Grants":
        """Grants without these folders.

        Raises:
            InputInvalid: one of them is not granted.
        """
        gone = tuple(str(Path(folder).expanduser().resolve()) for folder in folders)
        if unknown := [folder for folder in gone if folder not in self.uploads]:
            raise InputInvalid(f"{unknown[0]!r} is not granted; see `replaywright admin uploads list`")
        return self.model_copy(update={"uploads": tuple(folder for folder in self.uploads if folder not in gone)})


def _granting(pattern: str) -> str:
    rule = host_rule(pattern, "HOST")
    if grants_nothing(rule):
        raise InputInvalid(
            f"{pattern!r} names no address that needs a grant: grants are for addresses that are not public, such as "
            "127.0.0.1:8030, 10.1.2.0/24 or wiki.corp=10.1.2.3; tasks and policies name all others"
        )
    return rule.text


def granted_hosts(home: Path) -> tuple[HostRule, ...]:
    """Read the rules of the addresses that are granted in `home`.

    Raises:
        SettingsInvalid: see `read_grants`.
    """
    return tuple(host_rule(pattern, "hosts") for pattern in read_grants(home).hosts)


def granted_folders(home: Path) -> tuple[Path, ...]:
    """Read the folders that files may be uploaded from by the grants of `home`.

    Raises:
        SettingsInvalid: see `read_grants`.
    """
    return tuple(map(Path, read_grants(home).uploads))


def grants_file(home: Path) -> Path:
    """File that holds the grants of `home`."""
    return home / "grants.json"


def read_grants(home: Path) -> Grants:
    """Read the grants of `home`; none where there is no file.

    Raises:
        SettingsInvalid: the file is not the owner's alone to write, or what it holds is no grants; names it.
    """
    file = grants_file(home)
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return Grants()
    except OSError as exc:
        raise SettingsInvalid(f"{file}: cannot be read: {exc.strerror}; {_UNUSABLE}") from exc
    try:
        _require_ours(file, os.fstat(descriptor))
        data = os.read(descriptor, _LIMIT + 1)
    finally:
        os.close(descriptor)
    if len(data) > _LIMIT:
        raise SettingsInvalid(f"{file}: has more than {_LIMIT:,} bytes; {_UNUSABLE}")
    try:
        return Grants.model_validate_json(data)
    except ValidationError as exc:
        first = exc.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise SettingsInvalid(f"{file}: {place}: {first['msg']}; {_UNUSABLE}") from None
    except InputInvalid as exc:
        raise SettingsInvalid(f"{file}: {exc}; {_UNUSABLE}") from None


def change_grants(home: Path, change: Callable[[Grants], Grants]) -> Grants:
    """Replace the grants of `home` by what `change` makes of them, one process at a time; return the new ones.

    Raises:
        InputInvalid: from `change`; nothing is written.
        SettingsInvalid: the present file cannot be used, or nothing can be written there.
    """
    file = grants_file(home)
    draft = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = os.open(home / "grants.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            changed = change(read_grants(home))
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as stream:
                stream.write(changed.model_dump_json(indent=2) + "\n")
                stream.flush()
                os.fsync(stream.fileno())
            draft.replace(file)
        finally:
            os.close(lock)
            with contextlib.suppress(FileNotFoundError):
                draft.unlink()
    except OSError as exc:
        raise SettingsInvalid(f"{file}: cannot be written: {exc.strerror}; set REPLAYWRIGHT_HOME") from exc
    return changed


def _require_ours(file: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise SettingsInvalid(f"{file}: is no regular file; {_UNUSABLE}")
    if found.st_uid not in (os.geteuid(), 0) or found.st_mode & _WRITABLE_BY_OTHERS:
        raise SettingsInvalid(f"{file}: others on this machine can write it: look at it, then chmod 600 {file}")
