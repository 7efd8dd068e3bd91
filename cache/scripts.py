"""Lua scripts, sent by digest, and in full to a server that does not know them yet.

Each touches keys of one slot and may be repeated after a lost reply, so the client may reconnect and send it again.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files


@dataclass(frozen=True)
class LuaScript:
    """A Lua script with its shared head."""

    name: str
    source: str

    @cached_property
    def digest(self) -> str:
        """SHA-1 for EVALSHA."""
        return hashlib.sha1(self.source.encode(), usedforsecurity=False).hexdigest()


Argument = str | bytes | int


@dataclass(frozen=True)
class RedisCommand:
    """A command on one key: a plain one, or a script."""

    what: str | LuaScript
    key: str
    arguments: tuple[Argument, ...] = ()
    beside: tuple[str, ...] = ()
    """Further keys of a script, in the same slot."""

    @property
    def short(self) -> tuple[Argument, ...]:
        """Form of the first attempt."""
        return self._sent("EVALSHA", "" if isinstance(self.what, str) else self.what.digest)

    @property
    def full(self) -> tuple[Argument, ...]:
        """Form after NOSCRIPT, which loads the script."""
        return self._sent("EVAL", "" if isinstance(self.what, str) else self.what.source)

    def _sent(self, verb: str, script: str) -> tuple[Argument, ...]:
        if isinstance(self.what, str):
            return (self.what, self.key, *self.arguments)
        return (verb, script, 1 + len(self.beside), self.key, *self.beside, *self.arguments)


SCRIPTS: list[LuaScript] = []
"""All scripts."""


def _load(*names: str) -> LuaScript:
    folder = files("cache") / "scripts"
    script = LuaScript(names[-1], "\n".join((folder / f"{name}.lua").read_text("utf-8") for name in names))
    SCRIPTS.append(script)
    return script


INTEND = _load("ledger", "intend")
DISPATCH = _load("ledger", "dispatch")
RECORD = _load("ledger", "record")
FENCE = _load("ledger", "fence")
SETTLE = _load("ledger", "settle")
FIND = _load("versions", "entry", "find")
CANDIDATES = _load("versions", "entry", "candidates")
KEEP = _load("versions", "entry", "keep")
COUNT = _load("versions", "entry", "count")
PROMOTE = _load("versions", "entry", "promote")
RETIRE = _load("versions", "entry", "retire")
SIGN_ENTRY = _load("versions", "entry", "entry_sign")
APPEND = _load("sha256", "append")
SIGN_LINE = _load("line_sign")
FIND_SKILL = _load("versions", "skill", "skill_find")
SAVE_SKILL = _load("versions", "skill", "skill_change", "skill_save")
SET_SKILL_STATUS = _load("versions", "skill", "skill_change", "skill_status")
NOTE_SKILL_RUN = _load("versions", "skill", "skill_change", "skill_run")
SIGN_SKILL = _load("versions", "skill", "skill_sign")
DELETE_SKILL = _load("versions", "skill", "skill_change", "skill_delete")
CLAIM = _load("claim")
RELEASE = _load("release")
WITNESS = _load("witness")

_READING = frozenset({"GET", "HGET", "HGETALL", "HMGET", "LRANGE", "ZRANGEBYLEX"})


@cache
def _script_names() -> dict[Argument, str]:
    return {sent: script.name for script in SCRIPTS for sent in (script.digest, script.source)}


def operation_of(commands: Sequence[tuple[Argument, ...]]) -> str:
    """Return the operation of a round trip by its first command: a script's name, `read` or `write`."""
    verb, first = commands[0][0], commands[0][1]
    if verb in ("EVAL", "EVALSHA"):
        return _script_names().get(first, "write")
    return "read" if verb in _READING else "write"
