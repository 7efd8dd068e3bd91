"""The browser of a recording: a keeper's Chromium, under the network policy that runs of the task will have."""

import asyncio
import contextlib
import os
import secrets
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Final

from replaywright.browser.devtools.attach import ChromiumBrowsers
from replaywright.browser.recording.watching import WatchedBrowser
from replaywright.cli.runs.starting import refuse_what_is_blocked
from replaywright.domain.policy.host_rules import network_policy
from replaywright.domain.policy.policy_hosts import narrowed
from replaywright.domain.session.network_policy import NetworkPolicy
from replaywright.domain.session.sessions import SessionRef
from replaywright.domain.task.tasks import parse_task
from replaywright.errors import ReplaywrightError
from replaywright.grants import granted_hosts
from replaywright.keeper.host.identity import identify
from replaywright.keeper.host.local import LocalKeepers
from replaywright.keeper.host.routes import site_certificates, upstream_routes
from replaywright.keeper.protocol import KeeperOptions
from replaywright.policy_files import operators_policy
from replaywright.settings import Settings
from replaywright.stack.chromium import find_chromium
from replaywright.stack.own_services import own_services
from replaywright.vault.environment import EnvironmentSecrets

_EPOCH: Final = 1
_RENEW_EVERY_S: Final = 10.0


def has_screen(environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether a window can be shown here."""
    return bool(environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY"))


@contextlib.asynccontextmanager
async def browsing(settings: Settings, url: str, *, headless: bool) -> AsyncIterator[tuple[WatchedBrowser, str]]:
    """Start a Chromium that may open the page at `url` and what a run that begins there may; yield it and its endpoint.

    Raises:
        InputInvalid: `url` is no address.
        PolicyBlocked: a rule forbids it.
        StackFailed: Chromium does not start.
    """
    task = parse_task({"task": "record", "url": url, "steps": [{"action": "goto", "url": url}]}, "record")
    refuse_what_is_blocked(settings, task, {})
    operator = operators_policy(settings.policy)
    policy = narrowed(network_policy(task, {}), operator, granted_hosts(settings.home))
    vault = EnvironmentSecrets(os.environ, settings.home)
    chromium = await asyncio.to_thread(find_chromium, settings.chromium)
    options = KeeperOptions(
        executable=str(chromium.path),
        network=NetworkPolicy(own=own_services(settings), own_networks=settings.networks_of_own),
        routes=await asyncio.to_thread(upstream_routes, operator, vault),
        certificates=await asyncio.to_thread(site_certificates, operator, vault),
        epoch=_EPOCH,
        headless=headless,
        no_sandbox=not settings.chromium_sandbox,
        owner=identify(os.getpid()),
    )
    keepers, browsers = LocalKeepers(Path(settings.home) / "sessions", options), ChromiumBrowsers()
    launched = await keepers.launch(secrets.token_hex(6), policy)
    session = launched.model_copy(update={"epoch": _EPOCH})
    keeping = asyncio.create_task(_keep_lease(keepers, session))
    try:
        endpoint = await keepers.attach(session, _EPOCH)
        watched = await browsers.watch(endpoint)
        try:
            yield watched, endpoint
        finally:
            await watched.close()
    finally:
        keeping.cancel()
        await browsers.close()
        await keepers.close(session, is_over=True)


async def _keep_lease(keepers: LocalKeepers, session: SessionRef) -> None:
    """Renew the lease until the browser is gone."""
    with contextlib.suppress(ReplaywrightError):
        while True:
            await asyncio.sleep(_RENEW_EVERY_S)
            await keepers.renew(session, _EPOCH)
