"""Some mistakes of a first hour: each message tells the cause and a remedy, and what it says works."""

import pytest

from bench.mistakes.catalogue import MISTAKES, Mistake
from bench.mistakes.trying import opened, tried

pytestmark = pytest.mark.slow

SOME = ("name of a button", "refused by the site")


@pytest.mark.long
async def test_a_message_tells_the_true_cause_and_a_remedy_that_works() -> None:
    known: dict[str, Mistake] = {mistake.name: mistake for mistake in MISTAKES}

    async with opened() as place:
        results = [await tried(place, known[name]) for name in SOME]

    assert {result.mistake.name: result.faults for result in results if result.faults} == {}, results
