"""Which element does an instruction mean? Answered by shared words, a general thesaurus and the role asked for.

Nothing here knows a site. It stands in for a model that reads, so it reads what such a model would be given: a
listing with one element a line, ``[e12] button "Send message" placeholder="..."``, indented below the section and the
row it stands in. It abstains when nothing fits well, and when two elements fit equally well.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

_SYNONYMS: Final[tuple[frozenset[str], ...]] = tuple(
    frozenset(phrase.strip() for phrase in line.split(","))
    for line in """
    send, dispatch, transmit, submit, send off, send now, post
    log in, sign in, login, signin, log on, logon, enter, continue
    log out, sign out, logout, signout, log off, sign off
    register, sign up, signup, create account, create an account, join
    compose, write, new message, new email, new mail, write message, write email, compose message, create message
    recipient, to, send to, addressee
    subject, subject line, title, topic
    body, message, message body, message text, text, content, contents, text area
    delete, remove, erase, trash, bin
    discard, throw away, cancel, abandon, delete draft
    save, store, keep
    search, find, look up, query
    user name, username, user, login, account, account name, user id, login name
    password, passcode, pass phrase, passphrase
    email, mail, email address
    priority, importance, urgency
    settings, preferences, options, configuration
    reply, answer, respond
    next, forward, continue, proceed
    previous, back
    close, dismiss
    accept, agree, allow, ok, confirm
    buy, purchase, order, checkout, check out, pay
    cart, basket, bag
    edit, change, modify
    add, create, new
    telephone, phone, phone number, mobile
    surname, last name, family name
    first name, given name, forename
    zip, zip code, postcode, postal code
    town, city
    copy, cc, carbon copy
    """.strip().splitlines()
)
"""Words and phrases that mean the same on many sites; a phrase may be in several groups."""

_PHRASES: Final = frozenset(phrase for group in _SYNONYMS for phrase in group if " " in phrase)
_LONGEST_PHRASE_WORDS: Final = max(len(phrase.split()) for phrase in _PHRASES)

_ROLE_HINTS: Final[dict[str, frozenset[str]]] = {
    "button": frozenset({"button"}),
    "link": frozenset({"link"}),
    "field": frozenset({"textbox", "searchbox", "combobox", "spinbutton", "textarea", "input"}),
    "select": frozenset({"combobox", "listbox", "select"}),
    "checkbox": frozenset({"checkbox", "switch"}),
    "radio": frozenset({"radio"}),
    "tab": frozenset({"tab"}),
    "menu": frozenset({"menu", "menuitem", "menubar"}),
    "heading": frozenset({"heading"}),
}
_HINT_WORDS: Final[dict[str, str]] = {
    **dict.fromkeys(("field", "box", "input", "textbox", "textarea", "searchbox"), "field"),
    **dict.fromkeys(("select", "dropdown", "combobox", "menu", "list", "chooser", "selector"), "select"),
    **dict.fromkeys(("checkbox", "switch", "toggle"), "checkbox"),
    "button": "button",
    "link": "link",
    "radio": "radio",
    "tab": "tab",
    "heading": "heading",
}
_VERB_HINTS: Final[dict[str, str]] = {"fill": "field", "type": "field", "tick": "checkbox"}
_SILENT_TEXT: Final = """
    a an and at by click choose element fill follow for here hit in into its mark now of on onto open option page
    please press push set tap that the then this tick type use which with you your
"""
_SILENT: Final = frozenset(_SILENT_TEXT.split())
"""Words that say in an instruction what to do and how, not with which element."""
_VAGUE: Final = frozenset({"message", "mail", "email", "line", "now", "form", "page", "your", "my", "the", "a", "here"})
"""In an element's name these say little: "Send message" is nearly "Send"."""
_PASSIVE_ROLES: Final = frozenset(
    {"heading", "text", "statictext", "paragraph", "img", "image", "cell", "row", "status", "label", "form", "main"}
)

_EXACT = 1.0
_SYNONYM = 0.85
_CONTEXT = 0.3
_ACCEPT_FROM = 0.55
"""Below this nothing fits. "Send feedback" as a link scores 0.48 for "the send button"."""
_MARGIN = 0.02
"""Scores closer than this are a tie."""

_LINE = re.compile(r'^\s*\[(?P<id>e\d+)\]\s+(?P<role>[\w-]+)(?:\s+"(?P<name>(?:[^"\\]|\\.)*)")?(?P<rest>.*)$')
_ROW = re.compile(r"^ (?:\d+|row): ")
_ATTRIBUTE = re.compile(r'([\w-]+)=(?:"((?:[^"\\]|\\.)*)"|(\S+))')


@dataclass(frozen=True)
class Element:
    """One line of the listing."""

    id: str
    role: str
    name: str
    placeholder: str
    is_password: bool
    context: str
    """Everything else on the line, and the section and row it stands in."""


@dataclass(frozen=True)
class Choice:
    """The answer, and why."""

    element_id: str | None
    reason: str
    confidence: float


def parse_listing(page: str) -> list[Element]:
    """The elements of a listing; the lines of sections and rows above an element are its context."""
    elements = []
    section = row = ""
    for line in page.splitlines():
        match = _LINE.match(line)
        if match and line.startswith("  "):
            elements.append(_element(match, f"{section} {row}"))
        elif match:
            elements.append(_element(match, section))
            row = ""
        elif _ROW.match(line):
            row = line
        elif not line.startswith(" "):
            section = "" if line.startswith("page") else line
    return elements


def choose(instruction: str, elements: Sequence[Element]) -> Choice:
    """The element that `instruction` means, or none when nothing fits or the best two fit equally."""
    wanted, hint = _understand(instruction)
    if not wanted:
        return Choice(None, "the instruction names nothing to look for", 0.0)
    ranked = sorted(((_score(wanted, hint, element), element) for element in elements), key=lambda pair: -pair[0])
    if not ranked or ranked[0][0] < _ACCEPT_FROM:
        return Choice(None, "no element fits the instruction", 0.0)
    best_score, best = ranked[0]
    if len(ranked) > 1 and best_score - ranked[1][0] < _MARGIN:
        return Choice(None, f"{best.id} and {ranked[1][1].id} fit equally well", 0.0)
    return Choice(best.id, f"{best.role} {best.name!r} fits the instruction", round(best_score, 3))


def share_of(sentence: str, element: Element) -> float:
    """0 to 1: the share of the words of an element's name that a sentence has too."""
    said = {_stem(word) for word in _words(sentence)} - _SILENT
    name = [_stem(word) for word in _words(element.name) if word not in _SILENT]
    return sum(word in said for word in name) / len(name) if name else 0.0


def _element(match: re.Match[str], around: str) -> Element:
    rest = f"{match['rest']} {around}"
    attributes = {key: quoted or bare for key, quoted, bare in _ATTRIBUTE.findall(rest)}
    return Element(
        id=match["id"],
        role=match["role"].lower(),
        name=_unescape(match["name"] or ""),
        placeholder=_unescape(attributes.get("placeholder", "")),
        is_password=attributes.get("type") == "password",
        context=_unescape(re.sub(r'\b(?:placeholder|type)=(?:"(?:[^"\\]|\\.)*"|\S+)', " ", rest)),
    )


def _understand(instruction: str) -> tuple[list[str], str | None]:
    """The words and phrases to look for, and the kind of element asked for."""
    quoted = [part for pair in re.findall(r'"([^"]+)"|“([^”]+)”', instruction) for part in pair if part]
    words = _words(instruction)
    hint = next((_HINT_WORDS[word] for word in reversed(words) if word in _HINT_WORDS), None)
    if hint is None and words:
        hint = _VERB_HINTS.get(words[0])
    terms = [
        term
        for term in _terms(words)
        if " " in term or (term not in _SILENT and term not in _HINT_WORDS and term not in {"to", "enter"})
    ]
    # "to" and "enter" are grammar in a sentence and labels when written as labels: capitalised inside it, or quoted.
    if re.search(r"(?<=[^.\s]\s)To\b|\(To\)|^(?:the )?to (?:field|box|input)$", instruction.strip()):
        terms.append("to")
    for part in quoted:
        terms += [term for term in _terms(_words(part)) if term not in terms]
    return list(dict.fromkeys(terms)), hint


def _score(wanted: Iterable[str], hint: str | None, element: Element) -> float:
    """0 to 1: how much of the instruction the element answers, and how little else it says."""
    labels = [_terms(_words(text)) for text in (element.name, element.placeholder) if text]
    if element.is_password:
        labels.append(["password"])
    context = _terms(_words(element.context))
    wanted = list(wanted)
    best = 0.0
    for label in labels:
        answered = [_credit(term, label) for term in wanted]
        if not any(answered):
            continue
        covered = [
            max(credit, _CONTEXT * _credit(term, context)) for credit, term in zip(answered, wanted, strict=True)
        ]
        said = [(0.5 if word in _VAGUE else 1.0, _credit(word, wanted)) for word in label]
        explained = sum(weight * credit for weight, credit in said) / sum(weight for weight, _ in said)
        best = max(best, 0.6 * sum(covered) / len(wanted) + 0.4 * explained)
    return best * _role_factor(hint, element.role)


def _role_factor(hint: str | None, role: str) -> float:
    if hint is None:
        return 0.5 if role in _PASSIVE_ROLES else 1.0
    if role in _ROLE_HINTS[hint]:
        # A combobox may be a field one types into, but a text box is the better answer to "field".
        return 0.95 if hint == "field" and role == "combobox" else 1.0
    if {hint, role} <= {"button", "link", "menuitem", "tab"}:
        return 0.6
    return 0.3


def _credit(term: str, others: Iterable[str]) -> float:
    """How well `term` is answered by the best of the others."""
    best = 0.0
    for other in others:
        if _stem(term) == _stem(other):
            return _EXACT
        if any(term in group and other in group for group in _SYNONYMS):
            best = _SYNONYM
        elif " " in term or " " in other:
            inner, outer = term.split(), other.split()
            shared = sum(word in outer for word in inner)
            best = max(best, 0.8 * shared / max(len(inner), len(outer)))
    return best


def _terms(words: Sequence[str]) -> list[str]:
    """Words, with the known phrases among them joined, longest first."""
    terms: list[str] = []
    at = 0
    while at < len(words):
        for length in range(min(_LONGEST_PHRASE_WORDS, len(words) - at), 0, -1):
            phrase = " ".join(words[at : at + length])
            if length == 1 or phrase in _PHRASES:
                terms.append(phrase)
                at += length
                break
    return terms


def _words(text: str) -> list[str]:
    plain = unicodedata.normalize("NFKC", text).casefold().replace("e-mail", "email").replace("'s", "")
    return re.findall(r"[^\W_]+", plain)


def _stem(term: str) -> str:
    return term[:-1] if len(term) > 3 and term.endswith("s") and not term.endswith("ss") else term


def _unescape(text: str) -> str:
    return text.replace('\\"', '"').replace("\\\\", "\\")
