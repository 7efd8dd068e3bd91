"""Identifiers: attributes that were made to say which element it is, where they can be believed to."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from replaywright.domain.page.targets import Target

TEST_IDS = ("data-testid", "data-test", "data-test-id", "data-qa", "data-cy")
IDENTIFYING = (*TEST_IDS, "name", "placeholder", "href", "title", "alt")
FIELDS = frozenset({"textbox", "searchbox", "combobox", "listbox", "spinbutton", "slider"})
_CHOICES = frozenset({"radio", "checkbox", "switch", "menuitemradio", "menuitemcheckbox"})
_GENERATED = re.compile(
    r"\d{2}|[a-z]\d+[a-z]|\d[a-z]\d|^\d|^:|[^\w\-.:]|^(?:radix|react|mui|ember|ext-|gwt-|yui|headlessui|cdk-|mat-)"
    # React's useId since 19.2: `_r_q_`, with the application's prefix `_app-r_q_`, in an id of a library `menu-_r_q_`.
    r"|(?<![a-z\d])_(?:[\w-]*[^a-z\d])?r_[\da-v]+_(?![a-z\d])",
    re.IGNORECASE,
)
_LONGEST = 60
_BETWEEN_WORDS = re.compile(r"(?<=[a-z\d])(?=[A-Z])|[_\-.\s]+")


@dataclass(frozen=True)
class Identity:
    """Identifiers that agree between a recording and an element, and those that differ."""

    agreeing: tuple[str, ...] = ()
    differing: tuple[str, ...] = ()

    @property
    def speaks_for(self) -> bool:
        """True if one agrees and none differs. An address alone is not enough: several links lead there."""
        return bool(set(self.agreeing) - {"href"}) and not self.differing

    @property
    def speaks_against(self) -> bool:
        """True if one differs and none agrees."""
        return bool(self.differing) and not self.agreeing


def looks_generated(identifier: str) -> bool:
    """Return True for a generated identifier, which changes with the build or visit; as in the page script."""
    return len(identifier) > _LONGEST or _GENERATED.search(identifier) is not None


def spelt_plainly(identifier: str) -> str:
    """Return its words in small letters: `user_count`, `user-count` and `userCount` are one identifier."""
    return _BETWEEN_WORDS.sub(" ", identifier).lower()


def identity_keys(target: Target) -> dict[str, str]:
    """Return the element's identifiers with their values, spelt plainly; addresses and what is sent as they are.

    A `name` identifies a field, one for files, too; buttons of a form often share one (`action`) and radio buttons
    must, so for them it takes the value too. An id counts when it has no number in it: numbered ones go by position.
    """
    attributes = target.attributes
    found = {key: spelt_plainly(attributes[key]) for key in TEST_IDS if attributes.get(key)}
    name, value = attributes.get("name", ""), attributes.get("value", "")
    if name and not looks_generated(name):
        is_box = target.role in _CHOICES and not value and target.role != "radio"
        if target.role in FIELDS or attributes.get("type") == "file" or is_box:
            found["name"] = spelt_plainly(name)
        elif value:
            found["name and value"] = f"{spelt_plainly(name)}={value}"
    own = attributes.get("id", "")
    if own and not any(c.isdigit() for c in own) and not looks_generated(own):
        found["id"] = spelt_plainly(own)
    if target.role == "link" and attributes.get("href"):
        found["href"] = attributes["href"]
    return found


def telling_keys(recorded: Target) -> tuple[str, ...]:
    """Return the identifiers that told the element from its namesakes when recorded; all, if it had none.

    Every row's "Edit" may have the test id `edit`. The recorded selector led to one element only: what is in it,
    without a path or a position, was this element's own.
    """
    own = identity_keys(recorded)
    if recorded.namesakes <= 1:
        return tuple(own)
    alone = not any(sign in recorded.css for sign in " >:")
    css = spelt_plainly(recorded.css)
    return tuple(key for key, value in own.items() if alone and (value in css or value in recorded.css))


def identities_of(recorded: Target, seen: Sequence[Target]) -> list[Identity]:
    """Compare the identifiers of each element with the recording; shared ones do not count."""
    own = identity_keys(recorded)
    if not own:
        return [Identity()] * len(seen)
    keys = [identity_keys(target) for target in seen]
    counts = Counter(key for each in keys for key, value in own.items() if each.get(key) == value)
    telling = telling_keys(recorded)
    return [
        Identity(
            tuple(key for key in telling if each.get(key) == own[key] and counts[key] == 1),
            tuple(key for key, value in own.items() if each.get(key, value) != value),
        )
        for each in keys
    ]
