"""What a canary's browser does not send: unsafe requests that came of an input and that no recording knows.

While a step is rehearsed, it sends no unsafe request at all, and no tab leaves its document.
"""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from replaywright.domain.page.observed import SAFE_METHODS
from replaywright.domain.session.network_policy import RefusedHost
from replaywright.domain.step.press_grants import kind_of

RULE: Final = "canary"
"""Beginning of the rule that refused requests are told under."""
_KEPT: Final = 100
"""Kinds of requests that are remembered."""
_PORTS: Final = {"http": 80, "https": 443}


class Withholding:
    """Decides on the requests of one browser.

    What pages send by themselves, before anything was entered since the last document was asked for, they may go on
    sending: they read by it, or report that they are there.
    """

    def __init__(self) -> None:
        self._recorded: frozenset[str] | None = None
        self._holds_back = False
        self._own: set[str] = set()
        self._is_entered = False
        self._withheld: dict[tuple[str, str], RefusedHost] = {}

    def begin(self, recorded: tuple[str, ...] | None, *, holds_back: bool = False) -> None:
        """Withhold from now on what is not among these recorded requests; None: nothing. `holds_back`: everything."""
        self._recorded = None if recorded is None else frozenset(recorded)
        self._holds_back = holds_back

    @property
    def is_on(self) -> bool:
        """Return True if something may be withheld."""
        return self._holds_back or self._recorded is not None

    @property
    def withheld(self) -> tuple[RefusedHost, ...]:
        """What was withheld, by kind."""
        return tuple(self._withheld.values())

    def note_input(self) -> None:
        """Note that something is entered: what comes now may come of it."""
        self._is_entered = True

    def permits(self, paused: Mapping[str, Any], *, is_top: bool) -> bool:
        """Decide on a request that Chromium has paused; `is_top` for one of a tab's own document."""
        if not self.is_on:
            return True
        request = paused["request"]
        method, url = request["method"].upper(), request["url"]
        is_document = is_top and paused.get("resourceType") == "Document"
        text = kind_of(method, url).on_any_site
        if self._holds_back:
            if method in SAFE_METHODS and not is_document:
                return True
            self._note(text, url, "the step that sent it was only rehearsed")
            return False
        if method in SAFE_METHODS:
            self._is_entered = self._is_entered and not is_document
            return True
        if not self._is_entered:
            if len(self._own) < _KEPT:
                self._own.add(text)
            return True
        if text in (self._recorded or ()) or text in self._own:
            return True
        self._note(text, url, "it came of an input, and no recording knows it")
        return False

    def _note(self, text: str, url: str, reason: str) -> None:
        address = urlsplit(url)
        key = (address.netloc, text)
        if (known := self._withheld.get(key)) is not None:
            self._withheld[key] = known.model_copy(update={"count": known.count + 1})
        elif len(self._withheld) < _KEPT:
            host, port = address.hostname or "", address.port or _PORTS.get(address.scheme, 0)
            self._withheld[key] = RefusedHost(host=host, port=port, rule=f"{RULE}: {text}"[:200], reason=reason)
