"""How could a task go on whose step failed? Answered by what leads on from a page, in words that many sites use.

Like `reading`, nothing here knows a site. Where the element of the failed step is not on the page, but exactly one link
or button is that says "continue" or the like, or else one that shares more words with the goal than any other, the plan
is to click that, and then to do what remained. In any other case it gives up.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from demo.standin.reading import Element, choose, parse_listing, share_of

_LEADS_ON: Final = "continue next proceed start begin skip"
_CLICKED: Final = frozenset({"button", "link"})
_SHARES_FROM: Final = 0.5
"""Share of a name's words from which on it is about the same as a sentence."""

Answer = dict[str, Any]


def plan_for(sections: Mapping[str, str]) -> Answer:
    """Steps that replace those that remain, or why there are none; from the sections of the planner's message."""
    elements = parse_listing(sections["page"])
    remaining = [int(number) for number in re.findall(r"^(\d+): ", sections["remaining"], re.MULTILINE)]
    failed = re.sub(r"^\d+: \w+ ", "", sections["failed"].strip().partition("\n")[0]).partition(" = ")[0]
    if choose(failed, elements).element_id is not None:
        return _gave_up("the element of the failed step is on the page; another plan would not find it better")
    ways = [element for element in elements if element.role in _CLICKED and element.name]
    way = _best(_LEADS_ON, ways) or _best(sections["goal"], ways)
    if way is None:
        return _gave_up("no single link or button on the page leads on")
    click = {"action": "click", "instruction": f'the {way.role} "{way.name}"'}
    return {"steps": [click, *({"keep": number} for number in remaining)], "gave_up": None}


def _best(sentence: str, ways: Sequence[Element]) -> Element | None:
    """The one of which the sentence says the largest share; None when that is little, or two are equal."""
    ranked = sorted(((share_of(sentence, each), each) for each in ways), key=lambda pair: -pair[0])
    if not ranked or ranked[0][0] < _SHARES_FROM or (len(ranked) > 1 and ranked[0][0] == ranked[1][0]):
        return None
    return ranked[0][1]


def _gave_up(why: str) -> Answer:
    return {"steps": [], "gave_up": f"stand-in: {why}"}
