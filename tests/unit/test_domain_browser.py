"""The browser's options in a task: what is refused with which remedy, and what becomes of them."""

from typing import Any

import pytest

from replaywright.domain.skill.skills import context_in
from replaywright.domain.task.browser import BrowserOptions
from replaywright.domain.task.tasks import Task, bind_parameters, browser_setup, parse_task
from replaywright.errors import InputInvalid

CLICK = {"action": "click", "instruction": "the send button"}
LOGIN = {"username": "{{who}}", "password": "{{secret:PASSWORD}}"}


def parsed(browser: dict[str, Any], url: str = "https://shop.example:8443/start", **fields: Any) -> Task:
    data = {"task": "shop", "url": url, "steps": [CLICK], "browser": browser, **fields}
    return parse_task(data, "shop.yaml")


@pytest.mark.parametrize(
    ("browser", "said"),
    [
        ({"viewport": "1280 x 800"}, "viewport: expected width x height, each from 50 to 10000 pixels, as 1280x800"),
        ({"viewport": "10x800"}, "viewport: expected width x height, each from 50"),
        ({"locale": "de_DE.UTF-8"}, "locale: expected a language tag such as de-DE, found 'de_DE.UTF-8': write de-DE"),
        ({"locale": "german"}, "locale: expected a language tag such as de-DE, found 'german'"),
        ({"time_zone": "Europe/Berlni"}, "time_zone: time zone 'Europe/Berlni': expected a name of the IANA database"),
        ({"time_zone": "Europe/Berlni"}, "such as Europe/Berlin"),
        ({"color_scheme": "blue"}, "color_scheme: should be 'light' or 'dark', found 'blue'"),
        ({"user_agent": "x\r\nHost: y"}, "user_agent: "),
        ({"user_agent": "{{secret:PASSWORD}}"}, "user_agent: parameters and secrets are for headers and basic_auth"),
        ({"headers": {"Host": "x"}}, "headers: Host may not be set: write the host in url"),
        ({"headers": {"cookie": "x"}}, "headers: cookie may not be set: sign in by steps"),
        ({"headers": {"Authorization": "x"}}, "headers: Authorization may not be set: use basic_auth"),
        ({"headers": {"Content-Length": "1"}}, "headers: Content-Length may not be set: the browser writes it itself"),
        ({"headers": {"User-Agent": "1"}}, "headers: User-Agent may not be set: use user_agent"),
        ({"headers": {"Accept-Language": "de"}}, "headers: Accept-Language may not be set: use locale"),
        ({"headers": {"Sec-Fetch-Site": "none"}}, "headers: Sec-Fetch-Site may not be set: the browser writes it"),
        ({"headers": {"X Y": "1"}}, "headers: 'X Y' is no name of a header field"),
        ({"headers": {"X-A": "1", "x-a": "2"}}, "headers: x-a is given twice"),
        ({"headers": {"X-A": "1\n2"}}, "headers: the value of X-A has a line break"),
        ({"headers": {"X-A": "{{totp:PASSWORD}}"}}, "headers: the value of X-A is sent with every request"),
        ({"headers": {"X-A": "{{secret:OTHER}}"}}, "browser uses undeclared secret 'OTHER'; add it to secrets"),
        ({"headers": {"X-A": "{{nobody}}"}}, "browser uses undeclared parameter 'nobody'"),
        ({"basic_auth": {"username": "ada", "password": "hunter2"}}, "basic_auth.password: a password is not written"),
        ({"basic_auth": {"username": "ada", "password": 1234}}, "basic_auth.password: a password is not written"),
        ({"basic_auth": {"username": "ada", "password": "{{totp:PASSWORD}}"}}, "a one-time password is entered once"),
        ({"viewprt": "1280x800"}, "browser.viewprt: unknown field"),
    ],
)
def test_a_wrong_option_is_refused_with_its_place_and_the_remedy(browser: dict[str, Any], said: str) -> None:
    with pytest.raises(InputInvalid) as refused:
        parsed(browser, secrets=["PASSWORD"])

    assert said in str(refused.value)
    assert "hunter2" not in str(refused.value)
    assert "1234" not in str(refused.value)


def test_the_setup_is_for_the_origin_that_the_task_begins_at() -> None:
    task = parsed(
        {"viewport": "1280x800", "headers": {"X-Who": "{{who}}", "X-Key": "{{secret:KEY}}"}, "basic_auth": LOGIN},
        parameters={"who": {}},
        secrets=["KEY", "PASSWORD"],
    )

    setup = browser_setup(task, {"who": "ada"})
    assert setup is not None
    full = setup.with_secrets({"KEY": "k3y", "PASSWORD": "s3cret"}.__getitem__)

    assert (setup.origin, setup.width, setup.height) == ("https://shop.example:8443", 1280, 800)
    assert (setup.headers, setup.username) == ({"X-Who": "ada", "X-Key": "{{secret:KEY}}"}, "ada")
    assert setup.secrets == ("KEY", "PASSWORD")
    assert (full.headers["X-Key"], full.password) == ("k3y", "s3cret")
    assert "k3y" not in repr(full)
    assert "s3cret" not in repr(full)
    assert full.answers("Basic", "https://shop.example:8443")
    assert not full.answers("basic", "https://shop.example")
    assert not full.answers("digest", "https://shop.example:8443")


def test_a_task_without_options_has_no_setup() -> None:
    task = parse_task({"task": "shop", "url": "https://shop.example", "steps": [CLICK]}, "shop.yaml")

    assert browser_setup(task, {}) is None


@pytest.mark.parametrize("value", ["two\r\nlines", "x" * 5_000, "\N{SNOWMAN}"])
def test_a_value_that_no_header_can_carry_is_refused_before_the_run(value: str) -> None:
    task = parsed({"headers": {"X-Who": "{{who}}"}}, parameters={"who": {}})

    with pytest.raises(InputInvalid, match=r"browser\.headers: the value of X-Who has") as refused:
        bind_parameters(task, {"who": value})
    assert value not in str(refused.value)


def test_a_secret_that_no_header_can_carry_is_refused_without_showing_it() -> None:
    setup = browser_setup(parsed({"headers": {"X-Key": "{{secret:KEY}}"}}, secrets=["KEY"]), {})
    assert setup is not None

    with pytest.raises(InputInvalid, match="the value of X-Key has a line break") as refused:
        setup.with_secrets(lambda _name: "k3y\n")
    assert "k3y" not in str(refused.value)


def test_a_skill_is_learned_in_the_size_and_language_of_its_task() -> None:
    context = context_in(BrowserOptions(viewport="800x600", locale="de-DE"), signed_in=True)

    assert (context.viewport, context.locale, context.signed_in) == ("800x600", "de-DE", True)
    assert context_in(None, signed_in=None).locale == ""
