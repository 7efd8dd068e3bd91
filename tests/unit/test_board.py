"""What the Temporal UI shows of a run: Markdown, of which nothing that a plan or page says becomes a part."""

import re

import pytest

from replaywright.domain.outcomes import Status
from replaywright.domain.runs import Progress, StepLine
from workflows.board import Board

HOSTILE = (
    "[approve](https://evil.example/)",
    "![x](https://evil.example/pixel.png)",
    "<img src=https://evil.example/x onerror=alert(1)>",
    "<https://evil.example/>",
    "fine\n\n# Approved\n\n- [x] by the operator",
    "`code` **bold** _it_ ~~gone~~ | cell |",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "\\[approve](https://evil.example/)",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_what_a_plan_or_page_says_is_no_markup_in_the_temporal_ui(text: str) -> None:
    line = StepLine(sequence=0, title=text, status=Status.DONE)

    shown = Board.as_markdown(Progress(step=1, steps=1, doing=text, lines=(line,)))

    assert len(shown.splitlines()) == 3  # the state, an empty line, and the step
    without_ours = shown.replace("**running**", "", 1)
    assert re.search(r"(?<!\\)(?:\\\\)*[`*_\[\]<>#|~!&]", without_ours) is None
    assert "evil.example" in shown or "evil" not in text  # it is told all the same
