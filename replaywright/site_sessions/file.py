"""The file of `REPLAYWRIGHT_SESSIONS`: the site sessions that tasks may use."""

from pathlib import Path

from replaywright.domain.site_session.codes import CodeSource
from replaywright.domain.site_session.definitions import Definition, SiteSessionFile
from replaywright.domain.task.tasks import Task, parse_authored, parse_task
from replaywright.errors import InputInvalid
from replaywright.yaml_files import parse_yaml, read_text

SETTING = "REPLAYWRIGHT_SESSIONS"


def read_site_sessions(path: Path) -> SiteSessionFile:
    """Read the declared site sessions.

    Raises:
        InputInvalid: one line with the setting, file and field, and what was expected.
    """
    source = f"{SETTING}: {path}"
    data = parse_yaml(read_text(str(path), source), source)
    return parse_authored(SiteSessionFile, data, source, "the field sessions (docs/reference/sessions.md)")


def definition_of(path: Path | None, name: str) -> Definition:
    """Return the definition of a site session.

    Raises:
        InputInvalid: there is none of this name; names those that there are.
    """
    if path is None:
        raise InputInvalid(
            f"session {name!r}: this worker knows no sessions; set {SETTING} to the file that declares them "
            "(docs/reference/sessions.md)"
        )
    sessions = read_site_sessions(path).sessions
    if name not in sessions:
        raise InputInvalid(f"session {name!r}: {path} declares no such session; it has: {', '.join(sorted(sessions))}")
    return sessions[name]


def code_source_of(path: Path | None, name: str) -> CodeSource:
    """Return a source of codes.

    Raises:
        InputInvalid: there is none of this name; names those that there are.
    """
    codes = {} if path is None else read_site_sessions(path).codes
    if name not in codes:
        known = ", ".join(sorted(codes)) or "none"
        raise InputInvalid(f"source of codes {name!r}: {SETTING} declares: {known} (docs/reference/sessions.md)")
    return codes[name]


def sign_in_task(path: Path, definition: Definition) -> Task:
    """Read the task file that signs in.

    Raises:
        InputInvalid: it cannot be read, or is no task.
    """
    file = path.parent / definition.sign_in
    source = str(file)
    return parse_task(parse_yaml(read_text(str(file), source), source), source)


class SessionsFile:
    """`DeclaredSessions` in a file; None: there is none."""

    def __init__(self, path: Path | None) -> None:
        self._path = path

    def definition(self, name: str) -> Definition:
        """See `DeclaredSessions.definition`."""
        return definition_of(self._path, name)

    def sign_in_task(self, definition: Definition) -> Task:
        """See `DeclaredSessions.sign_in_task`."""
        return sign_in_task(self._path or Path(), definition)

    def code_source(self, name: str) -> CodeSource:
        """See `DeclaredSessions.code_source`."""
        return code_source_of(self._path, name)
