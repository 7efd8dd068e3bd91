"""What is a sentence about, and how is its goal reached from a page? By simple rules, enough for writing a mail.

The sentence and the page are all there is: values are what stands in quotes and what looks like an address, a page
that asks for a password is logged in to, a page with a field for every parameter is filled in and sent, and on any
other page the one link or button is clicked that such a page is behind. In any other case it gives up.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from demo.standin.plans import plan_for
from demo.standin.reading import Element, choose, parse_listing

_ADDRESS: Final = re.compile(r"[^\s@,;，；'\"“”‘’]+@[^\s@,;，；'\"“”‘’]+\.[A-Za-z]+")
_QUOTED: Final = re.compile(r"\"([^\"]+)\"|'([^']+)'|“([^”]+)”|‘([^’]+)’|「([^」]+)」")
_BEFORE: Final = 24
"""Letters before a quotation that say what it is."""

_NAMED: Final[Mapping[str, str]] = {
    "subject": r"subject|title|topic|主题|标题|betreff",
    "body": r"body|content|message|text|saying|内容|正文|inhalt",
}
_VERBS: Final[Mapping[str, str]] = {
    "send": r"\bsend\b|\bmail\b|\bwrite\b|发送|发",
    "delete": r"\bdelete\b|\bremove\b|删除",
    "read": r"\bread\b|\bopen\b|打开|阅读",
}
_OBJECTS: Final[Mapping[str, str]] = {"mail": r"\be?-?mails?\b|\bmessage\b|邮件", "draft": r"\bdrafts?\b|草稿"}
_PHRASES: Final[Mapping[str, tuple[Sequence[str], Mapping[str, str], Sequence[str]]]] = {
    "en": (
        ("send an email to {{to}}", "send {{to}} a mail"),
        {"subject": "with the subject {{subject}}", "body": "and the body {{body}}"},
        ("do not send an email to {{to}}", "how do I send an email to {{to}}"),
    ),
    "de": (
        ("sende eine E-Mail an {{to}}", "schick {{to}} eine E-Mail"),
        {"subject": "mit dem Betreff {{subject}}", "body": "und dem Text {{body}}"},
        ("sende keine E-Mail an {{to}}", "wie sende ich eine E-Mail an {{to}}"),
    ),
    "zh": (
        ("给 {{to}} 发送邮件", "给 {{to}} 发一封邮件"),
        {"subject": "主题是 {{subject}}", "body": "内容是 {{body}}"},
        ("不要给 {{to}} 发送邮件", "怎么给 {{to}} 发送邮件"),
    ),
}
"""How the sending of a mail is said in each language, and how what sounds like it."""
_HAN: Final = re.compile("[\u4e00-\u9fff]")
_FIELDS: Final = frozenset({"textbox", "searchbox", "textarea", "combobox"})
_FIELD_OF: Final[Mapping[str, str]] = {"to": 'the "To" field', "body": "the message body field"}
_USER: Final = re.compile(r"log in as (\w+)", re.IGNORECASE)

Answer = dict[str, Any]


def labels_for(goal: str, languages: Sequence[str] = ()) -> Answer:
    """Say what the sentence is about, which of its words are values, and how the same is said in the languages."""
    verbs = [verb for verb, words in _VERBS.items() if re.search(words, goal, re.IGNORECASE)]
    things = [thing for thing, words in _OBJECTS.items() if re.search(words, goal, re.IGNORECASE)]
    verb, thing = (verbs or ["do"])[0], (things or ["task"])[0]
    parameters = [
        {"name": "to" if number == 0 else f"to_{number + 1}", "type": "email", "value": found[0]}
        for number, found in enumerate(_ADDRESS.finditer(goal))
    ]
    for number, found in enumerate(_QUOTED.finditer(goal), 1):
        value = next(part for part in found.groups() if part)
        before = goal[max(0, found.start() - _BEFORE) : found.start()]
        said = {
            match.start(): name for name, words in _NAMED.items() for match in re.finditer(words, before, re.IGNORECASE)
        }
        name = said[max(said)] if said else f"text_{number}"
        if all(name != each["name"] for each in parameters):
            parameters.append({"name": name, "type": "text", "value": value})
    names = [each["name"] for each in parameters]
    patterns, near_misses = (
        _phrases(names, {*languages, "zh" if _HAN.search(goal) else "en"}) if thing == "mail" else ([], [])
    )
    return {
        "label": f"{verb.capitalize()} a {thing}",
        "name": f"{verb}-{thing}",
        "description": f"The stand-in takes this for: {verb} a {thing}.",
        "parameters": parameters,
        "patterns": patterns,
        "near_misses": near_misses,
    }


def _phrases(names: Sequence[str], languages: set[str]) -> tuple[list[str], list[str]]:
    """Say how a mail is sent with these values, and what only sounds like it."""
    known = [_PHRASES[each] for each in sorted(languages & _PHRASES.keys())]
    if "to" not in names or not set(names) <= {"to", "subject", "body"}:
        return [], []
    said = [name for name in ("subject", "body") if name in names]
    patterns = [", ".join((begin, *(more[name] for name in said))) for begins, more, _ in known for begin in begins]
    return patterns, [near for _, _, nears in known for near in nears]


def choice_of_skill(sections: Mapping[str, str]) -> Answer:
    """Choose the first of the skills whose parameters are just the values that the sentence shows."""
    found = labels_for(sections["goal"])
    values = [{"name": each["name"], "value": each["value"]} for each in found["parameters"]]
    for offered in sections["skills"].split("\n\n"):
        needed = set(re.findall(r"^parameter (\w+):", offered, re.MULTILINE))
        if needed and needed == {each["name"] for each in values}:
            return {"skill": offered.partition(":")[0].strip(), "values": values}
    return {"skill": None, "values": []}


def goal_plan_for(sections: Mapping[str, str]) -> Answer:
    """What to do next for the goal on the page, or why nothing."""
    names = re.findall(r"^(\w+) = ", sections.get("parameters", ""), re.MULTILINE)
    if sections["failed"].strip():
        return {**plan_for(sections), "complete": True, "verify": _verified(names)}
    elements = parse_listing(sections["page"])
    if any(element.is_password for element in elements):
        return _logged_in(sections, elements)
    fields = {name: _field_for(name, elements) for name in names}
    if fields and all(fields.values()):
        return _filled_in(fields, elements)
    return _opened(sections["goal"], elements)


def _logged_in(sections: Mapping[str, str], elements: Sequence[Element]) -> Answer:
    user = _USER.search(sections["page"])
    secrets = sections.get("secrets", "").split()
    button = choose("the log in button", elements).element_id
    if user is None or not secrets or button is None:
        return _gave_up("the page asks for a password, and not all is known that it takes to log in")
    return {
        "steps": [
            {"action": "fill", "instruction": "the user name field", "value": user[1]},
            {"action": "fill", "instruction": "the password field", "value": "{{secret:" + secrets[0] + "}}"},
            {"action": "click", "instruction": "the log in button", "expect": [{"url_contains": "/inbox"}]},
        ],
        "complete": False,
    }


def _filled_in(fields: Mapping[str, str | None], elements: Sequence[Element]) -> Answer:
    send = choose("the send button", elements).element_id
    if send is None:
        return _gave_up("there is a field for every value, and no single button that sends them")
    fills = [{"action": "fill", "instruction": said, "value": "{{" + name + "}}"} for name, said in fields.items()]
    press = {"action": "click", "instruction": "the send button", "effect": "commit"}
    return {"steps": [*fills, press], "complete": True, "verify": _verified(list(fields))}


def _opened(goal: str, elements: Sequence[Element]) -> Answer:
    way = "the compose link" if re.search(_VERBS["send"], goal, re.IGNORECASE) else ""
    if not way or choose(way, elements).element_id is None:
        return _gave_up("nothing on the page leads to where the goal could be reached")
    return {"steps": [{"action": "click", "instruction": way}], "complete": False}


def _field_for(name: str, elements: Sequence[Element]) -> str | None:
    said = _FIELD_OF.get(name, f"the {name.replace('_', ' ')} field")
    return said if choose(said, [one for one in elements if one.role in _FIELDS]).element_id is not None else None


def _verified(names: Sequence[str]) -> list[Answer]:
    """What a page shows that lists what was sent: to whom, and about what."""
    return [{"text_contains": "{{" + name + "}}"} for name in names if name in ("to", "subject")]


def _gave_up(why: str) -> Answer:
    return {"steps": [], "complete": False, "gave_up": f"stand-in: {why}"}
