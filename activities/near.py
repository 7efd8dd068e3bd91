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

    Registered with every worker that runs `BrowserTask`, whether or not its process has browsers: one that does not
    hold the session says so, and the workflow schedules the step where it is held.
    """

    def __init__(self) -> None:
        self._actions: Actions | None = None

    def serve(self, actions: Actions | None) -> None:
        """From now on steps are performed by `actions`; None: by nobody in this process."""
        self._actions = actions

    def activities(self) -> list[Callable[..., Awaitable[Any]]]:
        """All of them."""
        return [self._named(action) for action in Action]

    def _named(self, action: Action) -> Callable[[ActionRequest], Awaitable[NearOutcome]]:
        @activity.defn(name=f"browser.{action}")
        async def perform(request: ActionRequest) -> NearOutcome:
            actions = self._actions
            if actions is None or not actions.holds(request):
                raise ApplicationError(
                    f"session {request.session.session_id} is held by another process",
                    type=ELSEWHERE,
                    non_retryable=True,
                    category=ApplicationErrorCategory.BENIGN,
                )
            return NearOutcome(asked=request, outcome=await actions.performed(request))

        return perform
