"""The samples in the reference are what the exporter writes."""

import re
from pathlib import Path

from replaywright.export import Format
from tests.exports.samples import told, webmail_skill

DOCUMENT = Path(__file__).parents[2] / "docs" / "reference" / "export.md"
VALUES = {
    "base_url": "http://127.0.0.1:8025",
    "to": "ada@example.com",
    "subject": "Minutes of Monday",
    "body": "Hello Ada, the minutes are attached.",
    "priority": "Normal",
}


def samples() -> dict[str, str]:
    """The code blocks of the reference, by language."""
    return dict(re.findall(r"^```(\w+)\n(.*?)^```$", DOCUMENT.read_text("utf-8"), re.DOTALL | re.MULTILINE))


def test_the_program_in_the_reference_is_the_one_that_is_written() -> None:
    skill, recordings = webmail_skill()

    assert samples()["python"] == told(skill, recordings).text


def test_the_parts_of_the_test_and_the_recording_in_the_reference_are_in_those_that_are_written() -> None:
    skill, recordings = webmail_skill()
    written = samples()

    assert written["typescript"] in told(skill, recordings, Format.TYPESCRIPT).text
    assert written["json"] in told(skill, recordings, Format.DEVTOOLS, **VALUES).text
