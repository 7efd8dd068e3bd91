"""Periodic check that the server is reachable and safe for the ledger."""

import asyncio
import logging
import time

from cache.connection import Client, StoreReport, check_store

log = logging.getLogger("replaywright.cache")

LOOK_EVERY_S = 15.0
TELL_EVERY_S = 60.0
"""Interval at which an unchanged problem is logged again."""


class StoreWatch:
    """Result of the last check. No step waits for a check."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._told: tuple[str, ...] = ()
        self._told_at = float("-inf")
        self.refusal = ""
        """Reason to refuse steps with consequences; empty without one."""

    async def look(self) -> StoreReport:
        """Check once and log changes; raises nothing."""
        report = await check_store(self._client)
        if report.version:  # an unreachable server has no findings about its settings
            forbidding = [finding for finding in report.findings if finding.forbids_commits]
            reasons = "; ".join(f"{finding.message}: {finding.remedy}" for finding in forbidding)
            self.refusal = reasons and f"Redis at {report.address}: {reasons}"
        self._tell(report)
        return report

    async def keep_looking(self) -> None:
        """Check every 15 s, forever."""
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
