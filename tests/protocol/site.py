"""The website, and the network to it."""

from tests.protocol.checker import Step
from tests.protocol.model import NOTHING, NOWHERE, SHOWN_LATER, State, World
from tests.protocol.moves import Steps, moved
from tests.protocol.page import Page

_MISHAPS = (
    ("lost", "the request is lost on its way"),
    ("refused", "answers with a 5xx, and does nothing"),
    ("error unseen", "does it, and answers with a 5xx"),
)


class Site:
    """A site that does what it is sent, at once or late."""

    def __init__(self, world: World, page: Page) -> None:
        self._page = page
        self._received = "working" if world.site_is_late else "flight"
        self._is_late = world.site_is_late

    def steps(self, state: State) -> Steps:
        """What it does."""
        for request in sorted(set(state.requests)):
            stage, slot = request
            if stage == self._received:
                after = state._replace(requests=moved(state.requests, request, ("ok unseen", slot)))
                yield Step("site", "does it, and answers", True, after)
                if self._is_late and slot != NOWHERE:
                    silent = state._replace(requests=moved(state.requests, request, ("ok unseen", NOWHERE)))
                    yield Step("site", "does it, and never answers", False, silent)
            elif stage == "flight":
                after = state._replace(requests=moved(state.requests, request, ("working", slot)))
                yield Step("site", "receives it, and takes its time", True, after)
            elif stage in SHOWN_LATER:
                after = state._replace(requests=moved(state.requests, request, (stage.removesuffix(" unseen"), slot)))
                yield Step("site", "shows it", True, after)

    def mishaps(self, state: State) -> Steps:
        """What may happen to a request; the page repeats what came to nothing."""
        for request in sorted({one for one in state.requests if one[0] == self._received}):
            slot = request[1]
            for stage, what in _MISHAPS:
                is_nothing = stage in NOTHING
                ended = None if slot == NOWHERE and is_nothing else (stage, slot)
                after = state._replace(requests=moved(state.requests, request, ended))
                if is_nothing and slot != NOWHERE:
                    after = self._page.failed(after, slot)
                yield Step("site", what, False, after)
