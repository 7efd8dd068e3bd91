"""The flow that everybody does, demo/send_mail.yaml, and whether the site says that it was done."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass

import httpx

from bench.replaying.contest import Failed
from demo.main_job import MAILS, TASK_FILE
from demo.stage import Stage
from replaywright.cli.tasks.taskfile import read_task
from replaywright.domain.task.tasks import Task, bind_parameters

_ARRIVAL_S = 5.0
_POLL_S = 0.01


@dataclass(frozen=True)
class Flow:
    """One mail, sent by the demo's webmail; the same one in every run, so that nobody has an easier one."""

    stage: Stage
    task: Task
    values: Mapping[str, str]

    async def clear(self) -> None:
        """Empty the site's folders, so that every run finds the same pages."""
        async with httpx.AsyncClient(trust_env=False) as client:
            answer = await client.post(f"{self.stage.webmail}/__admin__/reset")
            answer.raise_for_status()

    async def arrived(self) -> float:
        """When the site accepted the mail, in seconds since the epoch.

        Raises:
            Failed: it did not, or not just this one, or more than once.
        """
        deadline = time.monotonic() + _ARRIVAL_S
        sent = self.stage.sent()
        while not sent and time.monotonic() < deadline:
            await asyncio.sleep(_POLL_S)
            sent = self.stage.sent()
        if len(sent) != 1:
            raise Failed(f"the site accepted {len(sent)} mails, not 1")
        wrong = [name for name in MAILS["1"] if getattr(sent[0], name) != self.values[name]]
        if wrong:
            raise Failed(f"the mail's {', '.join(wrong)} is not what was to be sent")
        return sent[0].time.timestamp()


def flow_on(stage: Stage) -> Flow:
    """The flow with the demo's first mail."""
    task = read_task(str(TASK_FILE))
    return Flow(stage, task, bind_parameters(task, {"base_url": stage.webmail, **MAILS["1"]}))
