"""Notices to a webhook, a mailbox and a Teams channel that refuse and hang now and then: is each cause told, once?"""

import argparse
import asyncio
import contextlib
import json
import os
import random
import subprocess
import sys
import tempfile
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import yaml
from aiosmtpd.smtp import SMTP, Envelope
from standardwebhooks import Webhook, WebhookVerificationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from bench.team.part import Figures, Tell, Wanted
from bench.team.receiver import hook_key
from bench.wob.serving import serving
from replaywright.cli.local.dashboard_acts import schedule_changed
from replaywright.cli.people.inbox import waiting_in
from replaywright.cli.people.updates import decide, verdict_on
from replaywright.cli.runs.starting import Order, start
from replaywright.cli.servers.noticing import standing_of_notices
from replaywright.cli.servers.store import open_store
from replaywright.cli.tasks.taskfile import new_run_id
from replaywright.domain.run.scope import Mode
from replaywright.domain.skill.skills import Skill, SkillStatus
from replaywright.domain.task.tasks import Task, parse_task
from replaywright.settings import load_settings
from replaywright.stack.processes import free_port
from tests.adapters.test_tls import Authority
from tests.e2e.agent_clients import command_of
from tests.e2e.conftest import taught
from tests.e2e.lab import Lab, until
from tests.e2e.plain_site import Answer, Asked
from tests.e2e.plain_site import serving as plainly

WANTED: Mapping[str, Wanted] = {
    "notices_sent": "notice_causes",
    **dict.fromkeys(("notices_lost", "notices_double", "notices_forged"), 0),
}
_WAITING = 4
_KEY = "NOTICE_KEY"
_REFUSED = 0.25
"""Share of the deliveries that are refused, or taken and refused all the same."""
_HANGS_S = 45.0
"""Longer than a delivery waits for its answer."""
_ALL_TOLD_S = 240.0
_SHOP = "<!doctype html><title>Shop</title><h1>Shop</h1><button>Order</button>"
_GONE = {"action": "click", "instruction": "the button that is gone", "target": {"css": "#gone"}, "effect": "read"}

Cause = tuple[str, str]
"""Kind of a notice, and the run, task or skill that it is about."""


@dataclass
class Desk:
    """Receivers of notices, and what they took."""

    key: str = field(default_factory=hook_key)
    chance: random.Random = field(default_factory=lambda: random.Random(1))
    deliveries: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By their id: a delivery that comes again counts once."""
    mails: list[str] = field(default_factory=list)
    cards: list[str] = field(default_factory=list)
    """Texts that the channel got."""
    refused: int = 0
    hung: int = 0
    forged: int = 0

    async def hook(self, request: Request) -> Response:
        """Take a delivery by webhook."""
        body, headers = await request.body(), dict(request.headers)
        if not self.hung:
            self.hung += 1
            await asyncio.sleep(_HANGS_S)
        drawn = self.chance.random()
        if drawn < _REFUSED / 2:
            self.refused += 1
            return PlainTextResponse("later", 503)
        try:
            Webhook(self.key).verify(body, headers)
        except WebhookVerificationError:
            self.forged += 1
            return PlainTextResponse("no", 401)
        self.deliveries[headers["webhook-id"]] = json.loads(body)
        self.refused += drawn < _REFUSED
        return PlainTextResponse("later" if drawn < _REFUSED else "thanks", 503 if drawn < _REFUSED else 200)

    def card(self, asked: Asked) -> Answer:
        """Take a delivery as the channel of a chat."""
        if self.chance.random() < _REFUSED:
            self.refused += 1
            return Answer("later", 503)
        [attachment] = json.loads(asked.body)["attachments"]
        blocks = [str(block["text"]) for block in attachment["content"]["body"] if "text" in block]
        self.cards.append("\n".join(blocks))
        return Answer(status=202)

    async def handle_DATA(self, _server: SMTP, _session: object, envelope: Envelope) -> str:  # noqa: N802 - aiosmtpd's
        """Take a mail."""
        if self.chance.random() < _REFUSED:
            self.refused += 1
            return "451 later"
        content = envelope.content
        mail = message_from_bytes(content if isinstance(content, bytes) else b"", policy=policy.default)
        assert isinstance(mail, EmailMessage)
        body = mail.get_body(("plain",))
        self.mails.append(f"{mail['subject']}\n{'' if body is None else body.get_content()}")
        return "250 thanks"

    @asynccontextmanager
    async def served(self, folder: Path) -> AsyncIterator[Path]:
        """Receive; yield the file of notices that leads here."""
        authority = Authority(folder / "tls", "chat")
        both = folder / "chat.pem"
        both.write_bytes(authority.key("server").read_bytes() + authority.certificate("server").read_bytes())
        app = Starlette(routes=[Route("/hook", self.hook, methods=["POST"])])
        server = await asyncio.get_running_loop().create_server(lambda: SMTP(self), "127.0.0.1", 0)
        async with serving(app) as url, server:
            with plainly(self.card, both) as chat:
                port, host = server.sockets[0].getsockname()[1], chat.removeprefix("https://")
                mail = f"mailto://127.0.0.1:{port}/?from=rw@example.com&to=ops@example.com&mode=insecure"
                destinations = {
                    "hook": {"webhook": f"{url}/hook", "signed_with": _KEY},
                    "mail": {"apprise": mail},
                    "chat": {"apprise": f"workflow://{host}/WORKFLOW/SIGNATURE/?verify=no"},
                }
                file = folder / "notices.yaml"
                file.write_text(yaml.safe_dump({"to": destinations}), encoding="utf-8")
                yield file

    def told(self) -> list[dict[str, Any]]:
        """Return what the webhook was told of."""
        return [notice for delivery in self.deliveries.values() for notice in delivery["notices"]]


async def measured_by(_given: argparse.Namespace, tell: Tell) -> Figures:
    """Cause everything that people are told of; return the figures."""
    with tempfile.TemporaryDirectory(prefix="replaywright-team-") as folder:
        return await measured(Path(folder), _WAITING, tell)


async def measured(folder: Path, waiting: int, tell: Callable[[str], None]) -> dict[str, int]:
    """Have runs wait, fail, heal, spend their budgets, and canaries break; return how it was told."""
    desk = Desk()
    async with desk.served(folder) as file:
        with _environment(**{f"REPLAYWRIGHT_SECRET_{_KEY}": desk.key}), plainly(lambda _: Answer(_SHOP)) as shop:
            settings = load_settings().model_copy(update={"notices": file})
            async with taught(settings, folder / "freeze") as lab:
                lab.stage.allow(shop)
                asks = [{"action": "approve", "instruction": f"may no. {number} go on?"} for number in range(waiting)]
                orders = [_order(_task("ask", shop, each)) for each in asks]
                expected = await _caused(lab, shop, orders)
                tell(f"{len(expected)} causes: {', '.join(sorted({kind for kind, _ in expected}))}")
                await _all_told(desk, expected, tell)
                for order in orders:
                    [question] = [one.question for one in await waiting_in(lab.place) if one.run_id == order.run_id]
                    await decide(
                        lab.place, order.run_id, verdict_on(order.run_id, question, "approve", "", who="x", why="")
                    )
                standing = await standing_of_notices(lab.place)
                if standing is not None:
                    tell(f"standing: {standing.sent} sent, {standing.lost_in_all} lost, {standing.held} held")
    return _figures(desk, expected, tell)


@contextlib.contextmanager
def _environment(**variables: str) -> Iterator[None]:
    os.environ.update(variables)
    try:
        yield
    finally:
        for name in variables:
            os.environ.pop(name, None)


def _task(name: str, site: str, *steps: dict[str, Any], **fields: Any) -> Task:
    data = {"task": name, "steps": [{"action": "goto", "url": f"{site}/"}, *steps], **fields}
    return parse_task(data, "the measurement")


def _order(task: Task, mode: Mode = Mode.REPLAY) -> Order:
    return Order(task, {}, new_run_id(task, {}), mode=mode)


async def _caused(lab: Lab, shop: str, orders: Sequence[Order]) -> set[Cause]:
    """Let everything happen that people are told of; return what has to be told."""
    for order in orders:
        await start(lab.place, order)
    expected = {("waiting", order.run_id) for order in orders}
    for name in ("fails", "fails-too"):
        endings = [await lab.run(_order(_task(name, shop, _GONE))) for _ in range(2)]
        expected |= {("failed", name) for ending in endings if ending.status == "failed"}
    unknown = {"action": "click", "instruction": "the button that orders", "effect": "read"}
    spent = await lab.run(_order(_task("spends", shop, unknown, budget={"calls": 0}), Mode.AUTO))
    expected |= {("budget", "spends")} if spent.result.reason == "budget_spent" else {("failed", "spends")}
    down = f"http://127.0.0.1:{free_port()}"
    lab.stage.allow(down)
    for name, site, kinds in (("breaks", shop, ("canary", "suspect")), ("is-down", down, ("canary",))):
        await _canary(lab, Skill(name=name, task=_task(name, site, _GONE), site=site, status=SkillStatus.ACTIVE))
        expected |= {(kind, name) for kind in kinds}
    await lab.stage.redesign("modern")
    healed = await lab.run(lab.order())
    expected |= {("healed", lab.task.task)} if healed.result.totals.heals else set()
    return expected


async def _canary(lab: Lab, skill: Skill) -> None:
    """Have a canary of the skill run once."""
    async with open_store(lab.place.settings) as store:
        await store.knowledge.skills.save(store.tenant, skill, who="the measurement")
    schedule = f"canary-{skill.name}-{uuid.uuid4().hex[:6]}"
    words = ["schedule", "create", schedule, f"skill:{skill.name}", "--every", "300d", "--canary"]
    command = [sys.executable, "-m", "replaywright", *words]
    made = await asyncio.to_thread(
        subprocess.run, command, env=command_of(lab).env, capture_output=True, text=True, check=False
    )
    if made.returncode:
        raise RuntimeError(made.stderr)
    await schedule_changed(lab.place, schedule, "trigger", "", "make team")


def cause_of(notice: dict[str, Any]) -> Cause:
    """Return what a notice tells of."""
    kind = str(notice["kind"])
    about = {"waiting": "runId", "suspect": "skill"}.get(kind, "task")
    return kind, str(notice[about])


async def _all_told(desk: Desk, expected: set[Cause], tell: Callable[[str], None]) -> None:
    """Wait until each destination was told of all causes, or for as long as it may take."""

    def are_told() -> bool:
        titles = {notice["title"] for notice in desk.told() if cause_of(notice) in expected}
        known = expected <= {cause_of(notice) for notice in desk.told()}
        return known and all(_count(title, texts) for title in titles for texts in (desk.mails, desk.cards))

    try:
        await until("everything is told", are_told, _ALL_TOLD_S)
    except AssertionError:
        tell(f"not everything was told within {_ALL_TOLD_S:.0f} s")


def _count(title: str, texts: Sequence[str]) -> int:
    """Count the texts that tell of it; mails break lines, cards escape marks, and long titles are cut."""
    beginning = " ".join(title.split())[:120]
    return sum(beginning in " ".join(text.replace("\\", "").split()) for text in texts)


def _figures(desk: Desk, expected: set[Cause], tell: Callable[[str], None]) -> dict[str, int]:
    told = Counter(cause_of(notice) for notice in desk.told())
    titles = {cause_of(notice): notice["title"] for notice in desk.told()}
    lost, double = len(expected - set(told)), sum(count > 1 for cause, count in told.items() if cause in expected)
    for name, texts in (("mail", desk.mails), ("chat", desk.cards)):
        counts = {cause: _count(titles[cause], texts) for cause in expected & set(told)}
        lost += sum(not count for count in counts.values())
        double += sum(count > 1 for count in counts.values())
        tell(f"{name}: {len(texts)} deliveries, {counts}")
    for cause in sorted(expected - set(told)):
        tell(f"never told: {cause}")
    for notice in desk.told():
        tell(f"{notice['kind']:9} ×{notice['times']} {notice['title']}")
    return {
        "notice_causes": len(expected),
        "notices_sent": sum(cause in expected for cause in told),
        "notices_lost": lost,
        "notices_double": double,
        "notices_refused": desk.refused + desk.hung,
        "notices_forged": desk.forged,
    }
