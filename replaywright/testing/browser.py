"""A browser of scripted pages, without a browser."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from replaywright.domain.common.templates import fill
from replaywright.domain.common.text import contains, normalise
from replaywright.domain.locating.matching import (
    ElementCandidate,
    MatchDecision,
    decide_identified,
    decide_similar,
    may_be_declared,
)
from replaywright.domain.page.observed import (
    AssertionContext,
    ElementProbe,
    ElementState,
    PredicateResult,
    Probe,
    ProbeResult,
)
from replaywright.domain.page.outlines import Outline
from replaywright.domain.page.snapshots import Element, Snapshot
from replaywright.domain.page.targets import Box, ElementQuery, Target
from replaywright.domain.plan.loops import items_of
from replaywright.domain.predicate.evaluation import evaluate, failing
from replaywright.domain.predicate.predicates import Predicate, probes_of
from replaywright.domain.proof.carrying import NOTHING, Sought
from replaywright.domain.proof.proof import needs_proof, proof_of
from replaywright.domain.requests.exchanges import Exchange
from replaywright.domain.secrets.secret_sites import RULE, refusal
from replaywright.domain.site_session.passkeys import Passkey
from replaywright.domain.step.checkpoints import PageState
from replaywright.domain.step.outcomes import Evidence, Lookup, UnsafeRequest
from replaywright.domain.step.overrides import OverrideRule
from replaywright.domain.task.actions import ACTIONS, Action, Cause
from replaywright.domain.task.steps import (
    ITEMS_FIELD,
    Check,
    Extract,
    Fill,
    ForEach,
    Goto,
    Paste,
    SelectOption,
    Type,
    Uncheck,
    action_of,
    names_element,
)
from replaywright.errors import (
    ActionFailed,
    ReplaywrightError,
    SessionLost,
)
from replaywright.ports.browser import (
    BeforeDispatch,
    Capture,
    Download,
    Look,
    OnFound,
    Pressed,
    Report,
    Shown,
    SiteAnswer,
    Work,
)
from replaywright.testing.faults import raise_next
from replaywright.testing.gate import FakeGate


@dataclass
class FakeElement:
    """One element of a scripted page, and what happens when it is clicked or gets a key."""

    target: Target
    value: str = ""
    goes_to: str = ""
    """URL of the page that opens."""
    shows: str = ""
    """Text that appears; `{{id}}` stands for the value of the page's element with that id."""
    sends: tuple[UnsafeRequest, ...] = ()
    visible: bool = True


@dataclass
class FakePage:
    """A scripted page."""

    elements: dict[str, FakeElement] = field(default_factory=dict)
    """Elements by their id in snapshots."""
    title: str = ""
    texts: tuple[str, ...] = ()
    extracts: dict[str, Any] = field(default_factory=dict)
    """Extracted values by field."""


@dataclass(frozen=True)
class Dispatch:
    """One input that reached a page."""

    action: Action
    element: str = ""
    text: str = field(default="", repr=False)


@dataclass
class FakeSite:
    """Scripted pages by URL, and everything that was done to them by all sessions."""

    pages: dict[str, FakePage] = field(default_factory=dict)
    dispatches: list[Dispatch] = field(default_factory=list)
    fail_before: list[ReplaywrightError | None] = field(default_factory=list)
    """Errors that the next actions raise with nothing dispatched; None for no error."""
    fail_after: list[ReplaywrightError | None] = field(default_factory=list)
    """Errors that the next actions raise once the input has reached the page; None for no error."""
    fail_restore: list[ReplaywrightError | None] = field(default_factory=list)
    """Errors that the next restorings raise; None for no error."""
    answers: list[SiteAnswer | ReplaywrightError] = field(default_factory=list)
    """Next answers of `ask_site`."""
    asked: int = 0
    """Number of questions to the site."""
    page_fault: str = ""
    """Fault of the page that is shown."""
    captures: list[Capture] = field(default_factory=list)
    """Next results of `capture`."""
    no_picture: str = ""
    """Reason why `look` has no picture; empty while it has one."""
    downloads: list[Download] = field(default_factory=list)
    """Downloads in reports, until their release."""
    late: list[UnsafeRequest] = field(default_factory=list)
    """Requests that pages send after a step, as soon as they are waited for."""
    leaving: list[UnsafeRequest] = field(default_factory=list)
    """Requests that pages send when they are left."""
    pressed: dict[str, Pressed] = field(default_factory=dict)
    """Late requests of presses by the fingerprint of their step."""
    idled: list[float] = field(default_factory=list)
    """Seconds for which its pages were only listened to."""
    exchanges: list[Exchange] = field(default_factory=list)
    """Requests that its pages send, by the step that is recorded with them."""
    gate: FakeGate | None = None
    """The gate that requests of its pages pass."""

    def page(self, url: str) -> FakePage:
        """Return the page at `url`, with or without its query; an empty one when none is scripted."""
        return self.pages.get(url) or self.pages.get(url.partition("?")[0]) or FakePage()


class FakeBrowserSession:
    """A `BrowserSession` on a `FakeSite`. It finds elements with the domain's own decisions."""

    def __init__(self, site: FakeSite, url: str = "about:blank") -> None:
        self.site = site
        self.is_lost = False
        """While set, everything raises `SessionLost`."""
        self.detached = 0
        """Number of detachments."""
        self.works: list[Work] = []
        """Performed work, oldest first."""
        self.stored: list[dict[str, Any]] = []
        self.passkeys: tuple[Passkey, ...] | None = None
        """Storage of its origins."""
        self.open_sockets: tuple[str, ...] = ()
        self.unanswered: tuple[UnsafeRequest, ...] = ()
        """Requests of a press while the gate holds it."""
        self._opened = 0
        self._last = Evidence()
        """Evidence of the latest step."""
        self._history = [url]
        self._values: dict[str, str] = {}
        self._shown: list[str] = []

    @property
    def url(self) -> str:
        """URL of the current page."""
        return self._history[-1]

    @property
    def wanted_url(self) -> str:
        """URL of the current page."""
        return self.url

    @property
    def last_evidence(self) -> Evidence:
        """Nothing: a scripted page asks nobody anything."""
        return Evidence()

    async def perform(self, work: Work, before_dispatch: BeforeDispatch | None = None) -> Report:
        """Find the element, act once, evaluate what is expected."""
        self.works.append(work)
        if work.picturing is not None:
            await asyncio.wait({work.picturing})
        self._must_live()
        decision = self._find(work)
        element_id = self._id_of(decision)
        if names_element(work.step) and element_id is None:
            return self._report(decision.lookup, snapshot=self._read())
        before, shown = self._evaluate(work.expect), len(self._shown)
        target = None if element_id is None else self._elements[element_id].target
        held_before = work.skip_if_holds and failing(before) is None
        if work.looks or held_before or self._is_there_already(work, element_id):
            after = self._evaluate(work.expect)
            return self._report(decision.lookup, target=target, before=before, after=after)
        raise_next(self.site.fail_before)
        if before_dispatch is not None:
            await before_dispatch(target, before)
        if why := refusal(work.secrets, (self.url,)):
            raise ActionFailed(RULE, why, dispatched=False)
        opened = self._opened
        self._last = evidence = await self._sent(work, element_id)
        raise_next(self.site.fail_after)
        after = self._evaluate(work.expect)
        held = failing(after) is None
        changed = len(self._shown) != shown
        proof = proof_of(before, after, evidence, changed=changed, url=self.url) if needs_proof(work.step) else None
        return self._report(
            decision.lookup,
            target=target,
            acted=True,
            proof=proof,
            before=before,
            after=after,
            evidence=evidence,
            is_fresh=self._opened != opened,
            extracted=self._extracted(work),
            snapshot=None if held else self._read(),
        )

    async def late(self, enough: Callable[[Evidence], bool], timeout_ms: int) -> Evidence:
        """Return the evidence of the latest step with the next late requests."""
        self._must_live()
        del enough, timeout_ms
        if self.site.late:
            self._last = await self._with_late(self.site.late.pop(0))
        return self._last

    def pressed(self) -> Mapping[str, Pressed]:
        """List the presses that sent something later, as the scripted site says."""
        self._must_live()
        return self.site.pressed

    async def idle(self, seconds: float) -> None:
        """Return at once: on a scripted page nothing changes by waiting."""
        self._must_live()
        self.site.idled.append(seconds)

    async def look_again(self, report: Report, timeout_ms: int) -> Report:
        """Return the report with late evidence; a scripted page does not change by waiting."""
        self._must_live()
        del timeout_ms
        return replace(report, evidence=self._last)

    async def come_back(self, url: str, timeout_ms: int) -> bool:
        """Open the page with this address."""
        self._must_live()
        del timeout_ms
        self._open(url)
        return True

    async def leave(self, timeout_ms: int) -> bool:
        """Open an empty page, once the present one has sent what it sends then."""
        self._must_live()
        del timeout_ms
        for request in self.site.leaving:
            self._last = await self._with_late(request)
        self.site.leaving.clear()
        self._open("about:blank")
        return True

    async def _with_late(self, request: UnsafeRequest) -> Evidence:
        gate = self.site.gate
        has_passed = gate is None or await gate.passes(url=request.url, status=request.status)
        return self._last.model_copy(update={"requests": (*self._last.requests, request)}) if has_passed else self._last

    async def release(self, downloads: Sequence[Download]) -> None:
        """Report them no more."""
        self.site.downloads = [kept for kept in self.site.downloads if kept not in downloads]

    async def check(self, expect: Sequence[Predicate], timeout_ms: int) -> tuple[PredicateResult, ...]:
        """Evaluate predicates at once: nothing changes on a scripted page by waiting."""
        del timeout_ms
        self._must_live()
        return self._evaluate(expect)

    async def ask_site(self, works: Sequence[Work], expect: Sequence[Predicate]) -> SiteAnswer:
        """Return the next of the site's scripted answers; else what the page says that the last goto leads to."""
        self._must_live()
        self.site.asked += 1
        if self.site.answers:
            answer = self.site.answers.pop(0)
            if isinstance(answer, ReplaywrightError):
                raise answer
            return answer
        tab = FakeBrowserSession(self.site)
        for work in works:
            if isinstance(work.step, Goto):
                tab._open(work.step.url)
        return SiteAnswer(tab._evaluate(expect), tab.url)

    async def due(self, rules: Sequence[OverrideRule]) -> tuple[OverrideRule, ...]:
        """Those whose `when` holds."""
        self._must_live()
        asked = [rule for rule in rules if rule.when is not None]
        verdicts = self._evaluate([rule.when for rule in asked if rule.when is not None])
        return tuple(rule for rule, verdict in zip(asked, verdicts, strict=True) if verdict.passed)

    async def snapshot(self) -> Snapshot:
        """Return the current page."""
        self._must_live()
        return self._read()

    async def look(self, wanted: Callable[[Snapshot], Sequence[str]], redact: Callable[[str], str]) -> Look:
        """Return the current page, and a picture that names what it marks; none where the site has none."""
        self._must_live()
        snapshot = self._read()
        if self.site.no_picture:
            return Look(snapshot, missing=redact(self.site.no_picture))
        return Look(snapshot, f"a picture of {','.join(wanted(snapshot))}".encode())

    async def picture(self, redact: Callable[[str], str]) -> Shown:
        """Return a picture that names the page; none where the site has none."""
        self._must_live()
        if self.site.no_picture:
            return Shown(missing=redact(self.site.no_picture))
        return Shown(f"a picture of {self.url}".encode(), Box(x=0, y=0, width=1280, height=720))

    async def capture(self, redact: Callable[[str], str]) -> Capture:
        """Return the next of `captures`, else the texts of the page with a stand-in picture."""
        self._must_live()
        if self.site.captures:
            return self.site.captures.pop(0)
        texts = [*self.site.page(self.url).texts, *self._shown, *self._values.values()]
        return Capture(b"a picture", redact("\n".join(texts)), ("console",), ("network",))

    @property
    def unsent(self) -> Sought:
        """Return nothing: a script has no requests with bodies."""
        return NOTHING

    @property
    def document(self) -> str:
        """An id of the document, new for each page that was opened."""
        return str(self._opened)

    async def page_fault(self) -> str:
        """Return nothing, unless a test says so: every page is there."""
        return self.site.page_fault

    async def outline(self) -> Outline:
        """Return the elements of the page."""
        self._must_live()
        elements = self._read().elements
        return Outline(elements=tuple((e.target.role, e.target.name, e.value) for e in elements if e.visible))

    async def state(self) -> tuple[PageState, Outline]:
        """Return the page with `stored`."""
        self._must_live()
        return PageState(url=self.url, storage={"cookies": [], "origins": list(self.stored)}), await self.outline()

    async def put_storage(self, state: PageState) -> None:
        """Take over what sites stored; the page stays."""
        self._must_live()
        raise_next(self.site.fail_restore)
        self.stored = list(state.storage.get("origins", []))

    async def exchanges(self) -> tuple[Exchange, ...]:
        """Return the site's scripted exchanges of steps whose requests are kept."""
        self._must_live()
        recorded = {work.records for work in self.works}
        return tuple(exchange for exchange in self.site.exchanges if exchange.step in recorded)

    async def put_passkeys(self, passkeys: Sequence[Passkey]) -> None:
        """Take them; no page uses one."""
        self._must_live()
        self.passkeys = tuple(passkeys)

    async def restore(self, state: PageState) -> None:
        """Open its page."""
        self._must_live()
        raise_next(self.site.fail_restore)
        self.stored = list(state.storage.get("origins", []))
        self._open(state.url)

    async def detach(self) -> None:
        """Count the detachment; the page stays as it is."""
        self.detached += 1

    @property
    def _elements(self) -> dict[str, FakeElement]:
        return self.site.page(self.url).elements

    def _must_live(self) -> None:
        if self.is_lost:
            raise SessionLost("the fake browser is gone")

    def _find(self, work: Work) -> MatchDecision:
        visible = {key: element for key, element in self._elements.items() if element.visible}
        if work.target is None:
            if work.query is None:
                return MatchDecision(Lookup(reason="no_entry"))
            found = self._found(work.query, visible)
            if len(found) != 1:
                reason = "ambiguous" if found else "not_found"
                return MatchDecision(Lookup(tier="query", reason=reason, candidates=len(found)))
            index = list(visible).index(found[0])
            chosen = ElementCandidate(index=index, tier="query", target=visible[found[0]].target)
            if work.recorded is not None and not may_be_declared(work.recorded, chosen.target, work.query):
                return MatchDecision(Lookup(tier="query", candidates=1, reason="disagrees"))
            return MatchDecision(Lookup(hit=True, tier="query", candidates=1, score=1.0), chosen)
        everything = [
            ElementCandidate(index=index, tier=_tier(work.target, element.target), target=element.target)
            for index, element in enumerate(visible.values())
        ]
        identified = [candidate for candidate in everything if candidate.tier != "similarity"]
        decision = decide_identified(work.target, identified, work.entry_version)
        if not decision.lookup.hit:
            similar = decide_similar(work.target, everything, work.entry_version)
            decision = similar if similar.lookup.hit or not identified else decision
        if decision.lookup.healed and not work.heal:
            return MatchDecision(
                decision.lookup.model_copy(update={"hit": False, "healed": False, "reason": "heal_off"})
            )
        return decision

    def _id_of(self, decision: MatchDecision) -> str | None:
        if decision.chosen is None:
            return None
        return [key for key, element in self._elements.items() if element.visible][decision.chosen.index]

    def _found(self, query: ElementQuery, elements: Mapping[str, FakeElement]) -> list[str]:
        """Return the keys of the elements that the query describes, at its position if it has one."""
        found = [key for key, element in elements.items() if self._matches(query, key, element)]
        at = query.nth
        if at is None:
            return found
        return found[at - 1 : at] if at > 0 else found[at : at + 1 or None] if -at <= len(found) else []

    def _matches(self, query: ElementQuery, key: str, element: FakeElement) -> bool:
        target = element.target
        equal = {
            (query.role, target.role),
            (query.test_id, target.attributes.get("data-testid", "")),
            (query.css, target.css),
        }
        same_text = {
            (query.name, target.name),
            (query.label, target.label),
            (query.placeholder, target.attributes.get("placeholder", "")),
        }
        text = target.text or self._value(key)
        contained = {(query.name_contains, target.name), (query.text, text)}
        return (
            (query.name_in is None or normalise(target.name) in map(normalise, query.name_in))
            and (query.text_in is None or any(contains(text, wanted) for wanted in query.text_in))
            and (query.within is None or _stands_in(query.within, target))
            and all(wanted is None or wanted == seen for wanted, seen in equal)
            and all(wanted is None or normalise(wanted) == normalise(seen) for wanted, seen in same_text)
            and all(wanted is None or contains(seen, wanted) for wanted, seen in contained)
        )

    def _value(self, key: str) -> str:
        return self._values.get(key, self._elements[key].value)

    def _is_there_already(self, work: Work, element_id: str | None) -> bool:
        return element_id is not None and self._value(element_id) == _entered(work)

    async def _sent(self, work: Work, element_id: str | None) -> Evidence:
        """Act; what the element sends has no consequences when the gate does not let it go."""
        sends = () if element_id is None else self._elements[element_id].sends
        self.unanswered = sends
        try:
            gate = self.site.gate
            has_passed = not sends or gate is None or await gate.passes(url=sends[0].url, status=sends[0].status)
        finally:
            self.unanswered = ()
        if not has_passed:
            self.site.dispatches.append(Dispatch(action_of(work.step), element_id or "", work.text))
            return Evidence(input_landed=True)
        return self._act(work, element_id)

    def _act(self, work: Work, element_id: str | None) -> Evidence:
        action = action_of(work.step)
        self.site.dispatches.append(Dispatch(action, element_id or "", work.text))
        match action:
            case Action.GOTO:
                assert isinstance(work.step, Goto)
                self._open(work.step.url)
                return Evidence(causes=(Cause.NEW_DOCUMENT,))
            case Action.GO_BACK if len(self._history) > 1:
                self._history.pop()
                self._opened += 1
                self._values, self._shown = {}, []
                return Evidence(causes=(Cause.NEW_DOCUMENT,))
            case _ if element_id is not None and ACTIONS[action].needs_proof:
                return self._react(self._elements[element_id])
            case _ if element_id is not None and (value := _entered(work)) is not None:
                self._values[element_id] = value
        return Evidence(input_landed=None if element_id is None else True)

    def _react(self, element: FakeElement) -> Evidence:
        text = fill(element.shows, {key: self._value(key) for key in self._elements})
        if element.goes_to:
            self._open(element.goes_to)
        if text:
            self._shown.append(text)
        causes = (Cause.NEW_DOCUMENT,) if element.goes_to else ()
        return Evidence(causes=causes, requests=element.sends, input_landed=True)

    def _open(self, url: str) -> None:
        self._opened += 1
        self._history.append(url)
        self._values, self._shown = {}, []

    def _extracted(self, work: Work) -> dict[str, Any]:
        found = self.site.page(self.url).extracts
        if isinstance(work.step, ForEach):
            return {ITEMS_FIELD: list(items_of(work.step, found))}
        if not isinstance(work.step, Extract):
            return {}
        return {name: found.get(name) for name in work.step.fields}

    def _evaluate(self, expect: Sequence[Predicate]) -> tuple[PredicateResult, ...]:
        probes = tuple((probe, self._answer(probe)) for probe in probes_of(expect))
        context = AssertionContext(url=self.url, title=self.site.page(self.url).title, probes=probes)
        return tuple(evaluate(predicate, context) for predicate in expect)

    def _answer(self, probe: Probe) -> ProbeResult:
        visible = {key: element for key, element in self._elements.items() if element.visible}
        if isinstance(probe, ElementProbe):
            found = self._found(probe.query, self._elements if probe.in_dom else visible)
            return ProbeResult(count=len(found), elements=tuple(self._state(key) for key in found[:3]))
        if probe.within is not None:
            inside = [key for key, element in visible.items() if self._matches(probe.within, key, element)]
            return ProbeResult(count=sum(contains(visible[key].target.text, probe.text) for key in inside))
        texts = [*self.site.page(self.url).texts, *self._shown]
        texts += [element.target.text or element.target.name for element in visible.values()]
        return ProbeResult(count=sum(contains(text, probe.text) for text in texts))

    def _state(self, key: str) -> ElementState:
        target = self._elements[key].target
        is_password = target.attributes.get("type") == "password"
        value = "" if is_password else self._value(key)
        return ElementState(role=target.role, name=target.name, text=target.text, value=value)

    def _read(self) -> Snapshot:
        page = self.site.page(self.url)
        elements = tuple(
            Element(id=key, target=element.target, visible=element.visible, value=self._state(key).value)
            for key, element in page.elements.items()
        )
        return Snapshot(url=self.url, title=page.title, elements=elements, node_count=len(elements))

    def _report(self, lookup: Lookup, **fields: Any) -> Report:
        title, downloads = self.site.page(self.url).title, tuple(self.site.downloads)
        return Report(lookup, url=self.url, title=title, downloads=downloads, evaluations=1, **fields)


def _entered(work: Work) -> str | None:
    """Return the value that the step leaves in its element; None if it leaves none."""
    match work.step:
        case Fill() | Type() | Paste():
            return work.text
        case SelectOption(wanted=wanted):
            return ", ".join(wanted)
        case Check():
            return "on"
        case Uncheck():
            return ""
        case _:
            return None


def _tier(recorded: Target, seen: Target) -> str:
    """Return the first tier that would lead from the recording to `seen`; `similarity` when none does."""
    identity = ("data-testid", "id", "name", "aria-label", "placeholder")
    if recorded.xpath and recorded.xpath == seen.xpath:
        return "xpath"
    if any(recorded.attributes.get(key, "") == seen.attributes.get(key) for key in identity):
        return "attributes"
    if recorded.role == seen.role and recorded.name and normalise(recorded.name) == normalise(seen.name):
        return "role_name"
    if recorded.element_hash and recorded.element_hash == seen.element_hash:
        return "hash"
    return "similarity"


def _stands_in(query: ElementQuery, target: Target) -> bool:
    """Return True if the query names the container of a scripted element, which has role and name only."""
    given = query.model_dump(exclude_none=True)
    if not given.keys() <= {"role", "name"}:
        raise ValueError(f"a scripted page tells containers by role and name, not by {', '.join(given)}")
    role, _, name = target.container.partition(" ")
    return query.role in (None, role) and (query.name is None or normalise(query.name) == normalise(name.strip('"')))


class FakeBrowsers:
    """`Browsers` on one `FakeSite`: attaching again to an endpoint finds the page as it was left."""

    def __init__(self, site: FakeSite | None = None) -> None:
        self.site = FakeSite() if site is None else site
        self.sessions: dict[str, FakeBrowserSession] = {}
        """Browsers by endpoint."""

    async def attach(self, endpoint: str, directory: str = "", on_found: OnFound | None = None) -> FakeBrowserSession:
        """Return the session at `endpoint`, made when there is none."""
        del directory, on_found
        session = self.sessions.setdefault(endpoint, FakeBrowserSession(self.site))
        if session.is_lost:
            raise SessionLost(f"nothing answers at {endpoint}")
        return session

    async def stop_loading(self, endpoint: str) -> bool:
        """Note it at the site's gate."""
        del endpoint
        if self.site.gate is not None:
            self.site.gate.loads_stopped += 1
        return True
