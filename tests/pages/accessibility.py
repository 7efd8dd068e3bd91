"""Roles and names of the page agent beside those of Chromium's own accessibility tree.

Chromium tells internal roles; what they are in ARIA is a matter of the test, not of the agent.
"""

import asyncio
import re
from dataclasses import dataclass, field
from typing import Any

from replaywright.domain.common.text import normalise
from tests.pages.harness import AgentPage, Json

NO_ROLE = {
    "Abbr", "Audio", "Canvas", "DescriptionList", "EmbeddedObject", "Figcaption", "GenericContainer", "Iframe",
    "ImageMap", "LabelText", "Legend", "MenuListPopup", "PluginObject", "Pre", "RubyAnnotation", "Section",
    "SectionFooter", "SectionHeader", "Video", "generic", "graphics-document", "graphics-object",
    "graphics-symbol", "none", "presentation", "sectionfooter", "sectionheader",
}  # fmt: skip
"""Chromium's names for elements that have no ARIA role, or one that HTML-AAM does not give them."""

ARIA_ROLES = {
    "ColorWell": "textbox",
    "Date": "textbox",
    "DateTime": "textbox",
    "InputTime": "textbox",
    "DescriptionListTerm": "term",
    "DescriptionListDetail": "definition",
    "Details": "group",
    "DisclosureTriangle": "button",
    "DisclosureTriangleGrouped": "button",
    "LayoutTable": "table",
    "LayoutTableCell": "cell",
    "LayoutTableRow": "row",
    "ListGrid": "grid",
    "MathMLMath": "math",
    "RootWebArea": "document",
    "SvgRoot": "img",
    "image": "img",
}
"""The ARIA role of Chromium's own."""

UNNAMED = frozenset(
    {"", "paragraph", "strong", "emphasis", "code", "listitem", "list", "rowgroup", "term", "definition"}
)
"""Roles whose names nothing reads: a description takes their visible text."""

NAME_LIMIT = 200
"""A description holds no more of a name."""

_DESCRIBE = """function (...elements) {
  return elements.map((element) => {
    // What CSS generates is in the tree too, and is no node to a script.
    if (!(element instanceof Node)) return null;
    const root = element.getRootNode();
    if (element.nodeType !== 1 || !element.isConnected || (root instanceof ShadowRoot && !root.host.shadowRoot)) {
      return null;
    }
    const { role = "", name = "" } = replaywright.describe(element);
    return { role, name, html: element.outerHTML.slice(0, 160) };
  });
}"""


KNOWN: dict[str, str] = {
    r"<input[^>]* type=\"file\".*: Chromium button 'choose file": (
        "Chromium names a file field after the words on its button, which are in the language of the browser"
    ),
    r": Chromium figure '', we figure": "HTML-AAM names a figure by its caption; Chromium does not",
    r"'<(?!input|select|textarea)\w+[^>]*>.*<(?:input|select|textarea)\b.*: Chromium": (
        "Chromium takes what was typed into a field for a part of the name of the cell or button around it; we do so "
        "only in labels, as accname 1.2 says: what was typed tells no element from another"
    ),
    r"'<a(?![^>]* href)[^>]*>.*: Chromium link .*, we  '": (
        "HTML-AAM: an anchor without an address is generic; Chromium makes it a link if it has a listener for clicks"
    ),
    r"contenteditable.*: Chromium  .*, we textbox": (
        "HTML-AAM has no role for editable content; we call it a text box, which is how it is used"
    ),
    r"'<li>.*: Chromium listitem '', we  '": "HTML-AAM: an item outside of any list is generic",
    r"<input type=\"number\" list=.*: Chromium combobox .*, we spinbutton": (
        "HTML-AAM: only text fields become combo boxes by a list of suggestions"
    ),
    r"<select[^>]* multiple.*: Chromium combobox .*, we listbox": (
        "HTML-AAM: a list that takes several choices is a listbox, whatever its size"
    ),
    r"\"contents\">one</span>two.*: Chromium button 'one two', we button 'onetwo'": (
        "an element without a box puts no space between words: they are drawn together"
    ),
    r"'<div role=\"option\".*: Chromium  '', we option": (
        "Chromium takes the role from an option outside of any listbox; ARIA leaves that to the browser"
    ),
    r"<input[^>]* placeholder=\"[\d: -]+\".*: Chromium textbox '[\d: -]+', we textbox '[0: -]+'": (
        "a date in a placeholder is often that of today; we name the field by the form of the date: it is the same "
        "field tomorrow"
    ),
    r"role=\"combobox\"[^>]* aria-labelledby=.*: Chromium combobox .*, we combobox": (
        "authors of drawn lists call them by what is chosen in them; we leave that out of the name: with another "
        "choice it is the same list"
    ),
    r"aria-owns=.*: Chromium button 'says its part', we button 'saysits part'": (
        "an inline element that is owned is put behind the words without a space, as accname says of inline elements"
    ),
    r"<input id=\"hid\">.*: Chromium textbox '', we textbox 'hidden label'": (
        "accname 1.2, step 2A: a label names its field also where the label is hidden"
    ),
    r"<input id=\"empty-label\".*: Chromium textbox '', we": (
        "accname 1.2: an empty label is no name, and the title is next"
    ),
}
"""Differences that stay, as patterns of how they are reported, with the reason of each."""


@dataclass
class Agreement:
    """What was compared, and what differed."""

    compared: int = 0
    known: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)

    @property
    def share(self) -> float:
        """Known differences count as differences."""
        return 1 - len(self.known + self.unknown) / self.compared if self.compared else 1.0

    def report(self) -> str:
        lines = [f"{self.compared} elements, {self.share:.1%} agree", f"{len(self.unknown)} new differences:"]
        return "\n".join([*lines, *self.unknown, f"{len(self.known)} known differences:", *self.known])


def role_of(node: Json) -> str:
    """The ARIA role of one of Chromium's nodes; empty for generic."""
    own: str = node["role"]["value"]
    if own in NO_ROLE or (own.startswith("MathML") and own != "MathMLMath"):
        return ""
    return ARIA_ROLES.get(own, own)


async def compare(agent: AgentPage, page: str, found: Agreement) -> None:
    """Compare every element that Chromium or we give a role or a name; `page` is how differences call it."""
    for node, described in await _pairs(agent):
        role, name = role_of(node), normalise(node["name"]["value"] if "name" in node else "")
        ours = normalise(described["name"])
        if len(described["name"]) == NAME_LIMIT and described["name"].endswith("…"):
            ours, name = ours[: NAME_LIMIT // 2], name[: NAME_LIMIT // 2]
        is_named = described["role"] not in UNNAMED and role not in UNNAMED
        # What only CSS draws is an image to Chromium, without a name.
        if not (role or described["role"] or name) or (role == "img" and not (described["role"] or name)):
            continue
        found.compared += 1
        if role == described["role"] and (name == ours or not is_named):
            continue
        told = f"{page} {described['html']!r}: Chromium {role} {name!r}, we {described['role']} {ours!r}"
        (found.known if any(re.search(pattern, told) for pattern in KNOWN) else found.unknown).append(told)


async def _pairs(agent: AgentPage) -> list[tuple[Json, Json]]:
    await agent.cdp.send("DOM.enable")
    await agent.cdp.send("Accessibility.enable")
    answer = await agent.cdp.send("Accessibility.getFullAXTree")
    nodes = [
        node
        for node in answer["nodes"]
        if not node["ignored"] and "backendDOMNodeId" in node
        and node["role"]["value"] not in ("RootWebArea", "StaticText", "InlineTextBox", "LineBreak", "ListMarker")
    ]  # fmt: skip
    handles = await asyncio.gather(
        *(
            agent.cdp.send(
                "DOM.resolveNode",
                {"backendNodeId": node["backendDOMNodeId"], "executionContextId": agent.world, "objectGroup": "ax"},
            )
            for node in nodes
        )
    )
    known = [
        (node, handle["object"]["objectId"])
        for node, handle in zip(nodes, handles, strict=True)
        if "objectId" in handle["object"]
    ]
    described: Any = await agent.cdp.send(
        "Runtime.callFunctionOn",
        {
            "executionContextId": agent.world,
            "functionDeclaration": _DESCRIBE,
            "arguments": [{"objectId": handle} for _, handle in known],
            "returnByValue": True,
        },
    )
    assert "exceptionDetails" not in described, described["exceptionDetails"]["exception"]["description"]
    await agent.cdp.send("Runtime.releaseObjectGroup", {"objectGroup": "ax"})
    return [(node, told) for (node, _), told in zip(known, described["result"]["value"], strict=True) if told]
