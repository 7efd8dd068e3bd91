"""The page that was acted in: it sends late, again, twice or when it is left, and says what it likes."""

from tests.protocol.checker import Step
from tests.protocol.model import State, World
from tests.protocol.moves import Steps, in_order, moved

_AT_THE_CLICK = {
    "prompt": ("browser",),
    "late": ("meant",),
    "repeats": ("browser",),
    "twice": ("browser", "meant"),
    "unloads": ("kept",),
}


class Page:
    """One kind of page."""

    def __init__(self, world: World) -> None:
        self._kind = world.page
        self.claims = world.page in ("late", "unloads")
        """Whether it says that it is sent from the click on."""
        self.after_cut = "again" if world.page == "repeats" else "browser"
        """Where a request is whose bytes were thrown away: Chromium tries again at once, the page by a timer."""

    def clicked(self, state: State, slot: int) -> State:
        """After the input was given."""
        return state._replace(
            requests=in_order((*state.requests, *((stage, slot) for stage in _AT_THE_CLICK[self._kind])))
        )

    def steps(self, state: State) -> Steps:
        """What it does by itself."""
        for request in sorted({one for one in state.requests if one[0] in ("meant", "again")}):
            stage, slot = request
            keeper = state.keepers[slot]
            assert keeper is not None
            if stage == "again" and (keeper.phase == "cut" or (keeper.phase == "asking" and keeper.knows)):
                continue  # it tries, and is refused
            sends = state._replace(requests=moved(state.requests, request, ("browser", slot)))
            yield Step("page", "sends it again" if stage == "again" else "sends", True, sends)

    def left(self, state: State, slot: int) -> tuple[tuple[str, State], ...]:
        """After it was left for another address: its timers are gone, those of its service worker are not."""
        requests = tuple(("browser", slot) if one == ("kept", slot) else one for one in state.requests)
        rest = state._replace(requests=in_order(one for one in requests if one not in _timers(slot)))
        kept = state._replace(requests=in_order(requests))
        if rest == kept:
            return (("leaves the page", kept),)
        return (("leaves the page", rest), ("leaves the page, whose service worker goes on", kept))

    def failed(self, state: State, slot: int) -> State:
        """After a request of it came to nothing."""
        if self._kind != "repeats":
            return state
        return state._replace(requests=in_order((*state.requests, ("again", slot))))


def _timers(slot: int) -> tuple[tuple[str, int], ...]:
    return ("meant", slot), ("again", slot)
