"""Looking at the server again and again: whether it is there, and whether what it is given is safe with it."""

import asyncio
import logging
import time

from cache.connection import Client, StoreReport, check_store

log = logging.getLogger("replaywright.cache")

LOOK_EVERY_S = 15.0
TELL_EVERY_S = 60.0
"""What is wrong is told when it changes, and then so often."""


class StoreWatch:
    """What the last look at the server found. Nothing is looked at while a step waits."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._told: tuple[str, ...] = ()
        self._told_at = float("-inf")
        self.refusal = ""
        """Why no step with consequences may be performed with this store; empty when it may."""

    async def look(self) -> StoreReport:
        """Look once, and tell what is new; raises nothing."""
        report = await check_store(self._client)
        if report.version:  # a server that cannot be reached says nothing about what it keeps
            forbidding = [finding for finding in report.findings if finding.forbids_commits]
            told = "; ".join(f"{finding.message}: {finding.remedy}" for finding in forbidding)
            self.refusal = told and f"Redis at {report.address}: {told}"
        self._tell(report)
        return report

    async def keep_looking(self) -> None:
        """Look every 15 s, for ever."""
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            await self.look()

    def _tell(self, report: StoreReport) -> None:
        codes = tuple(finding.code for finding in report.findings)
        now = time.monotonic()
        if codes == self._told and (not codes or now - self._told_at < TELL_EVERY_S):
            return
        if self._told and not codes:
            log.info("Redis at %s is as it should be again", report.address)
        for finding in report.findings:
            level = logging.ERROR if finding.level == "error" else logging.WARNING
            log.log(level, "Redis at %s: %s: %s", report.address, finding.message, finding.remedy)
        self._told, self._told_at = codes, now
