"""The demo webmail over real HTTP, and every skin by hand in a real Chromium."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from playwright.async_api import Browser, FrameLocator, Page, expect

from demo.webmail.skins import SKINS, Skin, form_values, skin_from
from demo.webmail.store import MailStore
from replaywright.domain.task.actions import Effect
from replaywright.domain.task.tasks import parse_task
from tests.webmail import webmail

ROOT = Path(__file__).parents[2]
PASSWORD = "correct horse battery staple"
SEND_NAMES = {"modern": "Send message", "shadow": "Send message", "modern-icon": "Dispatch"}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mail")


@pytest.fixture(scope="module")
def running_site(store: Path) -> Iterator[str]:
    with webmail(store, PASSWORD) as address:
        yield address


@pytest.fixture
def url(running_site: str) -> str:
    """The site as it is at first, for every test."""
    for path, body in (("reset", {}), ("skin", {"skin": "classic"}), ("latency", {"ms": 0}), ("lag", {"ms": 0})):
        httpx.post(f"{running_site}/__admin__/{path}", json=body).raise_for_status()
    return running_site


@pytest.fixture
def client(url: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=url, follow_redirects=True) as client:
        client.post("/login", data={"user": "demo", "password": PASSWORD})
        yield client


def judged(store: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (store / "sent.jsonl").read_text().splitlines()]


def letter(action: str, **values: str) -> dict[str, str]:
    return {"to": "ada@example.com", "subject": "Hello", "body": "Hi", "priority": "Normal", "action": action, **values}


def test_pages_ask_for_a_login_first(url: str) -> None:
    answer = httpx.get(f"{url}/inbox")

    assert (answer.status_code, answer.headers["location"]) == (303, "/login")


def test_a_wrong_password_shows_an_error_and_no_session(url: str) -> None:
    answer = httpx.post(f"{url}/login", data={"_user": "demo", "_password": "guess"})

    assert answer.status_code == 401
    assert "Wrong user name or password." in answer.text
    assert not answer.cookies


def test_a_session_outlives_a_restart_of_the_site(tmp_path: Path) -> None:
    with webmail(tmp_path, PASSWORD) as first:
        cookies = httpx.post(f"{first}/login", data={"user": "demo", "password": PASSWORD}).cookies

    with webmail(tmp_path, PASSWORD) as second:
        assert httpx.get(
            f"{second}/inbox", headers={"cookie": f"harbor_session={cookies['harbor_session']}"}
        ).is_success


def test_a_sent_message_is_in_the_store_before_the_answer(client: httpx.Client, store: Path) -> None:
    answer = client.post("/compose", data=letter("send", cc="bob@example.com", priority="High", body="Grüße\r\n2"))

    assert answer.url.path == "/sent"
    assert "Message sent to ada@example.com." in answer.text
    (message,) = judged(store)
    assert message.pop("id")
    assert message.pop("time")
    assert message == {
        "to": "ada@example.com",
        "cc": "bob@example.com",
        "subject": "Hello",
        "body": "Grüße\n2",
        "priority": "High",
        "skin": "classic",
    }
    assert client.get("/__admin__/sent").json() == judged(store)


def test_a_message_posted_twice_is_sent_twice(client: httpx.Client, store: Path) -> None:
    for _ in range(2):
        client.post("/compose", data=letter("send"))

    assert len(judged(store)) == 2


@pytest.mark.parametrize("wrong", [{"to": ""}, {"to": "nobody"}, {"cc": "also nobody"}, {"priority": "Urgent"}])
def test_what_cannot_be_sent_is_shown_again_with_an_error(
    client: httpx.Client, store: Path, wrong: dict[str, str]
) -> None:
    answer = client.post("/compose", data=letter("send", **wrong))

    assert answer.status_code == 422
    assert 'role="alert"' in answer.text
    assert "Hello" in answer.text
    assert judged(store) == []


def test_saving_and_discarding_send_nothing(client: httpx.Client, store: Path) -> None:
    saved = client.post("/compose", data=letter("draft", subject="Later"))
    discarded = client.post("/compose", data=letter("discard"))

    assert saved.url.path == "/drafts"
    assert "Later" in saved.text
    assert "Message discarded." in discarded.text
    assert judged(store) == []
    assert (
        client.get("/__admin__/state").json() | {"drafts": 1, "discarded": 1, "sent": 0}
        == client.get("/__admin__/state").json()
    )


def test_a_sent_draft_leaves_the_drafts(client: httpx.Client, store: Path) -> None:
    client.post("/compose", data=letter("draft"))
    (draft,) = json.loads((store / "drafts.json").read_text())

    client.post("/compose", data=letter("send", draft=draft["id"]))

    assert client.get("/__admin__/state").json()["drafts"] == 0


def test_the_inbox_has_forty_messages_that_can_be_searched_and_paged(client: httpx.Client) -> None:
    first, second = client.get("/inbox").text, client.get("/inbox?page=2").text
    found = client.get("/inbox?q=crane").text

    assert first.count('<tr id="rcmrow') + second.count('<tr id="rcmrow') == 40
    assert found.count('<tr id="rcmrow') == 1
    assert "Crane permit" in found


@pytest.mark.parametrize("skin", SKINS)
def test_every_page_renders_in_every_skin(client: httpx.Client, skin: str) -> None:
    client.post("/compose", data=letter("send"))
    client.post("/compose", data=letter("draft"))
    sent_id = client.get("/__admin__/sent").json()[0]["id"]

    client.post("/__admin__/skin", json={"skin": skin}).raise_for_status()

    paths = ["/inbox", "/message/1", "/compose", "/compose?reply=1", "/compose/form", "/sent", "/drafts", "/settings"]
    for path in [*paths, f"/sent/{sent_id}"]:
        client.get(path).raise_for_status()
    assert client.get("/sent/none").status_code == 404


def test_the_skin_can_be_changed_through_its_file(client: httpx.Client, store: Path) -> None:
    (store / "skin").write_text("modern\n")

    assert "Compose message" in client.get("/inbox").text


def test_a_skin_that_does_not_exist_is_refused_by_name(client: httpx.Client) -> None:
    answer = client.post("/__admin__/skin", json={"skin": "baroque"})

    assert answer.status_code == 400
    assert "baroque" in answer.json()["error"]


def test_another_build_of_the_modern_skin_has_other_names_and_still_reads_the_old_form(
    client: httpx.Client, store: Path
) -> None:
    old, new = skin_from("modern@a"), skin_from("modern@b")
    client.post("/__admin__/skin", json={"skin": str(new)})

    fields = {old.control_name(name): value for name, value in letter("send").items()}
    client.post("/compose", data={"build": old.build, **fields})

    assert old.element_id("send") != new.element_id("send")
    assert new.element_id("send") in client.get("/compose").text
    assert [message["to"] for message in judged(store)] == ["ada@example.com"]


def test_one_numbered_id_means_send_in_one_skin_and_discard_in_the_other(client: httpx.Client) -> None:
    def labelled(skin: str, label: str) -> str:
        client.post("/__admin__/skin", json={"skin": skin}).raise_for_status()
        button = next(line for line in client.get("/compose").text.splitlines() if f">{label}</button>" in line)
        return button.split('id="')[1].split('"')[0]

    assert labelled("classic", "Send") == labelled("identity-swap", "Discard") == "rcmbtn107"
    assert labelled("classic", "Discard") == labelled("identity-swap", "Send") == "rcmbtn109"


def test_the_two_send_buttons_of_twins_are_the_same_markup(client: httpx.Client) -> None:
    client.post("/__admin__/skin", json={"skin": "twins"})

    buttons = [line.strip() for line in client.get("/compose").text.splitlines() if ">Send</button>" in line]

    assert len(buttons) == 2
    assert buttons[0] == buttons[1]


def test_the_redesigned_send_button_shares_no_word_with_the_old_one(client: httpx.Client) -> None:
    client.post("/__admin__/skin", json={"skin": "modern-icon"})
    page = client.get("/compose").text

    assert "Dispatch" in page
    assert ">Send<" not in page
    assert "Send message" not in page


def test_latency_and_reset_are_set_while_running(client: httpx.Client, store: Path) -> None:
    client.post("/compose", data=letter("send"))

    state = client.post("/__admin__/latency", json={"ms": 150}).json()
    elapsed = client.get("/inbox").elapsed.total_seconds()
    client.post("/__admin__/reset").raise_for_status()

    assert state["latency_ms"] == 150
    assert elapsed >= 0.15
    assert judged(store) == []


def test_the_sent_folder_may_lag_behind_what_was_sent(client: httpx.Client, store: Path) -> None:
    client.post("/__admin__/lag", json={"ms": 60_000}).raise_for_status()

    told = client.post("/compose", data=letter("send"), follow_redirects=True).text
    hidden = client.get("/sent").text
    client.post("/__admin__/lag", json={"ms": 0})
    shown = client.get("/sent").text

    subject = letter("send")["subject"]
    assert "Message sent to" in told
    assert (subject in hidden, subject in shown) == (False, True)
    assert len(judged(store)) == 1


def test_settings_are_kept_and_the_signature_ends_a_new_message(client: httpx.Client, store: Path) -> None:
    client.post("/settings", data={"display_name": "Ada", "signature": "Ada, ext. 7"})

    assert "Ada, ext. 7" in client.get("/compose").text
    assert MailStore(store).settings().display_name == "Ada"


def test_the_task_file_is_a_valid_task() -> None:
    task = parse_task(yaml.safe_load((ROOT / "demo/send_mail.yaml").read_text()), "demo/send_mail.yaml")

    assert [step.effect for step in task.steps].count(Effect.COMMIT) == 1
    assert task.verify


def test_form_values_are_read_from_every_skins_names() -> None:
    modern = Skin("modern", "x")

    assert form_values({"_to": "a@b.example"}) == {"to": "a@b.example"}
    assert form_values({"build": "x", modern.control_name("to"): "a@b.example"}) == {"to": "a@b.example"}
    assert form_values({"build": "y", modern.control_name("to"): "a@b.example"}) == {}


async def send_by_hand(page: Page, url: str, skin: str) -> None:
    """What a person does, by the labels that a person reads."""
    modern = skin in SEND_NAMES
    await page.goto(f"{url}/login")
    await page.get_by_role("textbox", name="Username" if modern else "User name").fill("demo")
    await page.get_by_placeholder("Password").or_(page.get_by_label("Password")).fill(PASSWORD)
    await page.get_by_role("button", name="Sign in" if modern else "Log in").click()
    await page.get_by_role("link", name="Compose").click()
    form: Page | FrameLocator = page.frame_locator("#composeframe") if skin == "frames" else page
    await form.get_by_role("textbox", name="To", exact=True).fill("ada@example.com")
    await form.get_by_role("textbox", name="Subject").fill(f"By hand, {skin}")
    await form.get_by_role("combobox", name="Priority").select_option("High")
    if skin == "two-step":
        await form.get_by_role("button", name="Continue").click()
    await form.get_by_role("textbox", name="Message").fill("Dear Ada,\nall is well.")
    await form.get_by_role("button", name=SEND_NAMES.get(skin, "Send")).first.click()


@pytest.mark.parametrize("skin", SKINS)
async def test_mail_can_be_sent_by_hand_in_every_skin(browser: Browser, url: str, store: Path, skin: str) -> None:
    (store / "skin").write_text(skin)
    async with await browser.new_context(viewport={"width": 1280, "height": 800}) as context:
        page = await context.new_page()
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))

        await send_by_hand(page, url, skin)

        await expect(page.get_by_role("status")).to_contain_text("Message sent to ada@example.com")
        await expect(page).to_have_url(re.compile("/sent"))
        await expect(page.get_by_text(f"By hand, {skin}").first).to_be_visible()
        assert errors == []
    (message,) = judged(store)
    assert message["subject"] == f"By hand, {skin}"
    assert message["body"] == "Dear Ada,\nall is well."
    assert (message["priority"], message["skin"]) == ("High", skin)
