"""Setup of a session's browser over DevTools: every tab has it before its first script runs.

Size, language, time zone, colour scheme and name of the browser belong to the keeper's own sessions with the targets,
so that they last while workers come and go. Header fields and credentials are added to requests to one origin, each of
which Chromium pauses for that; a redirect to another origin pauses again, and gets nothing.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from replaywright.domain.session.browser_setup import BrowserSetup

TRIED_KEPT: Final = 256
"""Answered challenges that are remembered: the same request is challenged again where the credentials are wrong."""

_Command: TypeAlias = "tuple[str, Mapping[str, Any]]"


class Emulation:
    """The setup of one browser; none until it is told."""

    def __init__(self) -> None:
        self._setup = BrowserSetup()
        self._tried: dict[str, None] = {}

    def set_up(self, setup: BrowserSetup) -> None:
        """Use this setup from now on."""
        self._setup = setup

    @property
    def is_of_workers(self) -> bool:
        """True if a page's workers have to be set up by themselves: they do not take over its language."""
        return bool(self._setup.locale)

    def commands(self, kind: str) -> Iterator[_Command]:
        """Yield the commands that set up a target of this kind, such as `page` or `iframe`."""
        setup = self._setup
        if kind == "page" and setup.width:
            size = {"width": setup.width, "height": setup.height}
            yield "Emulation.setDeviceMetricsOverride", {**size, "deviceScaleFactor": 0, "mobile": False}
        if setup.user_agent or setup.locale:
            language = {"acceptLanguage": setup.locale} if setup.locale else {}
            yield "Emulation.setUserAgentOverride", {"userAgent": setup.user_agent, **language}
        yield from self.of_media()
        yield from self.of_process()

    def of_media(self) -> Iterator[_Command]:
        """Yield the command for the colour scheme."""
        if self._setup.color_scheme:
            scheme = {"name": "prefers-color-scheme", "value": self._setup.color_scheme}
            yield "Emulation.setEmulatedMedia", {"features": [scheme]}

    def of_process(self) -> Iterator[_Command]:
        """Yield the commands whose effect a target shares with its process, until the target that sent them ends."""
        if self._setup.locale:
            yield "Emulation.setLocaleOverride", {"locale": self._setup.locale}
        if self._setup.time_zone:
            yield "Emulation.setTimezoneOverride", {"timezoneId": self._setup.time_zone}

    @property
    def pauses(self) -> Mapping[str, Any] | None:
        """Parameters of `Fetch.enable` that pause the requests to the origin; None where nothing is added to any."""
        if not self._setup.is_private:
            return None
        pattern = {"urlPattern": f"{self._setup.origin}/*", "requestStage": "Request"}
        return {"patterns": [pattern], "handleAuthRequests": bool(self._setup.password)}

    def continued(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the parameters by which a paused request goes on."""
        going_on = {"requestId": params["requestId"]}
        request, setup = params["request"], self._setup
        if not setup.headers or not request["url"].startswith(f"{setup.origin}/"):
            return going_on
        own = {name.lower() for name in setup.headers}
        kept = {name: value for name, value in request["headers"].items() if name.lower() not in own}
        headers = [{"name": name, "value": value} for name, value in {**kept, **setup.headers}.items()]
        return {**going_on, "headers": headers}

    def answer(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the answer to a challenge: the credentials if it is the origin's, once for a request; else none."""
        number, challenge = params["requestId"], params["authChallenge"]
        answer: dict[str, str] = {"response": "Default"}
        is_ours = challenge.get("source") != "Proxy" and self._setup.answers(challenge["scheme"], challenge["origin"])
        if is_ours and number in self._tried:
            answer = {"response": "CancelAuth"}
        elif is_ours:
            self._tried[number] = None
            if len(self._tried) > TRIED_KEPT:
                del self._tried[next(iter(self._tried))]
            answer = {
                "response": "ProvideCredentials",
                "username": self._setup.username,
                "password": self._setup.password,
            }
        return {"requestId": number, "authChallengeResponse": answer}
