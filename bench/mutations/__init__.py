"""The mutation test-bed: redesigns made to order, in the page's own world, with the true elements known.

Whether a person would know an element again is decided by what a person goes by: its visible name or label, its kind,
the row it stands in, and its place among unchanged surroundings. An operator keeps an element recognisable when it
leaves at least one of these that told it apart: other ids, classes, names and addresses cannot be seen at all; wrappers
and shadow roots neither; another place leaves name and kind; another wording with the same meaning (a synonym, another
spelling, a counter, a language that the person reads) leaves the meaning and the place. Unrelated words together with
another place leave nothing: such an element is not expected to be found, only never to be taken for another.

Elements that nobody could name apart on the page as it was recorded (equal in kind, name, label, row and container)
are counted among the picks, and not among those that a person would know again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.async_api import Page

from replaywright.domain.page.targets import Target

SOURCE = (Path(__file__).parent / "mutations.js").read_text(encoding="utf-8")

OPERATORS: dict[str, str] = {
    "rename_ids": "every id becomes another, references included",
    "rename_classes": "every class becomes another",
    "remove_test_ids": "all data attributes go",
    "wrap": "controls get a wrapper each",
    "unwrap": "wrappers around a single element go",
    "reorder_siblings": "what stands side by side changes its order",
    "translate_german": "the site's wording in German; unknown words are spelt as testers of translations do",
    "translate_chinese": "the same in Chinese",
    "synonyms": "other words with the same meaning",
    "case_and_punctuation": "upper and lower case, colons, asterisks, arrows",
    "counters": "a number in brackets behind the wording",
    "change_tag": "buttons, links and submit inputs become one another's tags, with a role where that is needed",
    "move_container": "controls go into another block of the page, with their labels",
    "duplicate_row": "a row gets a copy with other content",
    "duplicate_block": "a form or block gets a copy with another heading and other content",
    "insert_rows": "other rows come in between",
    "insert_banner": "a notice with a link and a button of its own comes first",
    "swap_controls": "controls of one kind change places",
    "remove_aria_labels": "all aria-label and aria-description go",
    "change_placeholders": "other placeholders",
    "icons_for_text": "an icon for the text, and the text as aria-label",
    "nest_in_shadow": "parts of the page go into open shadow roots",
    "change_input_names": "the name attributes of fields and buttons become others",
    "reorder_columns": "the columns of tables change their order",
    "change_hrefs": "links lead elsewhere",
    "shuffle_rows": "rows change their order",
    "longer_words": "a word more in every second wording",
    "suffixes": "ids, names and classes get an ending",
    "hidden_copies": "menus and forms are there a second time, hidden or off the screen, as for small windows",
    "cards": "tables become lists of cards",
    "labels_to_placeholders": "fields have their label as placeholder",
    "another_order_and_name": "what stands side by side changes its order, and one control its name",
    "new_words_and_moved": "unrelated words, and another place: not to be recognised",
}
"""What each operator does to a page, by name."""


@dataclass(frozen=True)
class Whereabouts:
    """Where the recorded elements of a page are now, by their numbers."""

    keys: dict[int, str]
    """The key of each element; "" when it cannot be seen any more."""
    lost: frozenset[int]
    """Elements that a person would not know again."""


def key_of(target: Target) -> str:
    """What tells an element of a live page from every other: the positions of its frames and its path."""
    return f"{'.'.join(str(step.index) for step in target.frame)}|{target.xpath}"


class Bed:
    """The test-bed on one open page."""

    def __init__(self, page: Page) -> None:
        self._page = page

    async def track(self, keys: Sequence[str]) -> frozenset[int]:
        """Hold the elements with these keys from now on; returns the positions of those that are there."""
        await self._page.evaluate(SOURCE)
        found = await self._page.evaluate("keys => __mutationBed.track(keys)", list(keys))
        return frozenset(found)

    async def apply(self, operators: Sequence[str], seed: int) -> list[int]:
        """Apply operators one after the other; returns in how many places each did something."""
        changed: list[int] = await self._page.evaluate(
            "([names, seed]) => __mutationBed.apply(names, seed)", [list(operators), seed]
        )
        return changed

    async def take_away(self, number: int) -> bool:
        """Take one held element out of the page, sometimes with its row; False when it was not there."""
        return bool(await self._page.evaluate("number => __mutationBed.takeAway(number)", number))

    async def whereabouts(self) -> Whereabouts:
        """Where the held elements are."""
        told: dict[str, Any] = await self._page.evaluate("() => __mutationBed.whereabouts()")
        keys = {int(number): key or "" for number, key in told["keys"].items()}
        return Whereabouts(keys, frozenset(told["lost"]))
