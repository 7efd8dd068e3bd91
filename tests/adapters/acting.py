"""The activities on a real browser: what a step's outcome is, with a store and keepers that are fakes."""

from typing import Any

from activities.policing import Policing
from activities.proof.effects import EffectActivities
from activities.session.attachments import Attachments
from activities.session.checkpoints import Checkpoints
from activities.session.step_pictures import StepPictures
from activities.step.actions import Actions
from activities.step.credentials import Credentials
from activities.step.failures import FailureEvidence
from activities.step.ledger import StepLedger
from activities.step.underway import StepTools
from activities.vault import Vault
from replaywright.browser.session import ChromiumSession
from replaywright.domain.run.commands import Await, CommandOnStep, Perform
from replaywright.domain.run.commit_requests import Resolution, ResolveRequest
from replaywright.domain.skill.entries import ActionCacheEntry
from replaywright.domain.step.outcomes import AWAITED, StepOutcome
from replaywright.ports.browser import OnFound
from replaywright.testing.keepers import FakeKeepers
from replaywright.testing.steps import FakeStepStore
from replaywright.testing.stores import FakeArtifacts, FakeSecrets, FakeStarts
from tests.adapters.networks import LOOPBACK
from tests.unit.staged import SESSION, but, request, run_activity, step


class Acting:
    """Performs steps of one run after the other on one session."""

    def __init__(self, session: ChromiumSession) -> None:
        self.session = session
        self.store = FakeStepStore()
        self.artifacts = FakeArtifacts()
        secrets = FakeSecrets({})
        keepers = FakeKeepers()
        keepers.epochs[SESSION.session_id] = 0
        keepers.policies[SESSION.session_id] = LOOPBACK
        self._gate = keepers.gates[SESSION.session_id]
        attachments = Attachments(keepers, self)
        vault = Vault(secrets, FakeStarts())
        failures = FailureEvidence(self.artifacts, secrets)
        tools = StepTools(StepLedger(self.store), Credentials(vault), self.artifacts, failures, Policing())
        pictures = StepPictures(self.store, self.artifacts, secrets)
        self._actions = Actions(attachments, tools, Checkpoints(self.artifacts, vault), pictures)
        self._effects = EffectActivities(attachments, self.store, secrets)
        self._sequence = 0
        self._epoch = 1
        self._run = 1
        self._began_at = ""

    async def attach(self, endpoint: str, directory: str = "", on_found: OnFound | None = None) -> ChromiumSession:
        """The one browser there is."""
        return self.session

    async def stop_loading(self, endpoint: str) -> bool:
        """Nothing is held here, so that nothing has to be stopped."""
        return True

    def asked(self, action: str, target: dict[str, str] | None = None, **fields: Any) -> Perform:
        """The next step of the present run, on the element that `target` says."""
        values = fields.pop("values", {})
        self._sequence += 1
        wanted = step(action, "the element", target=target, **fields) if target else step(action, "", **fields)
        run = f"r{self._run}"
        scope = {"run_id": run, "lineage": f"l-{run}", "values": values, "epoch": self._epoch}
        return request(wanted, self._sequence, **scope)

    async def perform(self, asked: CommandOnStep) -> StepOutcome:
        """The whole attempt: the action, and the wait for its request where that is due."""
        self._began_at = self.session.url
        outcome = await run_activity(self._actions.perform_action, asked)
        if outcome.reason != AWAITED:
            return outcome
        return await run_activity(self._actions.perform_action, Await(context=asked.context, ended=outcome))

    async def do(self, action: str, target: dict[str, str] | None = None, **fields: Any) -> StepOutcome:
        return await self.perform(self.asked(action, target, **fields))

    async def resolve(self, asked: Perform, contradicted: str = "") -> Resolution:
        """What becomes of a step in doubt, read off ledger and page under the next epoch."""
        self._epoch += 1
        if self._gate.current is not None:  # the browser is behind no gate: what it sent has left
            async with self._gate.changed:
                await self._gate.tell(bytes_up=1)
        doubted = but(asked, epoch=self._epoch)
        resolving = ResolveRequest(
            action=doubted.context, adopted=True, contradicted=contradicted, began_at=self._began_at
        )
        return await run_activity(self._effects.resolve_step, resolving)

    async def next_run(self, *outcomes: StepOutcome) -> None:
        """The present run is verified, so that what these steps taught counts from now on; another one begins."""
        for outcome in outcomes:
            keys = [outcome.content_key]
            await self.store.promote(tenant="acme", run_id=f"l-r{self._run}", content_keys=keys)
        self._run += 1
        self._sequence = 0

    async def entry(self, outcome: StepOutcome) -> ActionCacheEntry:
        """The newest recording of this step."""
        return (await self.store.versions(tenant="acme", content_key=outcome.content_key))[-1]
