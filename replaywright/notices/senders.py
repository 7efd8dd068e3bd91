"""Sends a delivery to one destination."""

import asyncio
import json
import logging
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Final

import httpx

from replaywright.domain.common.templates import fill, secrets_in
from replaywright.domain.notice.notices import NoticeKind
from replaywright.domain.notice.outbox import Told
from replaywright.domain.notice.routing import Destination
from replaywright.errors import NoticeFailed
from replaywright.notices.command import CommandNotices
from replaywright.notices.wording import as_data, as_markdown, as_text, as_title

LIMIT_S: Final = 30.0
"""Time limit of one try."""
_EXCERPT_LIMIT = 200
_BAD: Final = frozenset(
    {NoticeKind.FAILED, NoticeKind.SUSPECT, NoticeKind.BUDGET, NoticeKind.UNANSWERED, NoticeKind.SESSION}
)


class Senders:
    """`Deliveries` over HTTP, through Apprise, and by commands."""

    def __init__(self, secret: Callable[[str], str], redact: Callable[[str], str]) -> None:
        """Resolve secrets by `secret`, which may take its time and raises `SecretMissing`; hide them by `redact`."""
        self._secret = secret
        self._redact = redact

    async def send(
        self, destination: Destination, told: Sequence[Told], *, id_: str, tenant: str, dashboard: str | None
    ) -> None:
        """Send a delivery; `id_` is the same for each try of it.

        Raises:
            NoticeFailed: it cannot be delivered; the message has no secret.
            SecretMissing: a secret of the destination has no value here.
        """
        try:
            await self._send(destination, told, id_, tenant, dashboard)
        except NoticeFailed as exc:
            raise NoticeFailed(self._redact(str(exc))) from None

    async def _send(
        self, destination: Destination, told: Sequence[Told], id_: str, tenant: str, dashboard: str | None
    ) -> None:
        if destination.apprise is not None:
            address = await _filled(destination.apprise, self._secret)
            await asyncio.to_thread(_through_apprise, address, told, dashboard)
            return
        body = json.dumps(as_data(told, tenant, dashboard), ensure_ascii=False)
        if destination.command is not None:
            await CommandNotices(destination.command).tell(f"{body}\n")
        else:
            await _posted(destination, body, id_, self._secret)


async def _posted(destination: Destination, body: str, id_: str, secret: Callable[[str], str]) -> None:
    address = await _filled(destination.webhook or "", secret)
    headers = {"Content-Type": "application/json", "Webhook-Id": id_}
    now = datetime.now(UTC)
    headers["Webhook-Timestamp"] = str(int(now.timestamp()))
    if destination.signed_with is not None:
        from standardwebhooks import Webhook  # noqa: PLC0415 - needed by who has one

        value = await asyncio.to_thread(secret, destination.signed_with)
        try:
            headers["Webhook-Signature"] = Webhook(value).sign(id_, now, body)
        except ValueError as exc:
            raise NoticeFailed(
                f"the secret {destination.signed_with!r} cannot sign a webhook: expected `whsec_` and Base64"
            ) from exc
    try:
        async with httpx.AsyncClient(timeout=LIMIT_S, trust_env=True) as client:
            answer = await client.post(address, content=body.encode(), headers=headers)
    except (httpx.HTTPError, httpx.InvalidURL) as exc:
        raise NoticeFailed(f"the webhook cannot be reached: {type(exc).__name__}") from exc
    if not answer.is_success:
        raise NoticeFailed(f"the webhook answered {answer.status_code}: {answer.text.strip()[:_EXCERPT_LIMIT]}")


def _through_apprise(address: str, told: Sequence[Told], dashboard: str | None) -> None:
    from apprise import Apprise, NotifyFormat, NotifyType  # noqa: PLC0415 - takes a while to load
    from apprise.conversion import convert_between  # noqa: PLC0415 - as above
    from apprise.logger import LogCapture  # noqa: PLC0415 - as above

    sender = Apprise()
    if not sender.add(address):
        raise NoticeFailed("Apprise knows no such address: see its documentation for the service's notation")
    form, title, body = NotifyFormat.TEXT, as_title(told), as_text(told, dashboard)
    if sender[0].notify_format is NotifyFormat.MARKDOWN:  # Apprise would escape the marks in links, and none in titles
        escape = partial(convert_between, NotifyFormat.TEXT, NotifyFormat.MARKDOWN)
        form, title, body = NotifyFormat.MARKDOWN, "", as_markdown(told, dashboard, escape)
    kind = NotifyType.FAILURE if any(one.notice.kind in _BAD for one in told) else NotifyType.INFO
    with LogCapture(level=logging.WARNING) as log:  # type: ignore[no-untyped-call]
        is_sent = sender.notify(title=title, body=body, notify_type=kind, body_format=form)
        said = log.getvalue().strip() if log is not None else ""
    if not is_sent:
        raise NoticeFailed(f"Apprise could not send it: {said[-_EXCERPT_LIMIT:] or 'it gives no reason'}")


async def _filled(text: str, secret: Callable[[str], str]) -> str:
    names = secrets_in(text)
    if not names:
        return text
    values = {name: await asyncio.to_thread(secret, name) for name in names}
    return fill(text, {}, values.__getitem__)
