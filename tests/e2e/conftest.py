"""A stage for the tests of this folder: the demo's servers and a worker, learned once."""

from collections.abc import AsyncIterator

import pytest

from demo.stage import Stage
from replaywright.settings import load_settings
from tests.e2e.lab import Lab


@pytest.fixture(scope="module")
async def lab() -> AsyncIterator[Lab]:
    """The demo's task, learned on the classic skin."""
    with pytest.MonkeyPatch.context() as environment:
        environment.delenv("REPLAYWRIGHT_MODEL", raising=False)
        async with Stage(load_settings(), tell=lambda _text: None) as stage:
            lab = Lab(stage)
            await lab.learn()
            yield lab
