"""Description of a recorded element: query, words of the instruction, and a name for its value."""

import re
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError

from replaywright.domain.page.targets import ElementQuery

LONGEST: Final = 300
"""Characters of a name or text that a query takes; a longer one is content, which changes."""
_KNOWN_AS: Final = {"button": "button", "link": "link", "checkbox": "checkbox", "radio": "radio button", "tab": "tab"}
_FIELDS: Final = frozenset({"textbox", "searchbox", "spinbutton", "slider"})


@dataclass(frozen=True)
class ImportedElement:
    """One element of a recording."""

    query: ElementQuery | None
    """None when nothing that the recording says of it can be said in a query; `why` says why."""
    words: str
    """The instruction: which element, in plain words."""
    field: str = ""
    """The field's name: label, name or placeholder."""
    hints: str = ""
    """Ids, types and selectors that may tell what kind of value it takes."""
    by_place: bool = False
    """The query says where the element stands, and not what it is."""
    is_list: bool = False
    """The element is a list of options."""
    identity: str = ""
    """All that the recording says of where it is: equal for two steps on one element, even if their queries differ."""
    in_frame: bool = False
    """The element is in a frame that the query does not name."""
    why: str = ""


def query_of(**fields: Any) -> ElementQuery | None:
    """Return the query with these fields, empty ones left out; None if it would be empty or invalid."""
    given = {name: value for name, value in fields.items() if value}
    texts = [value for value in given.values() if isinstance(value, str)]
    if any("{{" in text or len(text) > (2_100 if text == given.get("css") else LONGEST) for text in texts):
        return None
    try:
        return ElementQuery(**given)
    except ValidationError:
        return None


def words_for(query: ElementQuery | None, otherwise: str = "") -> str:
    """Describe the element in plain words, such as `the "Send" button`; braces would be parameters and are removed."""
    said = _words(query) if query is not None else ""
    text = said or otherwise or "the recorded element"
    return " ".join(text.replace("{", "(").replace("}", ")").split())


def _words(query: ElementQuery) -> str:
    name = query.name or query.name_contains or ""
    inside = f" in {_words(query.within)}" if query.within is not None else ""
    return _own_words(query, name) + inside


def _own_words(query: ElementQuery, name: str) -> str:
    role = query.role or ""
    called = name or query.label or query.placeholder or ""
    holding = f' with the text "{query.text}"' if query.text else ""
    if called and (role in _FIELDS or query.label or query.placeholder):
        return f'the "{called}" field{holding}'
    if called:
        return f'the "{called}" {_KNOWN_AS.get(role, role) or "element"}{holding}'
    if query.test_id:
        return f"the element with the test id {query.test_id}{holding}"
    if role or query.css:
        return f"the {_KNOWN_AS.get(role, role) or 'element'}{holding}" + (f" ({query.css})" if query.css else "")
    return f"the element{holding}"


def aria_role(role: str) -> str:
    """Map a role of Chrome's accessibility tree to ARIA; empty if there is no such role."""
    if not re.fullmatch(r"[a-z]{3,30}", role) or role in {"generic", "none", "presentation"}:
        return ""
    return "img" if role == "image" else role
