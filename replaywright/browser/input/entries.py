"""Whether a page has kept what was entered: one that loads its data late puts that over it."""

from dataclasses import dataclass

from replaywright.browser.devtools.channel import Tab, script_for

_ANSWER_S = 1.0


@dataclass(frozen=True)
class Entries:
    """Fields of the page that were given something since the last press with consequences."""

    fields: int = 0
    lost: tuple[str, ...] = ()
    """Names of those that show something else now."""


def forget(tab: Tab) -> None:
    """Have the tab forget its entries."""
    for frame in tab.worlds():
        tab.notify(frame, script_for("takeEntries", False))


async def taken(tab: Tab, *, required: bool) -> Entries:
    """Return the entries of a tab; it forgets them, unless they are `required` and some are lost.

    Those of a document that does not answer are unknown.
    """
    script = script_for("takeEntries", required)
    answers = [
        answer for answer in await tab.call_all(tab.worlds(), script, timeout_s=_ANSWER_S) if isinstance(answer, dict)
    ]
    lost = tuple(name for answer in answers for name in answer["lost"])
    return Entries(sum(answer["fields"] for answer in answers), lost)
