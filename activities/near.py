"""What the process that runs a workflow does itself, as local activities: the browser actions of its own sessions."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from temporalio import activity
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory

from activities.actions import Actions
from replaywright.domain.actions import Action
from replaywright.domain.runs import ELSEWHERE, GOES_ON, ActionRequest, NearOutcome
from replaywright.domain.sessions import Here

NEAR_S = 3.0
"""What takes longer goes on, and a regular activity waits for it: a run that has a local activity under way hears of
nothing else. Temporal prolongs the workflow task after 4 s; the workflow's clock is another one in replays then."""


class NearActions:
    """Activities `browser.<action>` and `session.here` for workflow workers.

    Registered with every worker that runs `BrowserTask`, whether or not its process has browsers. A process takes the
    steps that would come to it as regular activities, too, and no others: it may still hold a browser that another one
    has taken over.
    """

    def __init__(self) -> None:
        self._actions: Actions | None = None
        self._here = Here()

    def serve(self, actions: Actions | None, queue: str = "", host: str = "") -> None:
        """From now on steps of sessions on `queue` are performed by `actions`; None: by nobody in this process."""
        self._actions, self._here = actions, Here(queue=queue, host=host)

    def activities(self) -> list[Callable[..., Awaitable[Any]]]:
        """All of them."""
        return [*(self._named(action) for action in Action), self.here]

    @activity.defn(name="session.here")
    async def here(self) -> Here:
        """Where this process has its own browsers: a run whose browser is there does its steps without the server."""
        return self._here

    def _named(self, action: Action) -> Callable[[ActionRequest], Awaitable[NearOutcome]]:
        @activity.defn(name=f"browser.{action}")
        async def perform(request: ActionRequest) -> NearOutcome:
            actions = self._actions
            if actions is None or request.session.queue != self._here.queue:
                raise ApplicationError(
                    f"session {request.session.session_id} is held by another process",
                    type=ELSEWHERE,
                    non_retryable=True,
                    category=ApplicationErrorCategory.BENIGN,
                )
            performing = asyncio.create_task(actions.performed(request))
            try:
                await asyncio.wait({performing}, timeout=NEAR_S)
            except asyncio.CancelledError:
                performing.cancel()
                await asyncio.wait({performing})
                raise
            if performing.done():
                return NearOutcome(asked=request, outcome=performing.result())
            actions.go_on(performing)
            raise ApplicationError(
                f"step {request.sequence} takes longer than {NEAR_S:g} s and goes on",
                type=GOES_ON,
                non_retryable=True,
                category=ApplicationErrorCategory.BENIGN,
            )

        return perform
