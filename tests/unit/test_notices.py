"""Notices: who is told of what, when, once for each cause; and how each destination gets them, over real HTTP."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from aiosmtpd.handlers import Message
from aiosmtpd.smtp import SMTP
from apprise.plugins.slack import NotifySlack
from standardwebhooks import Webhook, WebhookVerificationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route as Path_

from bench.wob.serving import serving
from replaywright.domain.notice.notices import Notice, NoticeKind, of_question
from replaywright.domain.notice.outbox import DELIVERED_AT_ONCE, Outbox, Told
from replaywright.domain.notice.routing import Destination, NoticeFile, QuietHours, Route
from replaywright.domain.secrets.redaction import redact
from replaywright.domain.task.questions import Ask, QuestionKind, QuestionNotice, SeenByPerson, as_question
from replaywright.errors import InputInvalid, NoticeFailed
from replaywright.notices.command import CommandNotices
from replaywright.notices.file import read_notices
from replaywright.notices.senders import Senders
from tests.adapters.test_tls import Authority
from tests.e2e.plain_site import Answer, Asked
from tests.e2e.plain_site import serving as plainly

NOW = datetime(2026, 11, 27, 21, 30, tzinfo=UTC)
SIGNING = "whsec_" + "Q2FuYXJ5IHNpbmdzIGluIHRoZSBtaW5lLCBsb3VkbHku"
ASK = Ask(kind=QuestionKind.APPROVE, text="may it be sent?", sequence=2, answers=("approve", "refuse"))


def notice(
    cause: str = "c", *, kind: NoticeKind = NoticeKind.FAILED, task: str = "invoices", minute: int = 0
) -> Notice:
    return Notice(
        id=f"{cause}-{minute}",
        kind=kind,
        cause=cause,
        title=f"{task}: failed at step 3",
        lines=("step 2 was sent",),
        at=NOW + timedelta(minutes=minute),
        tenant="acme",
        task=task,
        run_id="invoices/1",
        command="replaywright show invoices/1",
        page="run?id=invoices%2F1",
    )


def route(due: datetime = NOW, again_s: float = 3600) -> Route:
    return Route(destination="ops", due=due, again_s=again_s)


# ---------------------------------------------------------------------------------------------- once for each cause


def test_the_first_notice_of_a_cause_is_told_at_once_and_the_others_together_an_hour_later() -> None:
    first, box = Outbox().taking(notice(), route()).delivering(NOW)
    for minute in range(1, 200):
        at = NOW + timedelta(seconds=minute)
        box = box.taking(notice(minute=minute), route(at))
    early, box = box.delivering(NOW + timedelta(minutes=59))
    late, box = box.delivering(NOW + timedelta(minutes=61))

    assert [(one.notice.id, one.times) for one in first] == [("c-0", 1)]
    assert early == ()
    assert [(one.notice.id, one.times) for one in late] == [("c-199", 199)]
    assert box.due is None


def test_a_destination_that_was_away_gets_the_oldest_causes_first_and_all_of_them() -> None:
    box = Outbox()
    for number in range(DELIVERED_AT_ONCE + 5):
        box = box.taking(notice(f"c{number}", minute=number), route())
    first, box = box.delivering(NOW)
    second, box = box.delivering(NOW)

    assert [one.notice.cause for one in (*first, *second)] == [f"c{number}" for number in range(DELIVERED_AT_ONCE + 5)]
    assert box.held == ()


# -------------------------------------------------------------------------------------------------------- who and when


def test_kinds_and_names_of_tasks_decide_who_is_told() -> None:
    destination = Destination(command="x", about=(NoticeKind.FAILED,), tasks=("inv*",))

    assert destination.wants(notice())
    assert not destination.wants(notice(task="orders"))
    assert not destination.wants(notice(kind=NoticeKind.HEALED))
    assert destination.wants(notice(kind=NoticeKind.TEST, task=""))


@pytest.mark.parametrize(
    ("at", "end"),
    [
        ("2026-11-27T21:30+00:00", "2026-11-28T06:00+00:00"),  # 22:30 in Berlin, until 07:00 there
        ("2026-11-28T05:59+00:00", "2026-11-28T06:00+00:00"),
        ("2026-11-28T06:00+00:00", None),
        ("2026-11-27T20:59+00:00", None),
    ],
)
def test_quiet_hours_go_over_midnight_in_their_own_zone(at: str, end: str | None) -> None:
    quiet = QuietHours.model_validate({"from": "22:00", "until": "07:00", "zone": "Europe/Berlin"})

    found = quiet.end_after(datetime.fromisoformat(at))

    assert found == (None if end is None else datetime.fromisoformat(end))


def test_quiet_hours_begin_on_their_days_only() -> None:
    weekend = QuietHours.model_validate({"from": "00:00", "until": "00:00", "days": ["sat", "sun"]})

    assert weekend.end_after(datetime(2026, 11, 28, 12, tzinfo=UTC)) == datetime(2026, 11, 29, tzinfo=UTC)
    assert weekend.end_after(datetime(2026, 11, 27, 12, tzinfo=UTC)) is None


def test_a_question_that_ends_in_the_quiet_hours_is_told_in_them() -> None:
    destination = Destination.model_validate({"command": "x", "quiet": {"from": "21:00", "until": "07:00"}})

    def asked(within_s: float | None) -> Notice:
        question = as_question(ASK.model_copy(update={"within_s": within_s}), number=1, now=NOW, seen=SeenByPerson())
        return of_question(QuestionNotice(event="asked", run_id="r", task="t", tenant="acme", question=question), NOW)

    assert destination.due(asked(3600), NOW) == NOW
    assert destination.due(asked(None), NOW) == datetime(2026, 11, 28, 7, tzinfo=UTC)
    assert destination.due(notice(), NOW) == datetime(2026, 11, 28, 7, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("to: {}", "to: "),
        ("to: {ops: {}}", "expected one of webhook, apprise and command, found none"),
        ("to: {ops: {webhook: 'https://a', command: b}}", "found webhook and command"),
        ("to: {ops: {webhook: 'ftp://a'}}", "https://"),
        ("to: {ops: {command: x, signed_with: KEY}}", "only a webhook is signed"),
        ("to: {ops: {command: x, quiet: {from: '25:00', until: '07:00'}}}", "'22:00'"),
        ("to: {ops: {command: x, quiet: {from: '22:00', until: '07:00', zone: Berlin}}}", "Europe/Berlin"),
        ("to: {ops: {command: x, quiet: {from: '22:00', until: '07:00', days: [caturday]}}}", "caturday"),
        ("to: {ops: {command: x, again: soon}}", "15min"),
        ("to: {ops: {command: x, about: [fire]}}", "fire"),
        ("to: {ops: {comand: x}}", "comand"),
    ],
)
def test_a_mistake_in_the_file_is_told_with_the_setting_the_field_and_what_was_expected(
    tmp_path: Path, text: str, said: str
) -> None:
    file = tmp_path / "notices.yaml"
    file.write_text(text)

    with pytest.raises(InputInvalid) as failure:
        read_notices(file)

    assert f"REPLAYWRIGHT_NOTICES: {file}" in str(failure.value)
    assert said in str(failure.value)


# ----------------------------------------------------------------------------------------------------------- delivery


@dataclass
class Receiver:
    """A site that gets deliveries."""

    status: int = 200
    says: str = "as told"
    got: list[tuple[dict[str, str], bytes]] = field(default_factory=list)

    async def take(self, request: Request) -> Response:
        self.got.append((dict(request.headers), await request.body()))
        return PlainTextResponse(self.says, self.status)

    @asynccontextmanager
    async def served(self) -> AsyncIterator[str]:
        app = Starlette(routes=[Path_("/{path:path}", self.take, methods=["POST"])])
        async with serving(app) as address:
            yield address


async def sent(destination: Destination, *told: Told, secrets: dict[str, str] | None = None) -> None:
    known = secrets or {}
    await Senders(known.__getitem__, lambda text: redact(text, known)).send(
        destination, told, id_="msg_1", tenant="acme", dashboard="https://desk.example/rw/"
    )


async def test_a_webhook_gets_json_that_its_secret_verifies_and_that_nobody_altered() -> None:
    receiver = Receiver()
    async with receiver.served() as address:
        hook = Destination(webhook=address + "/hook/{{secret:PATH}}", signed_with="KEY")
        await sent(hook, Told(notice=notice(), times=3), secrets={"KEY": SIGNING, "PATH": "opensesame"})

    [(headers, body)] = receiver.got
    read = Webhook(SIGNING).verify(body, headers)
    assert read == json.loads(body)
    assert read["notices"][0]["link"] == "https://desk.example/rw/run?id=invoices%2F1"
    assert (read["tenant"], read["notices"][0]["times"], headers["webhook-id"]) == ("acme", 3, "msg_1")
    with pytest.raises(WebhookVerificationError):
        Webhook(SIGNING).verify(body.replace(b"step 3", b"step 4"), headers)


async def test_a_webhook_that_refuses_or_is_away_says_so_and_never_the_secret_in_its_address() -> None:
    receiver = Receiver(status=503)
    async with receiver.served() as address:
        hook = Destination(webhook=address + "/{{secret:PATH}}")
        with pytest.raises(NoticeFailed, match="answered 503: as told"):
            await sent(hook, Told(notice=notice()), secrets={"PATH": "opensesame"})
    with pytest.raises(NoticeFailed, match="cannot be reached") as failure:
        await sent(hook, Told(notice=notice()), secrets={"PATH": "opensesame"})
    assert "opensesame" not in str(failure.value)


async def test_apprise_gets_title_text_and_severity() -> None:
    receiver = Receiver()
    async with receiver.served() as address:
        host = address.removeprefix("http://")
        await sent(Destination(apprise=f"json://{host}/x"), Told(notice=notice()), Told(notice=notice("d")))

    [(_, body)] = receiver.got
    read = json.loads(body)
    assert read["title"] == "Replaywright: 2 notices"
    assert read["type"] == "failure"
    assert "https://desk.example/rw/run?id=invoices%2F1" in read["message"]


async def test_slack_and_teams_get_messages_in_their_own_formats(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    receiver = Receiver(says="ok")
    authority = Authority(tmp_path / "tls", "chat")
    both = tmp_path / "chat.pem"
    both.write_bytes(authority.key("server").read_bytes() + authority.certificate("server").read_bytes())
    cards: list[str] = []

    def carded(asked: Asked) -> Answer:
        cards.append(asked.body)
        return Answer(status=202)

    async with receiver.served() as slack:
        monkeypatch.setattr(NotifySlack, "webhook_url", f"{slack}/services")
        token = "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7/#robots"
        await sent(Destination(apprise=token), Told(notice=notice(), times=3))
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(authority.certificate("ca")))
    with plainly(carded, both) as teams:
        address = f"workflow://{teams.removeprefix('https://')}/WORKFLOW/SIGNATURE/"
        hostile = notice().model_copy(update={"title": "[Sign in](https://evil.example)", "lines": ("![x](y)",)})
        await sent(Destination(apprise=address), Told(notice=hostile, times=3))

    [(_, body)], [card] = receiver.got, map(json.loads, cards)
    [message] = json.loads(body)["attachments"]
    [adaptive] = card["attachments"]
    [text] = [block["text"] for block in adaptive["content"]["body"] if "text" in block]
    assert message["title"] == "invoices: failed at step 3 (and 2 more like it)"
    assert "https://desk.example/rw/run?id=invoices%2F1" in message["text"]
    assert adaptive["contentType"] == "application/vnd.microsoft.card.adaptive"
    assert text.startswith(
        "**\\[Sign in\\]\\(https://evil\\.example\\) \\(and 2 more like it\\)**\n\n\\!\\[x\\]\\(y\\)\n\n"
    )
    assert "\n\n[https://desk.example/rw/run?id=invoices%2F1](https://desk.example/rw/run?id=invoices%2F1)\n\n" in text
    assert text.endswith("\n\nreplaywright show invoices/1")


@pytest.mark.parametrize("address", ["slack://", "nonsense"])
async def test_an_address_that_apprise_does_not_know_is_refused(address: str) -> None:
    with pytest.raises(NoticeFailed, match="Apprise knows no such address"):
        await sent(Destination(apprise=address), Told(notice=notice()))


class _Inbox(Message):
    def __init__(self) -> None:
        super().__init__()
        self.mails: list[str] = []

    def handle_message(self, message: object) -> None:
        self.mails.append(str(message))


async def test_a_mail_has_the_title_as_its_subject_and_the_command_in_its_text() -> None:
    inbox = _Inbox()
    async with await asyncio.get_running_loop().create_server(lambda: SMTP(inbox), "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        address = f"mailto://127.0.0.1:{port}/?from=rw@example.com&to=ops@example.com&mode=insecure"
        await sent(Destination(apprise=address), Told(notice=notice()))

    [mail] = inbox.mails
    assert "Subject: invoices: failed at step 3" in mail
    assert "replaywright show invoices/1" in mail


async def test_a_command_gets_the_delivery_and_none_of_our_variables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REPLAYWRIGHT_SECRET_PASSWORD", "opensesame")
    told = tmp_path / "told"
    script = f"import os, sys; open({str(told)!r}, 'w').write(sys.stdin.read() + repr(dict(os.environ)))"
    question = as_question(ASK, number=1, now=NOW, seen=SeenByPerson(site_says=("Pay now",)))
    asked = QuestionNotice(event="asked", run_id="r", task="t", tenant="acme", question=question)

    await sent(Destination(command=f'{sys.executable} -c "{script}"'), Told(notice=of_question(asked, NOW)))

    written = told.read_text()
    read, _ = json.JSONDecoder().raw_decode(written)
    [one] = read["notices"]
    assert (one["kind"], one["runId"], one["question"]["text"]) == ("waiting", "r", "may it be sent?")
    assert one["command"] == "replaywright answer r approve|refuse"
    assert one["lines"] == ["the site says: “Pay now”"]
    assert "opensesame" not in written


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (f"{sys.executable} -c \"import sys; sys.exit('no pager')\"", "status 1: no pager"),
        ("/nowhere/notify", "cannot be started"),
        ("'", "cannot be read"),
        (" ", "is empty"),
    ],
)
async def test_a_command_that_fails_says_how(command: str, said: str) -> None:
    with pytest.raises(NoticeFailed, match=said):
        await CommandNotices(command).tell("{}")


def test_each_destination_has_its_own_way() -> None:
    file = NoticeFile.model_validate({"to": {"a": {"command": "x"}, "b": {"command": "y", "about": ["healed"]}}})

    assert [each.destination for each in file.routes(notice(), NOW)] == ["a"]
