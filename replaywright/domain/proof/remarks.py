"""What else is known of a step that failed, for its message."""

from typing import Final

from replaywright.domain.common.text import shorten
from replaywright.domain.page.saying import complaints_of
from replaywright.domain.page.snapshots import Snapshot
from replaywright.domain.step.outcomes import Evidence

_TOLD: Final = 2
"""Texts of the page that are repeated, and dialogs."""
_LONGEST: Final = 160
"""Characters of a text of the page; those of a dialog are limited already."""
_DISMISSED: Final = "(dismissed)"


def remarks_on(evidence: Evidence, page: Snapshot | None = None, good: Snapshot | None = None) -> str:
    """Return what the page says went wrong, and the dialogs that came, to be put behind a message; possibly empty.

    Args:
        evidence: What the browser did while and after the step acted.
        page: The page on which an expectation failed; None if there is none.
        good: The page after the same step of the last good run, if there is one.
    """
    said = [f"the page says {_quoted(text)}" for text in ([] if page is None else complaints_of(page, good)[:_TOLD])]
    asked = [f"a dialog came: {line}{_remedy(line)}" for line in evidence.dialogs[:_TOLD]]
    return "".join(f"; {remark}" for remark in (*said, *asked))


def _quoted(text: str) -> str:
    return f'"{shorten(text, _LONGEST)}"'


def _remedy(line: str) -> str:
    """Return what to do about a dialog that asked something and was dismissed."""
    asks = line.startswith(("confirm:", "prompt:")) and line.endswith(_DISMISSED)
    return ": give the step dialog: accept if it is to be accepted" if asks else ""
