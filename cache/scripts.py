"""The Lua scripts, and how they are sent: by digest, and in full to a server that does not know them yet.

Each touches one key, or two of the same slot, and may be repeated after a lost reply, so the client may reconnect
and send it again.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files


@dataclass(frozen=True)
class Script:
    """One Lua script, its shared head in front."""

    name: str
    source: str

    @cached_property
    def digest(self) -> str:
        """What EVALSHA calls it."""
        return hashlib.sha1(self.source.encode(), usedforsecurity=False).hexdigest()


Argument = str | bytes | int


@dataclass(frozen=True)
class Command:
    """One command on one key: a plain one, or a script."""

    what: str | Script
    key: str
    arguments: tuple[Argument, ...] = ()
    beside: tuple[str, ...] = ()
    """Further keys of a script, in the same slot."""

    @property
    def short(self) -> tuple[Argument, ...]:
        """As it is sent first."""
        match self.what:
            case Script() as script:
                return ("EVALSHA", script.digest, 1 + len(self.beside), self.key, *self.beside, *self.arguments)
            case name:
                return (name, self.key, *self.arguments)

    @property
    def full(self) -> tuple[Argument, ...]:
        """As it is sent after NOSCRIPT; the server knows the script from then on."""
        match self.what:
            case Script() as script:
                return ("EVAL", script.source, 1 + len(self.beside), self.key, *self.beside, *self.arguments)
            case name:
                return (name, self.key, *self.arguments)


def _load(*names: str) -> Script:
    folder = files("cache") / "scripts"
    return Script(names[-1], "\n".join((folder / f"{name}.lua").read_text("utf-8") for name in names))


INTEND = _load("ledger", "intend")
DISPATCH = _load("ledger", "dispatch")
RECORD = _load("ledger", "record")
FENCE = _load("ledger", "fence")
SETTLE = _load("ledger", "settle")
FIND = _load("entry", "find")
KEEP = _load("entry", "keep")
COUNT = _load("entry", "count")
PROMOTE = _load("entry", "promote")
RETIRE = _load("entry", "retire")
SIGN_ENTRY = _load("entry", "entry_sign")
APPEND = _load("sha256", "append")
SIGN_LINE = _load("line_sign")
FIND_SKILL = _load("skill", "skill_find")
SAVE_SKILL = _load("skill", "skill_change", "skill_save")
SET_SKILL_STATUS = _load("skill", "skill_change", "skill_status")
NOTE_SKILL_RUN = _load("skill", "skill_change", "skill_run")
SIGN_SKILL = _load("skill", "skill_sign")
DELETE_SKILL = _load("skill", "skill_change", "skill_delete")
CLAIM = _load("claim")
RELEASE = _load("release")
WITNESS = _load("witness")

SCRIPTS = (
    INTEND,
    DISPATCH,
    RECORD,
    FENCE,
    SETTLE,
    FIND,
    KEEP,
    COUNT,
    PROMOTE,
    RETIRE,
    SIGN_ENTRY,
    APPEND,
    SIGN_LINE,
    FIND_SKILL,
    SAVE_SKILL,
    SET_SKILL_STATUS,
    NOTE_SKILL_RUN,
    SIGN_SKILL,
    DELETE_SKILL,
    CLAIM,
    RELEASE,
    WITNESS,
)
"""All of them."""
_READING = frozenset({"GET", "HGET", "HGETALL", "HMGET", "LRANGE", "ZRANGEBYLEX"})


@cache
def _script_names() -> dict[Argument, str]:
    return {told: script.name for script in SCRIPTS for told in (script.digest, script.source)}


def operation_of(commands: Sequence[tuple[Argument, ...]]) -> str:
    """What a round trip is for, by its first command: the name of the script, else `read` or `write`."""
    verb, first = commands[0][0], commands[0][1]
    if verb in ("EVAL", "EVALSHA"):
        return _script_names().get(first, "write")
    return "read" if verb in _READING else "write"
