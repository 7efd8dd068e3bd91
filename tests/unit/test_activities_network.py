"""The network policy where steps are done: decided again, and told where a page was refused."""

import pytest

from replaywright.domain.policy.host_rules import host_rules
from replaywright.domain.session.network_policy import NetworkPolicy, RefusedHost
from replaywright.domain.session.sessions import CloseSession, OpenSession, RecoverSession
from replaywright.domain.step.outcomes import Status
from replaywright.domain.task.policy import Hosts
from replaywright.errors import ActionFailed, KeeperUnavailable
from tests.unit.staged import CLICK_SEND, COMPOSE, SEND, SESSION, Stage, request, run_activity, step

MAIL = NetworkPolicy(rules=(host_rules("own site", Hosts(allow=("mail.example",))),))
EVIL = RefusedHost(host="mail.example", port=443, rule="own site: addresses", reason="it is a private address", count=3)


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    monkeypatch.setattr("activities.step.ledger.RECORD_PAUSE_S", 0)
    stage = Stage()
    stage.keepers.policies[SESSION.session_id] = MAIL
    return stage


@pytest.mark.parametrize(
    ("url", "rule"),
    [
        ("https://evil.example/", "own site: hosts.allow"),
        ("https://mail.example:8443/", "own site: hosts.allow"),
        ("http://10.0.0.1/", "own site: hosts.allow"),
        ("https://mail.example@evil.example/", "addresses of pages"),
        ("https://mail.example\\@evil.example/", "addresses of pages"),
        ("file:///etc/passwd", "addresses of pages"),
        ("data:text/html,x", "addresses of pages"),
        ("view-source:https://mail.example/", "addresses of pages"),
        ("chrome://version", "addresses of pages"),
        ("javascript:alert(1)", "addresses of pages"),
    ],
)
async def test_a_goto_that_the_policy_forbids_is_blocked_before_the_browser_is_told_of_it(
    stage: Stage, url: str, rule: str
) -> None:
    outcome = await stage.perform(request(step("goto", "", url=url)))

    assert (outcome.status, outcome.rule) == (Status.BLOCKED, rule)
    assert stage.browser.works == []


async def test_a_goto_to_the_own_site_is_performed(stage: Stage) -> None:
    outcome = await stage.perform(request(step("goto", "", url=COMPOSE)))

    assert outcome.status is Status.DONE


async def test_a_page_that_the_keeper_refused_ends_its_step_as_blocked_with_the_keepers_rule(stage: Stage) -> None:
    stage.keepers.refused = (EVIL,)
    stage.site.fail_before = [ActionFailed("navigation_failed", "net::ERR_TUNNEL_CONNECTION_FAILED", dispatched=True)]

    outcome = await stage.perform(request(step("goto", "", url=COMPOSE)))

    assert (outcome.status, outcome.rule) == (Status.BLOCKED, EVIL.rule)
    assert "mail.example:443 is not allowed: it is a private address" in outcome.message


async def test_a_site_cannot_feign_a_refusal(stage: Stage) -> None:
    stage.site.fail_before = [ActionFailed("http_403", "blocked by the rule x", dispatched=True)]

    outcome = await stage.perform(request(step("goto", "", url=COMPOSE)))

    assert (outcome.status, outcome.reason, outcome.rule) == (Status.UNMET, "http_403", "")


async def test_a_commit_step_whose_page_was_refused_stays_in_doubt(stage: Stage) -> None:
    stage.keepers.refused = (EVIL,)
    stage.site.fail_after = [ActionFailed("navigation_failed", "the page could not be opened", dispatched=True)]

    outcome = await stage.perform(request(CLICK_SEND, proposed=SEND), from_url=COMPOSE)

    assert (outcome.status, outcome.rule) == (Status.IN_DOUBT, EVIL.rule)


async def test_every_browser_of_a_run_is_started_with_its_policy(stage: Stage) -> None:
    asked = OpenSession(run_id="r1", lineage="l1", tenant="acme", network=MAIL)
    opened = await run_activity(stage.sessions.open_session, asked)
    lost = opened.session.model_copy(update={"host": "another"})
    again = RecoverSession(run_id="r1", tenant="acme", lost=lost, epoch=2, network=MAIL)
    rebuilt = await run_activity(stage.sessions.recover_session, again)

    assert stage.keepers.policies[opened.session.session_id] == MAIL
    assert stage.keepers.policies[rebuilt.session.session_id] == MAIL


async def test_a_session_that_is_given_back_tells_what_was_refused_in_it(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.keepers.refused = (EVIL, EVIL)
    closed = await run_activity(stage.sessions.close_session, CloseSession(session=SESSION))

    async def gone(*_: object) -> None:
        raise KeeperUnavailable("no keeper answers")

    monkeypatch.setattr(stage.keepers, "network", gone)
    lost = await run_activity(stage.sessions.close_session, CloseSession(session=SESSION))

    assert [(each.host, each.count) for each in closed.refused] == [("mail.example", 6)]
    assert lost.refused == ()
