"""Signing in to the dashboard with a real OpenID Connect provider on loopback, and what each role may do."""

import base64
import contextlib
import html
import json
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx
import pytest
from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey
from oidc_provider_mock import User, run_server_in_thread  # type: ignore[import-untyped]
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from replaywright.dashboard.access_file import Access, Roles
from replaywright.dashboard.app import Dashboard
from replaywright.dashboard.guard import COOKIE, AccessGuard
from replaywright.dashboard.people import Role, Viewer
from replaywright.dashboard.sign_in import SignIn
from tests.unit.dashboard import WAITING, full

pytestmark = [
    # The provider speaks to its library as of old.
    pytest.mark.filterwarnings("ignore::authlib.deprecate.AuthlibDeprecationWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:authlib"),
]
HOME = "http://127.0.0.1:8421/robots"
SAME = {"Origin": "http://127.0.0.1:8421", "Sec-Fetch-Site": "same-origin"}
VISIT = {"Accept": "text/html", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
GROUPS = {"ada": "robots-admins", "bo": "support", "cy": "readers", "dee": "others"}
ROLES = {"ada": Role.OPERATE, "bo": Role.ANSWER, "cy": Role.LOOK}
IMPOSTORS: tuple[dict[str, object], ...] = (
    {"email": "ada@team.example", "email_verified": False},
    {"email": "ada@team.example"},
    {"preferred_username": "ada@team.example"},
    {"email": ["ada@team.example"], "email_verified": True},
)
DEEDS = ("takeover", "start", "schedule", "session", "entry", "retry")


def access(issuer: str, **changes: object) -> Access:
    roles = Roles(look=("readers",), answer=("support",), operate=("robots-admins",))
    given = {"address": HOME, "issuer": issuer, "client_id": "replaywright", "roles": roles, **changes}
    return Access.model_validate(given)


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    users = [
        User(sub=name, claims={"email": f"{name}@team.example", "email_verified": True, "groups": [group]})
        for name, group in GROUPS.items()
    ]
    users += [
        User(sub=f"mallory-{number}", claims={**claims, "groups": ["readers"]})
        for number, claims in enumerate(IMPOSTORS)
    ]
    with run_server_in_thread(user_claims=users) as server:
        yield f"http://localhost:{server.server_port}"


class Team:
    """A dashboard, and browsers of people."""

    def __init__(self, declared: Access) -> None:
        self.source = full()
        pages = Dashboard(self.source, tenant="acme", every_s=0.01).app()
        self.door = SignIn(declared, "s3cret")
        self.guard = AccessGuard(
            pages, hosts=[declared.host], origins=[declared.origin], path=declared.path, door=self.door
        )

    @contextlib.asynccontextmanager
    async def browser(self) -> AsyncIterator[httpx.AsyncClient]:
        transport = httpx.ASGITransport(self.guard, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url=f"{HOME}/", headers=VISIT) as client:
            yield client


async def begun(client: httpx.AsyncClient, page: str = "inbox") -> str:
    """Open a page without being signed in; return the provider's address that it leads to."""
    answer = await client.get(page)
    assert answer.status_code == 302, answer.text
    return answer.headers["location"]


async def vouched(at: str, name: str) -> str:
    """Have the provider vouch for somebody; return the address that it leads back to."""
    async with httpx.AsyncClient() as provider:
        answer = await provider.post(at, data={"sub": name})
    assert answer.status_code == 302, answer.text
    return answer.headers["location"]


async def signed_in(client: httpx.AsyncClient, name: str, page: str = "inbox") -> httpx.Response:
    return await client.get(await vouched(await begun(client, page), name))


async def test_who_the_provider_vouches_for_comes_back_to_the_page_that_was_wanted(issuer: str) -> None:
    async with Team(access(issuer)).browser() as client:
        asked = parse_qs(urlsplit(await begun(client)).query)
        answer = await signed_in(client, "ada", "run?id=a%2F1")
        page = await client.get("inbox")

    assert asked["code_challenge_method"] == ["S256"]
    assert asked["redirect_uri"] == [f"{HOME}/signed-in"]
    assert {"state", "nonce", "code_challenge"} <= asked.keys()
    assert 'content="0;url=/robots/run?id=a%2F1"' in answer.text
    assert page.status_code == 200
    assert "ada@team.example, role operate" in page.text
    [kept] = [each for each in answer.headers.get_list("set-cookie") if each.startswith(f"{COOKIE}=")]
    assert {"HttpOnly", "SameSite=lax", "Path=/robots/"} <= set(kept.split("; "))


@pytest.mark.parametrize(
    ("name", "allowed"),
    [("ada", {"answer", *DEEDS}), ("bo", {"answer"}), ("cy", set())],
)
async def test_a_role_does_what_it_allows_and_the_name_is_kept(issuer: str, name: str, allowed: set[str]) -> None:
    team = Team(access(issuer))
    async with team.browser() as client:
        await signed_in(client, name)
        answers = {
            deed: await client.post(
                f"{deed}?id={WAITING.run_id}&name=x&key=x&skill=send-mail&batch=b", headers=SAME, data={"request": "r"}
            )
            for deed in ("answer", *DEEDS)
        }

    assert {deed for deed, answer in answers.items() if answer.status_code != 403} == allowed
    assert set(team.source.by) <= {f"{name}@team.example"}
    assert len(team.source.by) == len(allowed)
    refused = [answers[deed].text for deed in answers.keys() - allowed]
    assert all(f"{name}@team.example has the role {ROLES[name]}; this takes " in text for text in refused)


@pytest.mark.parametrize("number", range(len(IMPOSTORS)))
async def test_a_name_that_the_provider_has_not_verified_is_nobodys(issuer: str, number: int) -> None:
    async with Team(access(issuer)).browser() as client:
        await signed_in(client, f"mallory-{number}")
        page = await client.get("inbox")

    assert f"mallory-{number}, role look" in page.text
    assert "ada@team.example" not in page.text


@pytest.mark.parametrize("home", [HOME, "http://127.0.0.1:8421"])
@pytest.mark.parametrize(
    "page", ["//evil.example/x", "/\\evil.example", "//evil.example", "/%09/evil.example", "/robots//evil.example/x"]
)
async def test_a_sign_in_leads_to_no_page_of_others(issuer: str, home: str, page: str) -> None:
    team = Team(access(issuer, address=home))
    async with team.browser() as client:
        visit = await client.get(f"http://127.0.0.1:8421{page}")
        if visit.status_code == 302:
            visit = await client.get(await vouched(visit.headers["location"], "cy"))
            to = urljoin(f"{home}/signed-in", html.unescape(visit.text.partition("0;url=")[2].partition('"')[0]))

            assert to.startswith(f"{home}/")
            return

    assert visit.status_code == 404


async def test_a_code_of_another_sign_in_and_an_answer_of_another_provider_sign_nobody_in(issuer: str) -> None:
    async with Team(access(issuer)).browser() as other, Team(access(issuer)).browser() as client:
        stolen = parse_qs(urlsplit(await vouched(await begun(other), "ada")).query)["code"][0]
        own = await vouched(await begun(client), "cy")
        injected = await client.get(own.replace(parse_qs(urlsplit(own).query)["code"][0], stolen))
        mixed = await client.get(await vouched(await begun(client), "cy") + "&iss=https%3A%2F%2Fevil.example")

    assert (injected.status_code, mixed.status_code) == (401, 401)
    assert "does not hold" in injected.text
    assert "another provider" in mixed.text


async def test_a_page_that_is_open_learns_that_its_reader_signed_out(issuer: str) -> None:
    team, seen = Team(access(issuer)), list[Viewer]()

    async def pages(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(scope["person"])
        await PlainTextResponse("")(scope, receive, send)

    team.guard._app = pages
    async with team.browser() as client:
        await signed_in(client, "cy")
        await client.get("live/runs")
        before = [person.is_here() for person in seen]
        await client.post("sign-out", headers=SAME)

    assert before == [True]
    assert [person.is_here() for person in seen] == [False]


async def test_somebody_without_a_role_sees_nothing(issuer: str) -> None:
    async with Team(access(issuer)).browser() as client:
        answer = await signed_in(client, "dee")
        again = await client.get("inbox")

    assert answer.status_code == 403
    assert "dee@team.example has no role here" in answer.text
    assert again.status_code == 302


async def test_an_answer_holds_once_and_in_the_browser_that_asked(issuer: str) -> None:
    team = Team(access(issuer))
    async with team.browser() as ada, team.browser() as thief:
        back = await vouched(await begun(ada), "ada")
        stolen = await thief.get(back)
        first = await ada.get(back)
        replayed = await ada.get(back)
        foreign = await ada.get("signed-in?code=x&state=y")

    assert (stolen.status_code, first.status_code) == (401, 200)
    assert (replayed.status_code, foreign.status_code) == (401, 401)
    assert "was not begun in this browser" in stolen.text


async def test_a_foreign_state_and_a_refusal_of_the_provider_sign_nobody_in(issuer: str) -> None:
    async with Team(access(issuer)).browser() as client:
        await begun(client)
        foreign = await client.get("signed-in?code=x&state=y")
        await begun(client)
        denied = await client.get("signed-in?error=access_denied&error_description=no")
        inbox = await client.get("inbox")

    assert (foreign.status_code, denied.status_code, inbox.status_code) == (401, 401, 302)
    assert "mismatching_state" in foreign.text
    assert "access_denied" in denied.text


@pytest.mark.parametrize(
    "change",
    [
        {"nonce": "another"},
        {"aud": "another-client"},
        {"iss": "https://elsewhere.example"},
        {"exp": 1},
        "unsigned",
        "other key",
    ],
    ids=str,
)
async def test_an_id_token_that_does_not_hold_signs_nobody_in(
    issuer: str, change: dict[str, object] | str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The provider's token is replaced by another one on its way."""
    team = Team(access(issuer))
    provider = team.door._provider
    fetch = provider.fetch_access_token

    async def altered(**given: object) -> dict[str, object]:
        token: dict[str, Any] = await fetch(**given)
        parts = jwt.decode(
            token["id_token"], key=KeySet.import_key_set(await provider.fetch_jwk_set()), algorithms=["RS256"]
        )
        claims = parts.claims | (change if isinstance(change, dict) else {})
        key = RSAKey.generate_key(2048, parameters={"kid": parts.header.get("kid", "")})
        if change == "unsigned":
            token["id_token"] = ".".join((_part({"alg": "none"}), _part(claims), ""))
        elif change == "other key":
            token["id_token"] = jwt.encode(parts.header, claims, key)
        else:  # signed with a key that the provider is made to offer
            token["id_token"] = jwt.encode(parts.header, claims, key)
            provider.server_metadata["jwks"] = {"keys": [key.as_dict(private=False)]}
        return token

    monkeypatch.setattr(provider, "fetch_access_token", altered)
    async with team.browser() as client:
        answer = await signed_in(client, "ada")
        inbox = await client.get("inbox")

    assert (answer.status_code, inbox.status_code) == (401, 302), answer.text
    assert "does not hold" in answer.text


async def test_a_sign_in_ends_by_signing_out_and_with_its_time(issuer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    team, now = Team(access(issuer, lasts="12h")), time.monotonic
    async with team.browser() as client:
        await signed_in(client, "ada")
        left = await client.post("sign-out", headers=SAME)
        after = await client.get("inbox")
        await signed_in(client, "ada")
        before = await client.get("inbox")
        monkeypatch.setattr(time, "monotonic", lambda: now() + 12 * 3600)
        over = await client.get("inbox")

    assert [each.status_code for each in (left, after, before, over)] == [200, 302, 200, 302]


async def test_strangers_get_no_page_no_picture_and_no_deed(issuer: str) -> None:
    team = Team(access(issuer))
    async with team.browser() as client:
        await signed_in(client, "ada")
        csrf = await client.post("takeover?id=x", headers={"Origin": "https://evil.example"})
        silent = await client.post("takeover?id=x")
        framed = await client.get("inbox", headers={"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "iframe"})
        rebound = await client.get("inbox", headers={"Host": "evil.example"})
    async with team.browser() as stranger:
        picture = await stranger.get("picture?id=x", headers={"Sec-Fetch-Mode": "no-cors", "Accept": "image/png"})
        live = await stranger.get("live/runs", headers={"Accept": "text/event-stream", "Sec-Fetch-Mode": "cors"})
        deed = await stranger.post("takeover?id=x", headers=SAME)

    assert [each.status_code for each in (csrf, silent, framed, rebound)] == [403, 403, 403, 421]
    assert [each.status_code for each in (picture, live, deed)] == [401, 401, 401]
    assert team.source.by == []


async def test_a_provider_that_is_down_or_calls_itself_otherwise_is_told(issuer: str) -> None:
    async with Team(access("http://127.0.0.1:9")).browser() as client:
        down = await client.get("inbox")
    async with Team(access(f"{issuer}/")).browser() as client:
        named = await client.get("inbox")

    assert down.status_code == 502
    assert "http://127.0.0.1:9 does not answer" in down.text
    assert named.status_code == 502
    assert f"calls itself '{issuer}'" in named.text


def _part(data: dict[str, object]) -> str:
    return base64.urlsafe_b64encode(json.dumps(data).encode()).rstrip(b"=").decode()
