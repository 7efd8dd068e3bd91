"""A stage for the tests of this folder: the demo's servers and a worker, learned once."""

from collections.abc import AsyncIterator

import pytest

from demo.stage import Stage
from replaywright.settings import Settings, load_settings
from tests.e2e.lab import FREEZE, Lab


@pytest.fixture(scope="module")
def lab_settings() -> Settings:
    """What the stage is built from; a module may have its own."""
    return load_settings()


@pytest.fixture(scope="module")
async def lab(lab_settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Lab]:
    """The demo's task, learned on the classic skin."""
    with pytest.MonkeyPatch.context() as environment:
        environment.delenv("REPLAYWRIGHT_MODEL", raising=False)
        environment.setenv(FREEZE, str(tmp_path_factory.mktemp("lab") / "freeze"))
        async with Stage(lab_settings, tell=lambda _text: None) as stage:
            lab = Lab(stage)
            await lab.learn()
            yield lab
