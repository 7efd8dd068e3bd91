"""The site as its judge sees it: what it has, and whether it is at rest."""

import asyncio

import httpx

from bench.message_site.log import Log

_LOOK_S = 0.2


class Judge:
    """Asks the site, and reads its log."""

    def __init__(self, url: str, log: Log) -> None:
        self.url = url
        self._log = log

    def presses(self, subject: str) -> tuple[str, ...]:
        """The press that each submission of this subject came of which the site has."""
        return tuple(one.press for one in self._log.sent(subject))

    async def came(self, subject: str) -> int:
        """How many came in whole; returns when all of them are decided."""
        async with httpx.AsyncClient(trust_env=False, base_url=self.url) as client:
            while True:
                state = (await client.get("/state", params={"subject": subject})).json()
                if not state["underway"]:
                    return int(state["came"])
                await asyncio.sleep(_LOOK_S)

    async def plant(self, behaviour: str, subject: str) -> None:
        """Have a submission of somebody else."""
        async with httpx.AsyncClient(trust_env=False, base_url=self.url) as client:
            await client.post(f"/submit/{behaviour}", data={"subject": subject, "press": "somebody else"})
