"""The behaviours of pages and sites that are tried, as data."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Ending = Literal["answer", "cut", "status", "error_page", "loop"]
GATE = ("located", "armed", "intended", "given", "held", "dispatched", "permitted", "acted", "recorded")
"""Kill points of a commit step, in their order."""
BEFORE_INTENT = ("located", "armed")
BY_KEY = tuple(point for point in GATE if point != "given")
"""Those of a press of keys."""
UNRECORDED = GATE[:-1]
"""Those of a step that nobody but a person can say is done."""
UNHELD = ("located", "armed", "intended", "given")
"""Those that a step comes to of which nothing reaches the gate."""


@dataclass(frozen=True)
class Site:
    """What the site does with a submission."""

    before_s: float = 0.0
    """How long it works before it stores it."""
    stores: bool = True
    after_s: float = 0.0
    """How long it waits between storing and its answer."""
    ends: Ending = "answer"
    """How it answers: well, by cutting the connection, with an error status, an error page, or an endless redirect."""
    status: int = 500


@dataclass(frozen=True)
class Behaviour:
    """One way in which a page, or its site, does not do what a form does."""

    name: str
    says: str
    page: str
    """The page that it has: see `bench.message_site.pages`."""
    site: Site = Site()
    delay_ms: int = 0
    """What the page lets pass between the press and its request."""
    probe: bool = True
    """Whether the task says how the site can be asked."""
    evidence: bool = False
    """Whether the task takes the acting page's own word (`evidence: page`)."""
    action: Literal["click", "open", "fill", "leave"] = "click"
    """What commits: a press of the button, a press of the link, filling the field, or leaving it by Tab."""
    sends: bool = True
    """Whether the page sends anything at all, before it is given up."""
    is_too_late: bool = False
    """Whether it sends later than the task waits for."""
    own: int = 1
    """How often the page itself sends for one press, without any fault."""
    warns: str = ""
    """The warning that a run which is done has to give."""
    repeats: bool = False
    """Whether the page sends the same press once more by a clock, if it comes before the answer."""
    decoy: bool = False
    """Whether the site has a submission of somebody else whose subject contains the run's."""
    points: tuple[str, ...] = GATE
    sequence: int = 2
    """Index of the step that the points are of."""
    is_long: bool = False
    """Whether it takes too long for the short form."""

    @property
    def stores(self) -> bool:
        """Whether the site can have it at all."""
        return self.sends and self.site.stores

    @property
    def ends_nowhere(self) -> bool:
        """Whether no page of the site is there in the end: its answer is cut off, and it cannot be asked."""
        return self.site.ends == "cut" and not self.probe

    def is_doubled(self, presses: Sequence[str], warnings: Sequence[str] = ()) -> bool:
        """Whether the presses that submissions came of are more than one, or more than the page itself makes of one.

        That a page repeated a press by its clock is believed only where the run warns that it saw it.
        """
        is_told = self.repeats and any(warning.startswith("sent_twice") for warning in warnings)
        return len(presses) > self.own + is_told or len(set(presses)) > 1

    def blind(self) -> "Behaviour":
        """The same, of a site that cannot be asked."""
        says = f"{self.says}; the site cannot be asked"
        points = (
            self.points if self.site.ends == "answer" else tuple(point for point in self.points if point in UNRECORDED)
        )
        return dataclasses.replace(self, name=f"{self.name}-blind", says=says, probe=False, points=points)


def _late(seconds: float, *, is_long: bool = False) -> Behaviour:
    name = f"late-{seconds:g}".replace(".", "-")
    says = f"'Message sent' at once, the request {seconds:g} s later"
    return Behaviour(name, says, "late", delay_ms=int(seconds * 1000), is_long=is_long)


def _after_storing(name: str, says: str, site: Site, page: str = "form") -> Behaviour:
    return Behaviour(name, f"{says} after storing", page, site)


_ONES = (
    Behaviour("form", "a form", "form"),
    Behaviour("fetch", "a fetch", "fetch"),
    _late(2.5),
    _late(5),
    _late(12, is_long=True),
    Behaviour(
        "too-late",
        "the request 60 s later, which is not waited for",
        "late",
        delay_ms=60_000,
        sends=False,
        is_too_late=True,
        points=UNHELD,
        is_long=True,
    ),
    Behaviour("beacon-on-leaving", "sendBeacon on pagehide, 'Message sent' at once", "beacon_on_leaving"),
    Behaviour("service-worker-late", "a service worker sends after 4 s", "service_worker_late", delay_ms=4_000),
    Behaviour("service-worker-retries", "a service worker keeps and sends it again", "service_worker_retries"),
    Behaviour("service-worker-answers", "a service worker answers, and sends 4 s later", "service_worker_answers"),
    Behaviour(
        "service-worker-forgets",
        "a service worker answers, and nothing is sent",
        "service_worker_forgets",
        sends=False,
        points=UNHELD,
    ),
    Behaviour("retries", "fetch, again 3 s after each failure", "retries"),
    Behaviour("sending", "'Sending…' until the answer comes; a second press does nothing", "sending"),
    Behaviour("accepts-late", "stored 20 s after it came", "sending", Site(before_s=20), is_long=True),
    Behaviour("accepts-after-4", "stored 4 s after it came", "sending", Site(before_s=4)),
    Behaviour("twice", "a script that submits twice", "twice", own=2, warns="sent_twice"),
    Behaviour("own-beacons", "the page's own beacons while it is filled", "own_beacons"),
    Behaviour(
        "own-beacons-fill",
        "the same, lost in the fill",
        "own_beacons",
        points=("given", "acted"),
        sequence=1,
    ),
    Behaviour("contained", "a probe that another one's value contains", "fetch", decoy=True),
    Behaviour("contained-nothing", "the same, and nothing is sent", "nothing", sends=False, decoy=True, points=UNHELD),
    Behaviour("outbox-local", "an outbox in localStorage", "outbox_local", repeats=True),
    Behaviour("outbox-indexed", "an outbox in IndexedDB", "outbox_indexed", repeats=True),
    Behaviour("keepalive", "fetch with keepalive, and the page is left", "keepalive"),
    Behaviour("form-by-script", "form.submit()", "form_by_script"),
    _after_storing("cut", "connection cut", Site(ends="cut")),
    _after_storing("cut-fetch", "connection of a fetch cut", Site(ends="cut"), "fetch"),
    _after_storing("error-500", "500", Site(ends="status")),
    _after_storing("error-502", "502", Site(ends="status", status=502), "fetch"),
    _after_storing("error-504", "504", Site(ends="status", status=504)),
    _after_storing("error-page", "200 with an error page", Site(ends="error_page")),
    _after_storing("loop", "redirect loop", Site(ends="loop")),
    _after_storing("answers-after-8", "answer 8 s", Site(after_s=8), "fetch"),
    dataclasses.replace(_after_storing("answers-after-90", "answer 90 s", Site(after_s=90)), is_long=True),
    Behaviour("get-link", "a link that commits by GET", "get_link", evidence=True, action="open"),
    Behaviour("get-image", "an image that commits by GET", "get_image", evidence=True),
    Behaviour("websocket", "a message over a WebSocket", "websocket"),
    Behaviour("new-tab", "a form that opens a new tab", "new_tab"),
    Behaviour("popup", "a popup that sends", "popup"),
    Behaviour("autosave-input", "saves on input", "autosave_input", action="fill", sequence=1),
    Behaviour("autosave-change", "saves on change", "autosave_change", action="leave", points=BY_KEY),
    Behaviour("autosave-debounce", "saves 1.5 s after the last input", "autosave_debounce", action="fill", sequence=1),
    Behaviour(
        "optimistic",
        "'Message sent', and the site answers 500",
        "optimistic",
        Site(stores=False, ends="status"),
        points=UNRECORDED,
    ),
    Behaviour("nothing", "'Message sent', and nothing is sent", "nothing", sends=False, points=UNHELD),
    Behaviour("nothing-counted", "the same, and its site counts the press", "counted", sends=False, points=UNHELD),
    Behaviour("nothing-alive", "the same, and beacons say that it is alive", "alive", sends=False, points=UNHELD),
    Behaviour("nothing-left", "the same, and a beacon says it is left", "says_goodbye", sends=False, points=UNHELD),
    Behaviour("late-counted", "the request 4 s later, and its site counts the press", "counted", delay_ms=4_000),
    Behaviour(
        "rejected",
        "200 with an error page, nothing stored",
        "form",
        Site(stores=False, ends="error_page"),
        points=UNRECORDED,
    ),
)
_ASKED = ("late-5", "beacon-on-leaving", "cut", "error-500", "accepts-after-4", "sending", "nothing", "twice")
"""Those that are tried with a site that cannot be asked, too."""

ALL = {one.name: one for one in (*_ONES, *(one.blind() for one in _ONES if one.name in _ASKED))}
