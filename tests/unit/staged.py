"""A worker's activities on fakes: one small mail site, one session on it."""

import dataclasses
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import TypeAdapter
from temporalio.testing import ActivityEnvironment

from activities.policing import Policing
from activities.proof.effects import EffectActivities
from activities.run.knowledge import KnowledgeActivities
from activities.session.attachments import Attachments
from activities.session.checkpoints import Checkpoints
from activities.session.sessions import SessionActivities
from activities.session.step_pictures import StepPictures
from activities.step.actions import Actions
from activities.step.credentials import Credentials
from activities.step.failures import FailureEvidence
from activities.step.ledger import StepLedger
from activities.step.underway import StepTools
from activities.vault import Vault
from replaywright.domain.page.targets import Box, Target
from replaywright.domain.run.commands import Await, CommandOnStep, InputCommand, Perform, Proposal, Reapply, StepContext
from replaywright.domain.run.scope import RunScope, Usage
from replaywright.domain.secrets.secret_sites import sites_in
from replaywright.domain.session.sessions import SessionRef
from replaywright.domain.skill.entries import ActionCacheEntry, EntryInfo
from replaywright.domain.step.fingerprints import fingerprint
from replaywright.domain.step.outcomes import AWAITED, StepOutcome, UnsafeRequest
from replaywright.domain.task.steps import Step
from replaywright.ports.ledger import Intent
from replaywright.testing.browser import Dispatch, FakeBrowsers, FakeBrowserSession, FakeElement, FakePage, FakeSite
from replaywright.testing.keepers import FakeKeepers
from replaywright.testing.steps import FakeStepStore
from replaywright.testing.stores import FakeArtifacts, FakeCodes, FakeOverrides, FakeSecrets, FakeStarts

COMPOSE = "https://mail.example/compose"
SENT = "https://mail.example/sent"
POST = UnsafeRequest(method="POST", url="https://mail.example/send", status=200)
PASSWORD = "correct horse"
PIN = "12"
"""Short, and part of many numbers."""
BOUND = dict.fromkeys(("PASSWORD", "PIN", "LOGIN", "A", "B", "C"), sites_in("mail.example", "test"))
"""Secrets that are bound to the site."""
SESSION = SessionRef(session_id="s1", queue="q", host_queue="host-q", host="fake-host", boot_id="fake-boot")

TO = Target(tag="input", role="textbox", name="To", xpath="/form/input[1]", element_hash="h-to")
SECRET_FIELD = Target(
    tag="input", role="textbox", name="Password", attributes={"type": "password"}, xpath="/form/input[2]"
)
SEND = Target(
    tag="button",
    role="button",
    name="Send",
    attributes={"id": "send"},
    xpath="/form/button[1]",
    neighbours=("To",),
    element_hash="h-send",
    box=Box(x=40, y=200, width=80, height=30),
)
HELP = Target(tag="button", role="button", name="Help", xpath="/form/button[2]", element_hash="h-help")

_Result = TypeVar("_Result")
_STEPS: TypeAdapter[Step] = TypeAdapter(Step)


def step(action: str, instruction: str, **fields: Any) -> Step:
    return _STEPS.validate_python({"action": action, "instruction": instruction, **fields})


FILL_TO = step("fill", "the To field", value="{{to}}")
FILL_SECRET = step("fill", "the password field", value="{{secret:PASSWORD}}")
CLICK_SEND = step("click", "the send button", expect=[{"text_contains": "Message sent"}])
CLICK_HELP = step("click", "the help button", expect=[{"text_contains": "How to write"}])


def mail_site() -> FakeSite:
    elements = {
        "to": FakeElement(TO),
        "password": FakeElement(SECRET_FIELD),
        "send": FakeElement(SEND, goes_to=SENT, shows="Message sent to {{to}}", sends=(POST,)),
        "help": FakeElement(HELP, shows="How to write a message"),
    }
    return FakeSite({COMPOSE: FakePage(elements, title="Compose"), SENT: FakePage(title="Sent")})


async def run_activity(call: Callable[..., Awaitable[_Result]], *arguments: object, attempt: int = 1) -> _Result:
    """The result of an activity's function, called as by a worker."""
    environment = ActivityEnvironment()
    environment.info = dataclasses.replace(environment.info, attempt=attempt)
    result: Awaitable[_Result] = environment.run(call, *arguments)
    return await result


@dataclass
class Stage:
    """Everything that the activities are given, and the activities."""

    site: FakeSite = field(default_factory=mail_site)
    store: FakeStepStore = field(default_factory=FakeStepStore)
    artifacts: FakeArtifacts = field(default_factory=FakeArtifacts)
    keepers: FakeKeepers = field(default_factory=FakeKeepers)
    secrets: FakeSecrets = field(default_factory=lambda: FakeSecrets({"PASSWORD": PASSWORD, "PIN": PIN}, BOUND))
    overrides: FakeOverrides = field(default_factory=FakeOverrides)
    codes: FakeCodes = field(default_factory=FakeCodes)
    starts: FakeStarts = field(default_factory=FakeStarts)

    def __post_init__(self) -> None:
        self.browsers = FakeBrowsers(self.site)
        self.keepers.epochs[SESSION.session_id] = 0
        self.gate = self.site.gate = self.keepers.gates[SESSION.session_id]
        self.open(COMPOSE)
        self.attachments = Attachments(self.keepers, self.browsers)
        self.equip()
        self.effects = EffectActivities(self.attachments, self.store, self.secrets)
        self.knowledge = KnowledgeActivities(self.attachments, self.store, self.secrets, self.tools.failures)
        self.sessions = SessionActivities(
            self.keepers, self.attachments, self.store, queue="mine", host_queue="host-mine"
        )

    def equip(
        self,
        vault: Vault | None = None,
        *,
        policing: Policing | None = None,
        pictures: bool = False,
        pause_s: float = 0,
    ) -> None:
        """Give the steps other collaborators."""
        vault = vault or self.vault
        failures = FailureEvidence(self.artifacts, vault.secrets, pictures=pictures)
        credentials = Credentials(vault, self.codes)
        self.tools = StepTools(
            StepLedger(self.store), credentials, self.artifacts, failures, policing or Policing(), self.overrides
        )
        self.checkpoints = Checkpoints(self.artifacts, vault, pause_s=pause_s)
        shown = StepPictures(self.store, self.artifacts, vault.secrets)
        self.actions = Actions(self.attachments, self.tools, self.checkpoints, shown)

    @property
    def vault(self) -> Vault:
        """The secrets, for runs whose start is signed unless `starts` say otherwise."""
        return Vault(self.secrets, self.starts)

    def open(self, url: str) -> FakeBrowserSession:
        """Begin at `url`, in a browser that shows nothing of before."""
        self.browser = self.browsers.sessions[f"fake://{SESSION.session_id}"] = FakeBrowserSession(self.site, url)
        return self.browser

    async def perform(self, request: CommandOnStep, *, attempt: int = 1, from_url: str = "") -> StepOutcome:
        """One attempt: the action, and `effect.await` where that is due; `from_url` starts in a fresh browser there."""
        if from_url:
            self.open(from_url)
            await self.attachments.drop_all()
        outcome = await run_activity(self.actions.perform_action, request, attempt=attempt)
        if outcome.reason != AWAITED:
            return outcome
        return await run_activity(self.actions.perform_action, Await(context=request.context, ended=outcome))

    async def learn(self, request: Perform) -> ActionCacheEntry:
        """Perform and promote: what a verified run leaves behind; the browser is as fresh as before."""
        outcome = await self.perform(request)
        assert outcome.status == "done", outcome
        await self.store.promote(
            tenant=request.context.run.tenant, run_id=request.context.run.lineage, content_keys=[outcome.content_key]
        )
        self.open(COMPOSE)
        await self.attachments.drop_all()
        self.store.calls.clear()
        self.site.dispatches.clear()
        return (await self.versions(outcome))[-1]

    async def versions(self, outcome: StepOutcome) -> list[ActionCacheEntry]:
        """All that is recorded for the step of this outcome."""
        versions = await self.store.versions(tenant="acme", content_key=outcome.content_key)
        del self.store.calls[-1]
        return versions

    async def lines(self) -> list[dict[str, Any]]:
        """The trace of the lineage."""
        lines = await self.store.trace(tenant="acme", lineage="l1")
        del self.store.calls[-1]
        return lines

    async def state(self, request: Perform) -> str:
        """The ledger's state of a step."""
        known = await self.store.look_up(**request.context.record, run_id="", content_key="")
        del self.store.calls[-1]
        return known.state

    async def intend(
        self, request: Perform, attempt: str = "an earlier attempt", held: tuple[int, ...] | None = ()
    ) -> None:
        """Leave the intent of an attempt that then died."""
        await self.store.intend(
            Intent(**request.context.record, epoch=request.context.run.epoch, attempt=attempt, held=held)
        )
        self.store.calls.clear()

    async def recordings(self) -> list[EntryInfo]:
        """What is recorded of steps, without the recordings of their elements alone."""
        return [info for info in await self.store.entries(tenant="acme") if not info.entry.is_of_site]

    async def kept_elements(self) -> list[EntryInfo]:
        """The recordings of elements alone."""
        return [info for info in await self.store.entries(tenant="acme") if info.entry.is_of_site]

    async def kept(self) -> str:
        """Everything that was written anywhere, as one text."""
        infos = await self.store.entries(tenant="acme")
        entries = [e for i in infos for e in await self.store.versions(tenant="acme", content_key=i.content_key)]
        texts = [json.dumps(await self.lines()), *(entry.model_dump_json() for entry in entries)]
        return "\n".join([*texts, *(value.decode() for value in self.artifacts.values.values())])

    @property
    def inputs(self) -> list[Dispatch]:
        """What reached the site."""
        return self.site.dispatches


def request(wanted: Step, sequence: int = 1, **fields: Any) -> Perform:
    """The command to perform this step of run r1; fields as in `but`."""
    values = fields.pop("values", {"to": "ada@example.com"})
    mark = fingerprint(wanted, values, str(sequence), "")
    run = RunScope(
        run_id="r1",
        lineage="l1",
        tenant="acme",
        task="send-mail",
        owner="send-mail",
        session=SESSION,
        epoch=1,
        site=COMPOSE,
    )
    context = StepContext(run=run, sequence=sequence, step=wanted, values=values, fingerprint=mark)
    return but(Perform(context=context), **fields)


def but(asked: Perform, **fields: Any) -> Perform:
    """The same command with other fields: its own, its step's, its run's, or its proposal's."""
    if "proposed" in fields:
        target, usage = fields.pop("proposed"), fields.pop("usage", Usage())
        fields["proposal"] = None if target is None else Proposal(target=target, usage=usage)
    of_run = {name: fields.pop(name) for name in RunScope.model_fields if name in fields}
    of_step = {name: fields.pop(name) for name in StepContext.model_fields if name in fields}
    run = asked.context.run.model_copy(update=of_run)
    context = asked.context.model_copy(update={**of_step, "run": run})
    return Perform.model_validate({**dict(asked), **fields, "context": context})


def reapplied(asked: Perform) -> Reapply:
    """The command to do the same step once more."""
    return Reapply.model_validate({name: getattr(asked, name) for name in InputCommand.model_fields})


def of_run(run_id: str, asked: Perform) -> Perform:
    """The same step in another run, with a lineage of its own."""
    return but(asked, run_id=run_id, lineage=run_id, proposed=None)
