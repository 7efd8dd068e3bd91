"""Parts of one run of `BrowserTask`, each with what it needs."""

from workflows.people.human_steps import HumanSteps
from workflows.people.lending import Lending
from workflows.people.person import Person
from workflows.people.steering import Steered
from workflows.people.taking_over import TakingOver
from workflows.plan.goals import Goals
from workflows.plan.planning import Planning
from workflows.run.context import RunContext
from workflows.run.probing import Probing
from workflows.session.browser import Browser
from workflows.session.checkpoints import KnownCheckpoints
from workflows.session.recovery import Recovery
from workflows.session.recycling import Recycler
from workflows.session.signing_in import SigningIn
from workflows.step.doubts import Doubts
from workflows.step.factory import AttemptFactory
from workflows.step.listening import Listening
from workflows.step.lists import Lists
from workflows.step.overrides import OverrideRules


class Parts:
    """Collaborators of one run, made in the order in which they need each other."""

    def __init__(self, context: RunContext) -> None:
        self.context = context
        self.browser = browser = Browser(context)
        self.signing_in = signing_in = SigningIn(context, browser)
        self.person = person = Person(context, browser)
        self.planning = Planning(context)
        self.checkpoints = KnownCheckpoints(context, browser)
        self.attempts = AttemptFactory(context, browser, self.checkpoints)
        self.overrides = OverrideRules(context, browser)
        self.recovery = recovery = Recovery(
            context,
            browser,
            self.checkpoints,
            self.attempts,
            signing_in=signing_in,
            overrides=self.overrides,
            planning=self.planning,
            person=person,
        )
        self.recycler = Recycler(context, browser, self.checkpoints, recovery)
        self.lending = Lending(context, browser, recovery)
        person.waiting = self.lending
        self.steering = Steered(context, self.lending)
        self.lists = Lists(context, browser, recovery)
        self.goals = Goals(context, browser, person, recovery)
        self.human = HumanSteps(
            context, self.lists, person, TakingOver(browser, self.lists, person, self.lending, recovery)
        )
        self.doubts = Doubts(context, browser, person, recovery)
        self.probing = Probing(context, browser)
        self.listening = Listening(context, browser)
