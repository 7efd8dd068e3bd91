"""An application of the park, whose every element is found again after a reload."""

import io

import pytest
from rich.console import Console

from bench.park.__main__ import measured, shown
from bench.park.apps import APPS

pytestmark = pytest.mark.slow


async def test_every_element_of_an_application_that_nobody_here_wrote_is_found_again_after_a_reload() -> None:
    console = Console(file=io.StringIO())

    figures = shown(console, await measured([app for app in APPS if app.name == "datasette"], console))

    assert figures["elements"] == 132
    assert (figures["reload"], figures["wrong"]) == (1.0, 0)
