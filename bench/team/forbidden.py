"""What nobody may do without a tenant's token, from a foreign page, as another tenant: start, read, change its runs."""

import argparse
import asyncio
import contextlib
import json
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from html import escape
from urllib.parse import urlencode, urlsplit

import httpx
from playwright.async_api import Error as PlaywrightError

from bench.chromium import launched
from bench.doors import pages
from bench.doors.attacker import Attacker
from bench.doors.knocks import Knock, knock_at
from bench.doors.tree import Socket
from bench.team.dashboards import dashboard
from bench.team.owner import Owner, environment_of, folder_of, owned
from bench.team.part import Figures, Tell, Wanted
from bench.team.receiver import NAME, Receiver, received
from bench.team.stages import learned
from bench.wob.serving import serving as serving_app
from replaywright.cli.local.dashboard_source import RunningSource
from replaywright.cli.runs.follow import handle_of
from replaywright.dashboard.app import Dashboard
from replaywright.dashboard.people import Role, Viewer
from tests.e2e.lab import Lab, until
from tests.e2e.plain_site import Answer, serving

WANTED: Mapping[str, Wanted] = {"forbidden_through": 0}
_FOREIGN = "http://attacker.example"
_ANSWER_S = 5.0
_READ_BYTES = 400_000
_PICTURES = ("PNG\r\n", "JFIF")
"""Of a picture's beginning: whose it is, it does not say."""


async def measured_by(_given: argparse.Namespace, tell: Tell) -> Figures:
    """Try everything on a stage of its own; return the figures."""
    async with learned() as lab:
        return await measured(lab, tell)


async def measured(lab: Lab, tell: Callable[[str], None]) -> dict[str, int]:
    """Try everything; return the figures."""
    found: list[Knock] = []
    async with contextlib.AsyncExitStack() as exits:
        owner = await exits.enter_async_context(owned(lab))
        other = lab.apart()
        theirs = await exits.enter_async_context(received(other, folder_of(lab)))
        guest = await exits.enter_async_context(dashboard(environment_of(other), folder_of(lab) / "dashboard.log"))
        before = await owner.state()
        for what, tried in (
            ("doors", _doors(owner)),
            ("receiver", _at_receiver(owner, theirs)),
            ("dashboard", _at_dashboard(owner, guest)),
            ("another tenant's dashboard", _as_tenant(owner, guest)),
            ("a page of another origin", _by_page(owner)),
            ("people who may less", _by_role(owner)),
        ):
            found += (knocks := await tried)
            tell(f"{what}: {len(knocks)} tried, {sum(one.through for one in knocks)} through")
        after = await owner.state()
        changed = [name for name, value in before.items() if after[name] != value]
        found.append(Knock("all of them", "all of them", "changed something", bool(changed), ", ".join(changed)))
        await handle_of(lab.place.client, owner.run_id).terminate("the measurement is over")
    for one in found:
        if one.through:
            tell(f"THROUGH {one.door}, {one.who}: {one.how}: {one.answer}")
    return {"forbidden_tried": len(found), "forbidden_through": sum(one.through for one in found)}


# ------------------------------------------------------------------------------------------------------ attempts


@dataclass
class Prober:
    """Sends requests, and judges the answers."""

    door: str
    who: str
    marks: tuple[str, ...]
    client: httpx.AsyncClient
    found: list[Knock] = field(default_factory=list)

    async def read(self, how: str, url: str, **headers: str) -> None:
        """Read a page: through if something of the owner's stands in it."""
        status, text = await self._sent("GET", url, headers, None)
        is_through = status < 300 and any(mark in text for mark in (*self.marks, *_PICTURES))
        self._note(how, url, status, text, is_through=is_through)

    async def must_read(self, url: str, mark: str, **headers: str) -> None:
        """See that whoever may read it does: a door that nobody gets through shows nothing.

        Raises:
            RuntimeError: it is refused.
        """
        status, text = await self._sent("GET", url, headers, None)
        if status >= 300 or mark not in text:
            raise RuntimeError(f"{url} is refused to whoever may read it: {status} {text[:200]}")

    async def act(self, how: str, url: str, data: object, **headers: str) -> None:
        """Send a form, or what else there is: through unless it is refused."""
        status, text = await self._sent("POST", url, headers, data)
        self._note(how, url, status, text, is_through=status < 400)

    async def _sent(self, method: str, url: str, headers: Mapping[str, str], data: object) -> tuple[int, str]:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        content = {"data": data} if isinstance(data, dict) else {"content": data}
        received = b""
        async with self.client.stream(method, url, headers=named, **content) as answer:
            with contextlib.suppress(httpx.ReadTimeout):  # a stream of changes
                async for piece in answer.aiter_bytes():
                    received += piece
                    if len(received) > _READ_BYTES:
                        break
            return answer.status_code, received.decode("utf-8", "replace")

    def _note(self, how: str, url: str, status: int, text: str, *, is_through: bool) -> None:
        path = urlsplit(url).path.rpartition("/")[2]
        self.found.append(Knock(self.door, self.who, f"{how}: {path}", is_through, f"{status} {text[:100]}"))


@contextlib.asynccontextmanager
async def _prober(door: str, who: str, owner: Owner, visit: str = "") -> AsyncIterator[Prober]:
    """Make a prober; one that has visited an address has its cookie."""
    async with httpx.AsyncClient(timeout=_ANSWER_S, trust_env=False) as client:
        if visit:
            await client.get(visit)
        yield Prober(door, who, owner.marks, client)


async def _doors(owner: Owner) -> list[Knock]:
    """Knock as `bench.doors` does, at the two servers that it does not have: every protocol, and from a browser."""
    sockets = [
        Socket("receiver", "127.0.0.1", owner.receiver.port),
        Socket("dashboard", "127.0.0.1", urlsplit(owner.entrance).port or 0),
    ]
    with Attacker() as attacker, Attacker() as canary:
        attacker.ports = [each.port for each in sockets]
        found = await asyncio.to_thread(
            lambda: [knock for each in sockets for knock in knock_at(each, "nobody", canary.host)]
        )
        found += await pages.knock(attacker, sockets)
        found.append(Knock("canary", "all of them", "reach it", bool(canary.requests)))
    return found


async def _at_receiver(owner: Owner, theirs: Receiver) -> list[Knock]:
    ours, values = owner.receiver, {"values": owner.values}
    run, hook, status = f"{ours.url}/run/{NAME}", f"{ours.url}/hook/{NAME}", f"/run?{urlencode({'id': owner.run_id})}"
    body, key = json.dumps(values).encode(), {"Idempotency_Key": uuid.uuid4().hex}
    async with _prober("receiver", "nobody", owner) as prober:
        await prober.must_read(ours.url + status, owner.run_id, Authorization=f"Bearer {ours.token}")
        for how, token in (("no token", ""), ("wrong token", "t" * 43), ("another tenant's token", theirs.token)):
            bearer = {"Authorization": f"Bearer {token}"} if token else {}
            await prober.act(how, run, body, **key, **bearer)
            await prober.act(how, f"{ours.url}/mcp", b"{}", **bearer)
            await prober.read(how, ours.url + status, **bearer)
            await prober.read(how, f"{ours.url}/openapi.json", **bearer)
        await prober.act("token in the address", f"{run}?token={ours.token}", body, **key)
        await prober.act("token without its scheme", run, body, **key, Authorization=ours.token)
        for origin in (_FOREIGN, "null"):
            await prober.act(f"from {origin}", run, body, Origin=origin, Content_Type="text/plain", **key)
            await prober.act(f"rebound, from {origin}", run, body, Origin=origin, Host="rebound.example", **key)
        await _hooked(prober, owner, theirs, hook)
        mine = {"Authorization": f"Bearer {theirs.token}"}
        await prober.read("as another tenant", theirs.url + status, **mine)
        return prober.found


async def _hooked(prober: Prober, owner: Owner, theirs: Receiver, hook: str) -> None:
    """Try webhooks that nobody signed, that somebody else signed, that were changed, and that came before."""
    ours, data = owner.receiver, {"data": owner.values}
    body, signed = ours.signed(data, "msg_1")
    await prober.act("unsigned", hook, body)
    await prober.act("changed", hook, body.replace(b"Body", b"Evil"), **_named(signed))
    for name, value in (("Webhook-Id", "msg_2"), ("Webhook-Timestamp", str(int(signed["Webhook-Timestamp"]) + 1))):
        await prober.act(f"another {name}", hook, body, **_named({**signed, name: value}))
    for how, shift in (("an hour old", -1), ("of the next hour", 1)):
        old, stale = ours.signed(data, "msg_3", at=datetime.now(UTC) + timedelta(hours=shift))
        await prober.act(how, hook, old, **_named(stale))
    other, by_other = theirs.signed(data, "msg_4")
    await prober.act("signed by another tenant", hook, other, **_named(by_other))
    await prober.act("a code, unsigned", f"{ours.url}/code/phone", body)


def _named(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("-", "_"): value for name, value in headers.items()}


async def _at_dashboard(owner: Owner, guest: str) -> list[Knock]:
    """Try each page and form of the owner's dashboard without what a visitor needs."""
    foreign_token = httpx.URL(guest).params["token"]
    rebound = f"rebound.example:{urlsplit(owner.base).port}"
    own = {"Origin": owner.origin}
    cross = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "no-cors", "Sec_Fetch_Dest": "iframe"}
    async with _prober("dashboard", "nobody", owner) as prober:
        for more in ("", "wrong", foreign_token):
            how = f"token {more[:8]!r}"
            for page in owner.reads():
                url = httpx.URL(owner.base + page)
                await prober.read(how, str(url.copy_merge_params({"token": more}) if more else url))
            for form, data in owner.acts():
                url = httpx.URL(owner.base + form)
                await prober.act(how, str(url.copy_merge_params({"token": more}) if more else url), data, **own)
        for page in owner.reads():
            await prober.read("without the name in its path", f"{owner.origin}/{page}")
        found = prober.found
    async with _prober("dashboard", "the owner's browser, misled", owner, owner.entrance) as prober:
        await prober.must_read(owner.base + "inbox", owner.run_id, **own)
        for page in owner.reads():
            await prober.read("rebound", owner.base + page, Host=rebound)
            await prober.read("for a foreign page", owner.base + page, Origin=_FOREIGN)
            await prober.read("in a foreign frame", owner.base + page, **cross)
        for form, data in owner.acts():
            await prober.act("no origin", owner.base + form, data)
            for origin in (_FOREIGN, "null", owner.origin.replace("http:", "https:")):
                await prober.act(f"from {origin}", owner.base + form, data, Origin=origin)
            await prober.act("rebound", owner.base + form, data, Host=rebound, Origin=f"http://{rebound}")
            await prober.act("cross-site", owner.base + form, data, **own, Sec_Fetch_Site="cross-site")
            await prober.act("same-site", owner.base + form, data, **own, Sec_Fetch_Site="same-site")
        return found + prober.found


async def _as_tenant(owner: Owner, guest: str) -> list[Knock]:
    """Ask another tenant's dashboard, with its token, for what is the owner's."""
    base = guest.partition("?")[0]
    parts = urlsplit(guest)
    async with _prober("dashboard", "another tenant", owner, guest) as prober:
        await prober.must_read(base + "skills", NAME)
        for page in owner.reads():
            await prober.read("the owner's ids", base + page)
        for form, data in owner.acts():
            if not form.startswith("start?"):  # both have a skill of this name; each may start its own
                origin = f"{parts.scheme}://{parts.netloc}"
                await prober.act("the owner's ids", base + form, data, Origin=origin)
        return prober.found


async def _by_role(owner: Owner) -> list[Knock]:
    """Send the forms as people who signed in and may look only, or look and answer."""
    settings, found = owner.lab.place.settings, list[Knock]()
    source = RunningSource(settings)
    try:
        for role, own in ((Role.LOOK, ""), (Role.ANSWER, "answer?")):
            shown = Dashboard(source, tenant=settings.tenant, owner=Viewer("eve", role)).app()
            async with serving_app(shown) as url, _prober("dashboard", f"who may {role}", owner) as prober:
                await prober.must_read(f"{url}/inbox", owner.run_id)
                for form, data in owner.acts():
                    if not own or not form.startswith(own):
                        await prober.act("a form of more", f"{url}/{form}", data, Origin=url)
                found += prober.found
    finally:
        await source.close()
    return found


async def _by_page(owner: Owner) -> list[Knock]:
    """Show the owner's browser, which is signed in, a page that sends every form and frames every page."""
    who, found, forms = "a page of another origin", list[Knock](), list(owner.acts())
    with serving(lambda _: Answer(_misleading(owner, forms))) as address:
        async with launched() as browser:
            page = await browser.new_page()
            await page.goto(owner.entrance)
            await page.get_by_role("navigation").first.wait_for()
            statuses: list[int] = []
            page.on(
                "response", lambda answer: statuses.append(answer.status) if answer.request.method == "POST" else None
            )
            await page.goto(address.replace("127.0.0.1", "localhost"))  # another site, at the same address
            await until("the page has sent its forms", lambda: len(statuses) == len(forms))
            await page.wait_for_load_state("networkidle")
            for frame in page.frames[1:]:
                with contextlib.suppress(PlaywrightError):  # an error page of the browser's
                    text = await frame.content()
                    is_through = any(mark in text for mark in owner.marks)
                    found.append(Knock("dashboard", who, "frames it", is_through, frame.url))
    return found + [Knock("dashboard", who, "sends a form", status < 400, str(status)) for status in statuses]


def _misleading(owner: Owner, forms: Sequence[tuple[str, Mapping[str, str]]]) -> str:
    pages = [page for page in owner.reads() if not page.startswith("live")]
    parts = [f"<iframe src='{escape(owner.base + page)}'></iframe>" for page in pages]
    for number, (form, data) in enumerate(forms):
        fields = (f"<input type=hidden name='{escape(name)}' value='{escape(text)}'>" for name, text in data.items())
        parts.append(
            f"<form method=post target=f{number} action='{escape(owner.base + form)}'>{''.join(fields)}</form>"
        )
        parts.append(f"<iframe name=f{number}></iframe>")
    script = "<script>for (const form of document.forms) form.submit()</script>"
    return f"<!doctype html><title>Prices</title>{''.join(parts)}{script}"
