"""Parameters and secrets of the entered values: names, types, and further uses of the values."""

import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Final

from replaywright.imports.elements import ImportedElement
from replaywright.imports.xpaths import looks_generated

_SECRET: Final = re.compile(
    "password|passwd|passphrase|pass ?code|passwort|kennwort|contrase[nñ]|mot ?de ?passe|senha|пароль|密码|密碼|口令|"
    "パスワード|暗証番号|비밀번호|secret|pwd|api ?key|security code|verification code|one ?time|验证码|驗證碼|"
    r"\b(?:pass|pin|cvv|cvc|otp|totp|token|mfa|2fa)\b"
)
_EMAIL: Final = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+|[^@\s]+@localhost")
_NUMBER: Final = re.compile(r"[+-]?(?:0|[1-9]\d{0,14})(?:[.,]\d{1,10})?")
_NO_QUANTITY: Final = re.compile(
    r"zip|post(?:al)? ?code|postcode|plz|phone|mobile|\btel\b|fax|iban|account|card|\bids?\b|number|\bno\b|\bnr\b|code"
)
_LONG: Final = 1_000
"""Characters of an example; a longer value is not kept."""
_TELLING: Final = 3
"""Characters from which on a value is hardly found in a text by chance."""
_MASK: Final = "•••"


@dataclass(frozen=True)
class Typed:
    """An entered value, as far as the recording has it."""

    text: str | None
    """None when the recording does not have it, because a script computed it for instance."""
    called: str = ""
    """The name that the recording itself gives to the value."""
    secret: bool = False
    """The recording itself says that it is a secret."""
    kept: bool = False
    """The same in every run: no parameter."""
    marks: re.Pattern[str] | None = None
    """The recording's own placeholders in the text; group 1 is a name."""


@dataclass
class Values:
    """The parameters and secrets of one task in the making."""

    parameters: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Declarations as in a task file."""
    recorded: dict[str, str] = field(default_factory=dict)
    """Entered values by parameter."""
    secrets: dict[str, str] = field(default_factory=dict)
    """Entered values by secret; empty if the recording has only the name."""
    since: dict[str, int] = field(default_factory=dict)
    """The number of the step that entered it first, by parameter."""

    def template(self, typed: Typed, element: ImportedElement, *, at: int, chosen: bool = False) -> str:
        """Return the template for a value that step `at` enters.

        A value that was chosen from a list becomes the parameter's default; one that was typed only its example, so
        that a run with other values can never enter it unnoticed.
        """
        if typed.text == "" and not typed.called:
            return ""
        if typed.marks is not None and typed.text and typed.marks.search(typed.text):
            return self._filled(typed.text, typed.marks, typed.secret, element, at)
        if self._is_secret(typed, element):
            return "{{secret:" + self._secret(typed, element) + "}}"
        if typed.kept and typed.text is not None and "{{" not in typed.text:
            return typed.text
        name = self._known(typed, element)
        if name is None:
            name = free_name(
                (typed.called and parameter_name(typed.called)) or self._name_for(element), self.parameters
            )
            self.parameters[name] = self._declared(typed, element, chosen)
            self.since[name] = at
            if typed.text:
                self.recorded[name] = typed.text
        return "{{" + name + "}}"

    def _filled(self, text: str, marks: re.Pattern[str], secret: bool, element: ImportedElement, at: int) -> str:
        """Return the text with the recording's own placeholders as ours."""
        if "{{" in marks.sub("", text):
            return self.template(Typed(None), element, at=at)

        def ours(match: re.Match[str]) -> str:
            return self.template(Typed(None, match[1], secret or is_secret(match[1])), element, at=at)

        return marks.sub(ours, text)

    def file(self, path: str, *, at: int) -> str:
        """Return the template for the path of a file to upload."""
        known = next((name for name, value in self.recorded.items() if value == path and name.startswith("file")), None)
        if known is None:
            known = free_name("file", self.parameters)
            self.parameters[known] = {"description": "Path of the file to upload", "default": path}
            self.recorded[known], self.since[known] = path, at
        return "{{" + known + "}}"

    def start(self) -> str:
        """Return the parameter for a start address that the recording does not have."""
        name = free_name("start_url", self.parameters)
        self.parameters[name] = {"description": "Address of the page that the recording began on"}
        return "{{" + name + "}}"

    def generalised(self, text: str, at: int) -> str:
        """`text` of step number `at` with values that were entered before it replaced by their parameters.

        Values of fewer than three characters, those that two parameters share, and parts of longer words are left.
        """
        if "{{" in text:
            return text
        several = list(self.recorded.values())
        usable = {
            value: name
            for name, value in self.recorded.items()
            if self.since[name] < at and len(value) >= _TELLING and several.count(value) == 1
        }
        return _replaced(text, usable, lambda value: "{{" + usable[value] + "}}")

    def scrubbed(self, text: str) -> str:
        """`text` without any value of a secret."""
        values = {value for value in self.secrets.values() if value}
        for value in sorted((value for value in values if len(value) > _TELLING), key=len, reverse=True):
            text = text.replace(value, _MASK)
        return _replaced(text, values, lambda _value: _MASK)

    def _is_secret(self, typed: Typed, element: ImportedElement) -> bool:
        if typed.secret or is_secret(f"{typed.called} {element.field} {element.hints}"):
            return True
        return bool(typed.text) and len(typed.text or "") > _TELLING and typed.text in self.secrets.values()

    def _secret(self, typed: Typed, element: ImportedElement) -> str:
        if typed.text:
            known = next((name for name, value in self.secrets.items() if value == typed.text), None)
            if known is not None:
                return known
        name = (parameter_name(typed.called) if typed.called else parameter_name(element.field) or "password").upper()
        if typed.text is None and typed.called and name in self.secrets:
            return name
        name = free_name(name, self.secrets)
        self.secrets[name] = typed.text or ""
        return name

    def _known(self, typed: Typed, element: ImportedElement) -> str | None:
        """Return the parameter that the same field was given before, with the same value."""
        base = (typed.called and parameter_name(typed.called)) or self._name_for(element)
        for name in self.parameters:
            if re.fullmatch(rf"{re.escape(base)}(?:_\d+)?", name) and self.recorded.get(name) == typed.text:
                return name
        return None

    def _name_for(self, element: ImportedElement) -> str:
        if name := parameter_name(element.field):
            return name
        words = [word for word in re.findall(r"[A-Za-z_][\w-]{1,39}", element.hints) if not looks_generated(word)]
        return next((name for word in words if (name := parameter_name(word)) and name not in _TAGS), "value")

    def _declared(self, typed: Typed, element: ImportedElement, chosen: bool) -> dict[str, Any]:
        text = typed.text or ""
        declared: dict[str, Any] = {"type": guessed_type(text, element)}
        if element.field and len(element.field) <= 120:
            declared["description"] = f"Value of {element.field!r}"
        if text and len(text) <= _LONG:
            declared["default" if chosen else "example"] = text
        return declared


_TAGS: Final = frozenset(
    {
        "input",
        "textarea",
        "select",
        "div",
        "span",
        "form",
        "html",
        "body",
        "table",
        "tbody",
        "tr",
        "td",
        "main",
        "section",
    }
    | {"nth", "of", "type", "child", "text", "placeholder", "name", "id", "class", "aria", "label", "data", "testid"}
)
"""Words of selectors that name no value."""


def is_secret(words: str) -> bool:
    """Return True if the field's name says that its value is confidential."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", unicodedata.normalize("NFKC", words))
    return bool(_SECRET.search(re.sub(r"[-_.\s]+", " ", spaced).lower()))


def guessed_type(text: str, element: ImportedElement) -> str:
    """`email`, `date` or `number` where the value is surely one, else `text`."""
    if _EMAIL.fullmatch(text):
        return "email"
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text, re.ASCII) and _is_day(text):
        return "date"
    if (
        _NUMBER.fullmatch(text)
        and text.isascii()
        and not _NO_QUANTITY.search(f"{element.field} {element.hints}".lower())
    ):
        return "number"
    return "text"


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def parameter_name(words: str) -> str:
    """Return `words` as the name of a parameter; empty if there is no Latin letter in them."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", words)
    plain = unicodedata.normalize("NFKD", spaced).encode("ascii", "ignore").decode()
    name = re.sub(r"[^a-z0-9]+", "_", plain.lower()).strip("_0123456789")
    return name[:40].rstrip("_")


def free_name(name: str, taken: Iterable[str]) -> str:
    """Return `name`, with a number if it is taken."""
    known = set(taken)
    number = 1
    free = name
    while free in known:
        number += 1
        free = f"{name}_{number}"
    return free


def _replaced(text: str, values: Iterable[str], put: Callable[[str], str]) -> str:
    """`text` with the values replaced where they are no part of a longer word, longest first, in one pass."""
    longest_first = sorted(values, key=lambda value: (-len(value), value))
    if not longest_first:
        return text
    return re.sub("|".join(map(_as_word, longest_first)), lambda match: put(match[0]), text)


def _as_word(value: str) -> str:
    """Bounded by no Latin letter or digit: scripts without spaces have no other bounds."""
    edge = "[A-Za-z0-9_]"
    before = f"(?<!{edge})" if re.match(edge, value) else ""
    after = f"(?!{edge})" if re.search(f"{edge}\\Z", value) else ""
    return before + re.escape(value) + after
