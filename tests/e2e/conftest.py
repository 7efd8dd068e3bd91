"""Stages for the tests of this folder: the demo's servers and a worker, on which the demo's task was learned once."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from demo.stage import Stage
from replaywright.settings import Settings, load_settings
from tests.e2e.lab import FREEZE, Lab

LABS: list[Lab] = []
"""Those that are open."""


@pytest.fixture(autouse=True)
async def _no_worker_stays_frozen() -> AsyncIterator[None]:
    """A test that failed leaves no frozen worker, and nothing to freeze at, to the next one or to its repetition."""
    yield
    for lab in LABS:
        await lab.thawed()


@asynccontextmanager
async def staged(settings: Settings, freeze: Path) -> AsyncIterator[Lab]:
    """A stage without a model of the caller's, on which nothing is learned."""
    with pytest.MonkeyPatch.context() as environment:
        environment.delenv("REPLAYWRIGHT_MODEL", raising=False)
        environment.setenv(FREEZE, str(freeze))
        async with Stage(settings, tell=lambda _text: None) as stage:
            lab = Lab(stage)
            LABS.append(lab)
            try:
                yield lab
            finally:
                LABS.remove(lab)


@asynccontextmanager
async def taught(settings: Settings, freeze: Path) -> AsyncIterator[Lab]:
    """The demo's task, learned on the classic skin."""
    async with staged(settings, freeze) as lab:
        await lab.learn()
        yield lab


@pytest.fixture(scope="session")
async def shared_lab(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Lab]:
    """The stage of all modules that need none of their own."""
    async with taught(load_settings(), tmp_path_factory.mktemp("shared-lab") / "freeze") as lab:
        yield lab


@pytest.fixture(scope="module")
async def lab(shared_lab: Lab) -> Lab:
    """The shared stage, with a worker that serves."""
    await shared_lab.served()
    return shared_lab


@pytest.fixture(scope="module")
async def bare_lab(shared_lab: Lab) -> Lab:
    """The shared stage for a tenant of the module's own, for whom nothing is learned: tasks declare their elements."""
    await shared_lab.served()
    return shared_lab.apart()


@pytest.fixture(scope="module")
def lab_settings() -> Settings:
    """What a module's own stage is built from."""
    return load_settings()


@pytest.fixture(scope="module")
async def own_lab(lab_settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Lab]:
    """A stage of the module's own, built from its `lab_settings`."""
    async with taught(lab_settings, tmp_path_factory.mktemp("own-lab") / "freeze") as lab:
        yield lab


@pytest.fixture(scope="module")
async def own_bare_lab(lab_settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Lab]:
    """The same, on which nothing is learned."""
    async with staged(lab_settings, tmp_path_factory.mktemp("own-lab") / "freeze") as lab:
        yield lab
