"""Runs whose sessions are contexts of a Chromium that runs already: worker, keeper and browser are lost in turn."""

import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from demo.stage import Stage
from replaywright.settings import load_settings
from replaywright.stack.chromium import find_chromium
from tests.adapters.chromium import Chromium
from tests.adapters.test_remote_browser import FLAGS
from tests.e2e.lab import FREEZE, Lab

pytestmark = pytest.mark.slow

_SEND = 9
"""The step that sends the mail."""


@pytest.fixture(scope="module")
async def chromium(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Chromium]:
    folder = tmp_path_factory.mktemp("remote")
    browser = Chromium(find_chromium(load_settings().chromium).path, folder / "profile", *FLAGS)
    async with browser:
        yield browser


@pytest.fixture(scope="module")
async def lab(chromium: Chromium, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Lab]:
    settings = load_settings(browser_endpoint=chromium.address, max_browsers=4)
    with pytest.MonkeyPatch.context() as environment:
        environment.delenv("REPLAYWRIGHT_MODEL", raising=False)
        environment.setenv(FREEZE, str(tmp_path_factory.mktemp("lab") / "freeze"))
        async with Stage(settings, tell=lambda _text: None) as stage:
            lab = Lab(stage)
            await lab.learn()
            yield lab


@pytest.mark.long
async def test_a_worker_that_dies_with_its_mail_at_the_gate_is_followed_by_one_that_sends_it_once(lab: Lab) -> None:
    order = lab.order()
    await lab.frozen_at(lab.stage.worker, "held", _SEND, order)
    assert lab.mails(order) == []
    assert (await lab.session()).chromium is None
    await lab.replace_worker()

    ending = await lab.follow(order)

    assert ending.status == "done", ending.result.model_dump_json(exclude_defaults=True)
    assert ending.result.totals.recoveries == 1
    lab.assert_one_right_mail(order)


@pytest.mark.long
async def test_a_session_whose_keeper_dies_is_gone_and_rebuilt_in_a_context_of_its_own(lab: Lab) -> None:
    order = lab.order()
    await lab.frozen_at(lab.stage.worker, "acted", 6, order)
    os.kill((await lab.session()).keeper.pid, signal.SIGKILL)
    lab.thaw(lab.stage.worker)

    ending = await lab.follow(order)

    assert ending.status == "done", ending.result.model_dump_json(exclude_defaults=True)
    assert ending.result.totals.recoveries >= 1
    lab.assert_one_right_mail(order)


@pytest.mark.long
async def test_a_browser_that_dies_and_comes_back_at_the_same_address_has_the_run_rebuilt_in_it(
    lab: Lab, chromium: Chromium, tmp_path: Path
) -> None:
    port = chromium.address.rpartition(":")[2]
    order = lab.order()
    await lab.frozen_at(lab.stage.worker, "start", 6, order)
    chromium.process.kill()
    await chromium.process.wait()
    async with Chromium(chromium.path, tmp_path / "next", *FLAGS, f"--remote-debugging-port={port}"):
        lab.thaw(lab.stage.worker)

        ending = await lab.follow(order)

        assert ending.status == "done", ending.result.model_dump_json(exclude_defaults=True)
        assert ending.result.totals.recoveries >= 1
        lab.assert_one_right_mail(order)
