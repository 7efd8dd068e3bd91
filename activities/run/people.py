"""Questions to people: the view of the page that they need, keys for codes, and notices."""

import logging
from dataclasses import dataclass
from datetime import UTC, datetime

from temporalio import activity

from activities.heartbeats import heartbeats
from activities.plan.pictures import pictured
from activities.session.attachments import Attachments
from replaywright.domain.notice.notices import of_question
from replaywright.domain.page.saying import ABOUT, texts_of
from replaywright.domain.page.snapshots import Snapshot
from replaywright.domain.task.questions import KeyRequest, LookForPerson, QuestionNotice, SeenByPerson, quoted
from replaywright.errors import ActionFailed
from replaywright.ports.people import Announcing, Codes
from replaywright.ports.stores import Artifacts, Secrets

_log = logging.getLogger("replaywright.people")

SAID_KEPT = 4
"""Number of texts of the site that are kept, besides the page's title."""


@dataclass(frozen=True, eq=False)
class PersonActivities:
    """Activities `person.look`, `person.key` and `person.notify`."""

    attachments: Attachments
    artifacts: Artifacts
    secrets: Secrets
    codes: Codes
    notices: Announcing | None = None
    """None: nobody is told but those who look."""

    @activity.defn(name="person.look")
    async def look(self, request: LookForPerson) -> SeenByPerson:
        """Return a picture of the screen, secrets masked, and the site's own words. Touches nothing.

        Raises:
            SessionLost: the browser is gone.
        """
        async with heartbeats("showing the page to a person"):
            held = await self.attachments.hold(request.session, request.epoch)
            url = self.secrets.redact(held.browser.url)
            try:
                seen = await pictured(held.browser, self.artifacts, self.secrets, None)
            except ActionFailed as exc:
                return SeenByPerson(url=url, picture_missing=self.secrets.redact(str(exc))[:200])
            return SeenByPerson(
                url=url, site_says=words_of(seen.snapshot), picture=seen.picture, picture_missing=seen.missing
            )

    @activity.defn(name="person.key")
    async def key(self, request: KeyRequest) -> str:
        """A public key that a code for the question is sealed with. Repeated, it is another one, and the last counts.

        Raises:
            StoreUnavailable: its private part cannot be kept.
        """
        asked = {"tenant": request.tenant, "run_id": request.run_id, "question": request.question}
        return await self.codes.offer(**asked, ttl_s=request.ttl_s)

    @activity.defn(name="person.notify")
    async def notify(self, request: QuestionNotice) -> None:
        """Raise a notice of the question, for whoever the operator wants told. Repeated, it counts once.

        Raises:
            RPCError: Temporal does not take it.
        """
        question = request.question
        _log.info("run %s: %s: question %s: %s", request.run_id, request.event, question.id, question.text)
        if self.notices is not None:
            await self.notices.tell(of_question(request, datetime.now(UTC)))


def words_of(snapshot: Snapshot) -> tuple[str, ...]:
    """Return the page's title and its most prominent texts."""
    words = dict.fromkeys(quoted(snapshot.title, *texts_of(snapshot, ABOUT)))
    return tuple(words)[: SAID_KEPT + 1]
