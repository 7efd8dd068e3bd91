"""Whether a page has kept what was entered: one may load its data over it, or read another date in it."""

from dataclasses import dataclass

from replaywright.browser.devtools.channel import Tab, script_for

_ANSWER_S = 1.0


@dataclass(frozen=True)
class Entries:
    """Fields of the page that were given something since the last press with consequences."""

    fields: int = 0
    lost: tuple[str, ...] = ()
    """Names of those that show something else now."""
    misread: tuple[tuple[str, str], ...] = ()
    """Names of those that were given a date, each with the other date that it shows now."""


async def taken(tab: Tab, *, required: bool) -> Entries:
    """Return the entries of a tab; it forgets them, unless a date is another one or they are `required` and lost.

    Those of a document that does not answer are unknown.
    """
    script = script_for("takeEntries", required)
    answers = [
        answer for answer in await tab.call_all(tab.worlds(), script, timeout_s=_ANSWER_S) if isinstance(answer, dict)
    ]
    lost = tuple(name for answer in answers for name in answer["lost"])
    misread = tuple((name, shown) for answer in answers for name, shown in answer["misread"])
    return Entries(sum(answer["fields"] for answer in answers), lost, misread)
