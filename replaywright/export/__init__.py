"""A skill as a script that stands alone: for Playwright in Python or TypeScript, or for the Recorder of DevTools."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from replaywright.domain.skill.skills import Skill
from replaywright.errors import InputInvalid
from replaywright.export.devtools import devtools_recording
from replaywright.export.python import pytest_module, python_program
from replaywright.export.recordings import Recordings
from replaywright.export.script import script_of
from replaywright.export.typescript import typescript_test

__all__ = ["Exported", "Format", "Recordings", "exported"]


class Format(StrEnum):
    """Target formats."""

    PYTHON = "python"
    PYTEST = "pytest"
    TYPESCRIPT = "typescript"
    DEVTOOLS = "devtools"


@dataclass(frozen=True)
class Exported:
    """A script."""

    text: str
    warnings: tuple[str, ...] = ()
    """Differences from a replay, each with its place in the task."""


def exported(skill: Skill, recordings: Recordings, form: Format, values: Mapping[str, str]) -> Exported:
    """Return the skill as a script.

    Args:
        skill: any version of any status.
        recordings: what the action cache knows of its steps.
        form: what to write.
        values: of all parameters, for a recording, which has none of its own; no other form takes them.

    Raises:
        InputInvalid: steps that this form cannot do, each with its place and the remedy.
    """
    if form is Format.DEVTOOLS:
        return Exported(*devtools_recording(skill, recordings, values))
    script = script_of(skill, recordings)
    match form:
        case Format.PYTHON:
            return Exported(python_program(skill, script), script.warnings)
        case Format.PYTEST | Format.TYPESCRIPT if script.needs_person:
            raise InputInvalid(
                f"skill {skill.name!r} cannot be exported to {form.value}: it has steps for a person, and a test "
                "waits for none; use --format python, or take them out"
            )
        case Format.PYTEST:
            return Exported(pytest_module(skill, script), script.warnings)
        case Format.TYPESCRIPT:
            return Exported(typescript_test(skill, script), script.warnings)
