"""Browser actions as local activities: in the process that runs the workflow, where it holds the browser as well."""

from collections.abc import Awaitable, Callable
from typing import Any

from temporalio import activity
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory

from activities.actions import Actions
from replaywright.domain.actions import Action
from replaywright.domain.runs import ELSEWHERE, ActionRequest, NearOutcome


class NearActions:
    """Activities `browser.<action>` for workflow workers.

    Registered with every worker that runs `BrowserTask`, whether or not its process has browsers. A process takes the
    steps that would come to it as regular activities, too, and no others: it may still hold a browser that another one
    has taken over.
    """

    def __init__(self) -> None:
        self._actions: Actions | None = None
        self._queue = ""

    def serve(self, actions: Actions | None, queue: str = "") -> None:
        """From now on steps of sessions on `queue` are performed by `actions`; None: by nobody in this process."""
        self._actions, self._queue = actions, queue

    def activities(self) -> list[Callable[..., Awaitable[Any]]]:
        """All of them."""
        return [self._named(action) for action in Action]

    def _named(self, action: Action) -> Callable[[ActionRequest], Awaitable[NearOutcome]]:
        @activity.defn(name=f"browser.{action}")
        async def perform(request: ActionRequest) -> NearOutcome:
            actions = self._actions
            if actions is None or request.session.queue != self._queue:
                raise ApplicationError(
                    f"session {request.session.session_id} is held by another process",
                    type=ELSEWHERE,
                    non_retryable=True,
                    category=ApplicationErrorCategory.BENIGN,
                )
            return NearOutcome(asked=request, outcome=await actions.performed(request))

        return perform
