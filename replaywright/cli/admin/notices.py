"""`replaywright admin notices`: what people were told, what never arrived, and a notice to try it."""

import uuid
from datetime import UTC, datetime
from typing import Any

from activities.run.notices import Announcer
from replaywright.cli import output
from replaywright.cli.app import admin
from replaywright.cli.options import Json
from replaywright.cli.servers.connect import Backend, open_backend, open_existing_backend, temporal_errors
from replaywright.cli.servers.noticing import standing_of_notices
from replaywright.domain.notice.commands import workflow_id
from replaywright.domain.notice.notices import Notice, NoticeKind
from replaywright.errors import InputInvalid
from replaywright.notices.file import SETTING, read_notices
from replaywright.stack.keyring import signer_of

notices_app = admin.group(
    "notices",
    "Who is told what happened, and whether it arrived.",
    "replaywright admin notices test",
)


@notices_app.command("list")
async def list_notices(json: Json = False) -> None:
    """Show what was delivered, what waits, what is being tried again and why, and what was given up.

    Example: `replaywright admin notices list`
    """
    async with open_existing_backend() as here:
        standing = await standing_of_notices(here)
        if standing is None:
            raise InputInvalid(f"no worker tells anybody: set {SETTING} for the workers (docs/reference/notices.md)")
        with temporal_errors(here.settings):
            trying = await trying_again(here)
    if json:
        output.print_json({**standing.model_dump(mode="json", by_alias=True), "tryingAgain": trying})
        return
    output.print_line(f"deliveries that arrived: {standing.sent}; notices given up: {standing.lost_in_all}")
    for name, number in sorted(standing.held.items()):
        output.print_line(
            f"{name}: {number} not told yet: quiet hours, a cause told lately, or a delivery that is tried again"
        )
    for line in trying:
        output.print_line(f"being tried again: {line}")
    for lost in standing.lost:
        output.print_line(f"never arrived at {lost.destination}, {lost.at:%Y-%m-%d %H:%M} UTC: {lost.why}")
        for title in lost.titles:
            output.print_line(f"  {title}")


@notices_app.command("test")
async def send_test() -> None:
    """Send a notice to every destination, whatever it is told of and at whatever hour.

    Example: `replaywright admin notices test`
    """
    async with open_backend() as here:
        settings = here.settings
        if settings.notices is None:
            raise InputInvalid(f"{SETTING}: not set; name the YAML file that says who is told of what")
        file = read_notices(settings.notices)
        notice = Notice(
            id=f"test {uuid.uuid4().hex}",
            kind=NoticeKind.TEST,
            cause=f"test {uuid.uuid4().hex}",
            title="Replaywright: a notice to try it",
            lines=("Nothing has happened.",),
            at=datetime.now(UTC),
            tenant=settings.tenant,
        )
        versioned = settings.build_id is not None
        announcer = Announcer(
            here.client, signer_of(settings), queue=here.queue, tenant=settings.tenant, versioned=versioned
        )
        with temporal_errors(settings):
            await announcer.tell(notice)
    output.print_line(f"on its way to {', '.join(file.to)}; `replaywright admin notices list` tells what arrived")


async def trying_again(here: Backend) -> list[str]:
    """Return what has failed and is tried again, with why.

    Raises:
        RPCError: Temporal does not say.
    """
    description = await here.client.get_workflow_handle(workflow_id(here.settings.tenant)).describe()
    return [line for line in map(_trying, description.raw_description.pending_activities) if line]


def _trying(activity: Any) -> str:
    if activity.attempt < 2:
        return ""
    return f"{activity.activity_type.name}, try {activity.attempt}: {activity.last_failure.message}"
