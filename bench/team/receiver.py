"""`replaywright mcp --http --hooks` as a process: requests and webhooks start runs of the demo's skill there."""

import json
import os
import secrets
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from standardwebhooks import Webhook

from replaywright.cli.servers.store import open_store
from replaywright.domain.skill.skills import Skill, SkillStatus
from replaywright.stack import Child, free_port, start_child
from tests.e2e.lab import Lab

NAME = "mail-somebody"
_READY_S = 60.0


def hook_key() -> str:
    """Return a new secret that signs webhooks."""
    return "whsec_" + "".join(secrets.choice("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") for _ in range(40))


@dataclass
class Receiver:
    """The process, and what opens it."""

    lab: Lab
    folder: Path
    """Of its token and its logs."""
    hooks: str = field(default_factory=hook_key)
    port: int = field(default_factory=free_port)
    starts: int = 0
    child: Child | None = None

    @property
    def url(self) -> str:
        """Return the beginning of its addresses."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def token(self) -> str:
        """Return the token that it wrote."""
        return (self.folder / "token").read_text("ascii").strip()

    async def begin(self) -> None:
        """Start it, or start it again where it was.

        Raises:
            StackFailed: it did not come up.
        """
        self.starts += 1
        log = self.folder / f"receiver-{self.starts}.log"
        options = ("--http", "--port", str(self.port), "--token-file", str(self.folder / "token"), "--hooks", "HOOKS")
        settings = self.lab.place.settings
        self.child = start_child(
            "receiver",
            [sys.executable, "-m", "replaywright", "mcp", *options],
            log=log,
            environment={
                **os.environ,
                **self.lab.stage.stack.environment(),
                "REPLAYWRIGHT_TENANT": settings.tenant,
                "REPLAYWRIGHT_SECRET_HOOKS": self.hooks,
            },
        )

        async def listens() -> bool:
            return log.exists() and "HTTP: " in log.read_text()

        await self.child.wait_until(listens, _READY_S)

    async def kill(self) -> None:
        """End it by SIGKILL."""
        if self.child is not None:
            self.child.kill()
            await self.child.ended_within(_READY_S)

    def signed(
        self, data: Mapping[str, object], id_: str, *, at: datetime | None = None
    ) -> tuple[bytes, dict[str, str]]:
        """Return the body and the headers of a webhook."""
        body, now = json.dumps(data).encode(), at or datetime.now(UTC)
        signature = Webhook(self.hooks).sign(id_, now, body.decode())
        headers = {"Webhook-Id": id_, "Webhook-Timestamp": str(int(now.timestamp())), "Webhook-Signature": signature}
        return body, headers


def label_of(lab: Lab) -> str:
    """Return the skill's label, which is another one for each tenant."""
    return f"Mail somebody for {lab.place.settings.tenant}"


@asynccontextmanager
async def received(lab: Lab, folder: Path) -> AsyncIterator[Receiver]:
    """Have the demo's task as a skill of the lab's tenant, and the receiver run."""
    folder.mkdir(parents=True)
    label = label_of(lab)
    skill = Skill(name=NAME, task=lab.task, site=lab.stage.webmail, status=SkillStatus.ACTIVE, label=label)
    async with open_store(lab.place.settings) as store:
        if await store.knowledge.skills.get(store.tenant, NAME) is None:
            await store.knowledge.skills.save(store.tenant, skill, who="the measurement")
    receiver = Receiver(lab, folder)
    try:
        await receiver.begin()
        yield receiver
    finally:
        await receiver.kill()
