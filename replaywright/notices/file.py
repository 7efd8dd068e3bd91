"""The file of `REPLAYWRIGHT_NOTICES`: who is told of what."""

from pathlib import Path

from replaywright.domain.notice.routing import NoticeFile
from replaywright.domain.task.tasks import parse_authored
from replaywright.yaml_files import parse_yaml, read_text

SETTING = "REPLAYWRIGHT_NOTICES"


def read_notices(path: Path) -> NoticeFile:
    """Read who is told of what.

    Raises:
        InputInvalid: one line with the setting, file and field, and what was expected.
    """
    source = f"{SETTING}: {path}"
    data = parse_yaml(read_text(str(path), source), source)
    return parse_authored(NoticeFile, data, source, "the fields of a file of notices (docs/reference/notices.md)")
