"""The samples in the documentation are what the exporter writes."""

import re
from pathlib import Path

from replaywright.export import Format
from tests.exports.samples import told, webmail_skill

DOCS = Path(__file__).parents[2] / "docs"
VALUES = {
    "base_url": "http://127.0.0.1:8025",
    "to": "ada@example.com",
    "subject": "Minutes of Monday",
    "body": "Hello Ada, the minutes are attached.",
    "priority": "Normal",
}


def samples(page: str = "internals/export-samples.md") -> dict[str, str]:
    """The code blocks of a page, by language."""
    return dict(re.findall(r"^```(\w+)\n(.*?)^```$", (DOCS / page).read_text("utf-8"), re.DOTALL | re.MULTILINE))


def test_the_program_in_the_documentation_is_the_one_that_is_written() -> None:
    skill, recordings = webmail_skill()

    assert samples()["python"] == told(skill, recordings).text
    assert samples("reference/export.md")["python"] in told(skill, recordings).text


def test_the_parts_of_the_test_and_the_recording_in_the_documentation_are_in_those_that_are_written() -> None:
    skill, recordings = webmail_skill()
    written = samples()

    assert written["typescript"] in told(skill, recordings, Format.TYPESCRIPT).text
    assert written["json"] in told(skill, recordings, Format.DEVTOOLS, **VALUES).text
