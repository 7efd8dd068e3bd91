"""A task in the making: what every reader of a recording puts its steps, expectations and notes into."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from pydantic import TypeAdapter, ValidationError

from replaywright.domain.common.templates import malformed_in, parameters_in, secrets_in, texts_of
from replaywright.domain.common.text import shorten
from replaywright.domain.predicate.predicates import (
    Focused,
    OfStep,
    Predicate,
    UrlContains,
    flattened,
)
from replaywright.domain.step.fingerprints import site_scope
from replaywright.domain.task.steps import Step
from replaywright.domain.task.tasks import parse_task
from replaywright.errors import InputInvalid
from replaywright.imports.elements import LONGEST, ImportedElement
from replaywright.imports.imported import Imported, Note, RecordingKind
from replaywright.imports.values import Typed, Values

MOST_STEPS: Final = 2_000
"""A longer recording is refused: nobody could check what becomes of it."""
_STEP: Final[TypeAdapter[Step]] = TypeAdapter(Step)
_KEEPS_FOCUS: Final = frozenset({"fill", "type", "select_option", "press", "check", "uncheck"})
_FIELDS: Final = frozenset({"textbox", "searchbox", "combobox", "listbox", "spinbutton", "slider", "checkbox", "radio"})
_ALTERNATIVES: Final = "it is not understood; write the step by hand if it matters (docs/reference/task-files.md)"


@dataclass
class _DraftStep:
    """A step and where it was read."""

    where: str
    data: dict[str, Any]
    element: ImportedElement | None
    expect: list[Predicate] = field(default_factory=list)
    url: str = ""
    """The address after the step, where the recording has it."""


@dataclass
class TaskDraft:
    """Steps, notes and values of one recording; `finish` makes the task."""

    kind: RecordingKind | Literal["demonstration"]
    values: Values = field(default_factory=Values)
    notes: list[Note] = field(default_factory=list)
    entries: list[_DraftStep] = field(default_factory=list)

    # ------------------------------------------------------------------------------------------------- notes

    def left_out(self, where: str, what: str, advice: str = _ALTERNATIVES) -> None:
        """Tell of an action that is not in the task."""
        self._note("left_out", where, what, advice)

    def changed(self, where: str, what: str, advice: str) -> None:
        """Tell of one that is in the task in another form."""
        self._note("changed", where, what, advice)

    def check(self, where: str, what: str, advice: str) -> None:
        """Tell of one that is in the task on an assumption."""
        self._note("check", where, what, advice)

    def _note(self, kind: Literal["left_out", "changed", "check"], where: str, what: str, advice: str) -> None:
        note = Note(where=where, what=what or "(no name)", kind=kind, advice=advice)
        if note not in self.notes:
            self.notes.append(note)

    # ------------------------------------------------------------------------------------------------- steps

    @property
    def focused(self) -> ImportedElement | None:
        """Return the element that has the focus after the last step, as far as the recording tells; else None."""
        if not self.entries or self.entries[-1].url:
            return None
        entry = self.entries[-1]
        query = entry.element.query if entry.element is not None else None
        on_field = query is not None and bool(query.role in _FIELDS or query.label or query.placeholder)
        keeps = entry.data["action"] in _KEEPS_FOCUS or (entry.data["action"] == "click" and on_field)
        return entry.element if keeps else None

    def goto(self, where: str, what: str, url: str, **fields: Any) -> bool:
        """Add a navigation; an address of no page (`about:blank`) gets a note only."""
        if not host_of(url):
            shown = re.sub(r"//[^/@]*@", "//", url)
            self.left_out(where, what, f"{shown!r} is no http or https address")
            return False
        netloc = urlsplit(url).netloc
        if "@" in netloc:
            url = url.replace(netloc, netloc.rpartition("@")[2], 1)
            self.left_out(
                where, "user and password in the address", "they are not kept; sign in by steps, with secrets"
            )
        url = url.replace("{{", "%7B%7B").replace("}}", "%7D%7D")
        return self._add(where, what, {"action": "goto", "url": url, **fields})

    def act(self, where: str, what: str, action: str, element: ImportedElement, **fields: Any) -> bool:
        """Add a step on an element that enters nothing: click, hover, check and so on."""
        return self._add(where, what, {"action": action, **fields}, element)

    def enter(
        self, where: str, what: str, action: Literal["fill", "type"], element: ImportedElement, typed: Typed
    ) -> bool:
        """Add a step that enters a text."""
        self._absorb_click(where, element)
        value = self.values.template(typed, element, at=len(self.entries))
        if typed.text is None and not typed.called:
            self.check(where, what, f"the value is not in the recording: a caller gives it ({value})")
        return self._add(where, what, {"action": action}, element, {"value": value})

    def tick(self, where: str, what: str, element: ImportedElement, *, on: bool) -> bool:
        """Add a step that sets a checkbox or a radio button; a click on it just before was the same."""
        self._absorb_click(where, element)
        return self._add(where, what, {"action": "check" if on else "uncheck"}, element)

    def choose(self, where: str, what: str, element: ImportedElement, chosen: Sequence[Typed]) -> bool:
        """Add a step that chooses from a list."""
        self._absorb_click(where, element)
        at = len(self.entries)
        values = [self.values.template(typed, element, at=at, chosen=True) for typed in chosen]
        if any(secrets_in(value) for value in values):
            self.left_out(where, what, "a secret cannot be chosen from a list; write the step by hand")
            return False
        written: dict[str, Any] = {"value": values[0]} if len(values) == 1 else {"values": values}
        return self._add(where, what, {"action": "select_option"}, element, written)

    def upload(self, where: str, what: str, element: ImportedElement, files: Sequence[str]) -> bool:
        """Add a step that gives files to the page."""
        self._absorb_click(where, element)
        written = [self.values.file(path, at=len(self.entries)) for path in files]
        if added := self._add(where, what, {"action": "upload"}, element, {"files": written}):
            self.check(
                where, what, "files are read from folders that the operator allows (`replaywright admin uploads allow`)"
            )
        return added

    def press(self, where: str, what: str, keys: str, element: ImportedElement | None) -> bool:
        """Add a key press, on an element or on the focused one."""
        return self._add(where, what, {"action": "press", "keys": keys}, element)

    def page(self, where: str, what: str, action: str, **fields: Any) -> bool:
        """Add a step on the page as a whole."""
        return self._add(where, what, {"action": action, **fields})

    def say(self, **fields: Any) -> bool:
        """Set fields of the last step; always True."""
        self.entries[-1].data |= {name: value for name, value in fields.items() if value not in ([], None)}
        return True

    def take_back(self) -> ImportedElement | None:
        """Undo the last step if it is a plain click: what it led to needs its element, not the click."""
        if self.entries and self.entries[-1].data["action"] == "click":
            return self.entries.pop().element
        return None

    def expect(self, where: str, what: str, predicate: Predicate) -> None:
        """Add a condition that held after the last step."""
        if not self.entries:
            self.left_out(where, what, "nothing was done before it; add it to a step's `expect`")
        elif _braces_in(predicate.model_dump(mode="json", exclude_none=True)):
            self.left_out(where, what, "it has {{…}} in it, which a task reads as a parameter")
        else:
            self.entries[-1].expect.append(predicate)

    def reached(self, url: str, *, expected: bool = True) -> None:
        """Set the address that the last step led to; its stable part is expected unless `expected` is False."""
        stable = _stable_path(url)
        if not self.entries or not stable:
            return
        self.entries[-1].url = url
        known = [predicate for predicate in self.entries[-1].expect if isinstance(predicate, UrlContains)]
        if expected and not known:
            self.entries[-1].expect.append(UrlContains(url_contains=stable))

    def _add(
        self,
        where: str,
        what: str,
        data: dict[str, Any],
        element: ImportedElement | None = None,
        written: dict[str, Any] | None = None,
    ) -> bool:
        """Add a step and return True, or add a note. `written` has templates, `data` only recorded texts."""
        if len(self.entries) >= MOST_STEPS:
            raise InputInvalid(f"the recording has more than {MOST_STEPS} steps; record its parts one by one")
        if _braces_in({key: value for key, value in data.items() if key != "dialog_text"}):
            self.left_out(where, what, "it has {{…}} in it, which a task reads as a parameter")
            return False
        if element is not None:
            data = data | {"instruction": element.words}
            data |= {} if element.query is None else {"target": element.query.model_dump(exclude_none=True)}
        data |= written or {}
        try:
            _STEP.validate_python(data)
        except ValidationError as exc:
            error = exc.errors()[0]
            self.left_out(where, what, f"{error['loc'][-1] if error['loc'] else 'it'}: {error['msg']}")
            return False
        if element is not None:
            self._tell_of(where, what, element)
        self.entries.append(_DraftStep(where, data, element))
        return True

    def _tell_of(self, where: str, what: str, element: ImportedElement) -> None:
        if element.query is None:
            why = element.why or "the recording has nothing that a query can say"
            advice = f"its element is not described ({why}): a model finds it the first time, or write a target"
            self.check(where, what, advice)
        elif element.by_place:
            advice = "its element is described by its place alone, which changes; write role and name into the target"
            self.check(where, what, advice)
        if element.in_frame:
            advice = (
                "it has to be the only match on the whole page: its frame has no name here; write one into the target"
            )
            self.changed(where, what, advice)

    def _absorb_click(self, where: str, element: ImportedElement) -> None:
        """Drop a click that only focused the field: entering a value does that."""
        if not self.entries:
            return
        entry = self.entries[-1]
        plain = entry.data.keys() <= {"action", "instruction", "target"} and not entry.expect
        same = entry.element is not None and _is_same(entry.element, element)
        if entry.data["action"] == "click" and plain and same:
            self.entries.pop()
            self.changed(entry.where, "click", f"it is part of the step of {where}")

    # ------------------------------------------------------------------------------------------------- the task

    def finish(self, name: str, goal: str = "", start_url: str = "", final_url: str = "") -> Imported:
        """Make the task.

        Raises:
            InputInvalid: no step is left, or the steps make no task.
        """
        while self.entries and self.entries[-1].data["action"] == "close_tab" and not self.entries[-1].expect:
            entry = self.entries.pop()
            self.changed(entry.where, "close", "closing at the end is done by the end of the session")
        if not self.entries:
            told = "; ".join(f"{note.where}: {note.what}" for note in self.notes[:3])
            found = self._short(f" ({told})" if told else "", 300)
            raise InputInvalid(f"the {self.kind} recording has no step to take over{found}")
        verify = self._verify(final_url)
        steps = [self._written(number, entry) for number, entry in enumerate(self.entries)]
        url = self._start(start_url)
        data: dict[str, Any] = {
            "task": name,
            "goal": self._plain(goal),
            "url": url,
            "secrets": list(self.values.secrets),
            "steps": steps,
            "verify": [
                self._general(told, len(self.entries)) for told in verify if not self._tells_a_secret("end", told)
            ],
        }
        data["parameters"] = {
            name: {key: self.values.scrubbed(value) for key, value in declared.items()}
            for name, declared in self.values.parameters.items()
        }
        task = parse_task(data, f"the task made of the {self.kind} recording")
        return Imported(kind=self.kind, task=task, notes=self._told_notes())

    def _start(self, start_url: str) -> str:
        first = self.entries[0].data
        if first["action"] == "goto":
            return self.values.scrubbed(str(first["url"]))
        if host_of(start_url):
            return self.values.scrubbed(start_url.replace("{{", "%7B%7B").replace("}}", "%7D%7D"))
        self.check("start", "address", "the recording does not say which page it began on: a caller gives it")
        return self.values.start()

    def _verify(self, final_url: str) -> list[dict[str, Any]]:
        """Return the final conditions: expectations of the last steps, else the address they led to."""
        told: list[dict[str, Any]] = []
        for entry in reversed(self.entries):
            told = [
                *entry.data.get("expect", ()),
                *(_data_of(one) for one in entry.expect if not _is_of_a_step(one)),
                *told,
            ]
            final_url = final_url or entry.url
            if entry.data["action"] != "wait_for":
                break
        if not told and (stable := _stable_path(final_url)):
            told = [_data_of(UrlContains(url_contains=stable))]
        if not told:
            self.check("end", "verify", "nothing says what holds at the end: add `verify`, or nothing learned is kept")
        return told

    def _written(self, number: int, entry: _DraftStep) -> dict[str, Any]:
        """Write the step without values of secrets, and with parameters for values of earlier steps."""
        data = dict(entry.data)
        if "instruction" in data:
            data["instruction"] = self._short(self._plain(data["instruction"]), LONGEST)
        if "target" in data:
            data["target"] = self._general(data["target"], number)
            if any(parameters_in(text) for text in texts_of(data["target"])):
                data["instruction"] = self.values.generalised(data["instruction"], number)
                advice = "its element is named by a value entered before, so by the parameter; see that this is meant"
                self.check(entry.where, data["action"], advice)
        for key in ("url", "url_contains"):
            if isinstance(data.get(key), str):
                data[key] = self.values.scrubbed(data[key])
        own = data.pop("expect", ())
        expect = [told for told in (*own, *map(_data_of, entry.expect)) if not self._tells_a_secret(entry.where, told)]
        if expect:
            data["expect"] = [self._general(predicate, number + 1) for predicate in expect]
        return data

    def _tells_a_secret(self, where: str, predicate: dict[str, Any]) -> bool:
        if all(self.values.scrubbed(text) == text for text in texts_of(predicate)):
            return False
        self.left_out(where, next(iter(predicate)), "it shows the value of a secret, which is never expected of a page")
        return True

    def _general(self, value: Any, number: int, key: str = "") -> Any:
        """Data of a query or predicate: scrubbed, and what is a person's word in it with parameters."""
        match value:
            case str():
                clean = self.values.scrubbed(value)
                return self.values.generalised(clean, number) if key in _WORDS else clean
            case dict():
                return {name: self._general(inner, number, name) for name, inner in value.items()}
            case list() | tuple():
                return [self._general(inner, number, key) for inner in value]
            case _:
                return value

    def _plain(self, text: str) -> str:
        """Clean a person's text of braces, which would be parameters."""
        return self.values.scrubbed(re.sub(r"\{\{|\}\}", " ", text))

    def _told_notes(self) -> tuple[Note, ...]:
        return tuple(
            note.model_copy(update={"what": self._short(note.what, 120), "advice": self._short(note.advice, 400)})
            for note in sorted(self.notes, key=lambda note: _place(note.where))
        )

    def _short(self, text: str, limit: int) -> str:
        """Cut after it was scrubbed: half of a secret's value would not be recognised."""
        return shorten(self.values.scrubbed(text), limit)


_WORDS: Final = frozenset(
    {"name", "name_contains", "text", "text_contains", "text_equals", "value_equals", "title_contains", "dialog_seen"}
)
"""Fields of queries and predicates that hold words of the page, in which a value may stand."""


def _is_same(one: ImportedElement, other: ImportedElement) -> bool:
    if one.identity and one.identity == other.identity:
        return True
    return one.query is not None and one.query == other.query


def host_of(url: str) -> str:
    """Return the host of an http or https address; empty for anything else."""
    try:
        parts = urlsplit(url)
        return (parts.hostname or "") if parts.scheme in {"http", "https"} else ""
    except ValueError:
        return ""


def _stable_path(url: str) -> str:
    """Return the path of an address up to its first part that varies; empty when nothing telling is left of it."""
    if not host_of(url) or "{{" in url:
        return ""
    path = "/" + site_scope(url).partition("://")[2].partition("/")[2]
    stable = path.partition("{id}")[0]
    return stable if len(stable) > 1 and stable in url else ""


def _place(where: str) -> list[float]:
    """Return the place in the recording as a sort key."""
    if where == "start":
        return [-1]
    return [float(number) for number in re.findall(r"\d+", where)] or [math.inf]


def _data_of(predicate: Predicate) -> dict[str, Any]:
    return predicate.model_dump(mode="json", exclude_none=True)


def _is_of_a_step(predicate: Predicate) -> bool:
    """Return True if the predicate is about a step, which `verify` cannot have."""
    return any(isinstance(part, OfStep | Focused) for part in flattened(predicate))


def _braces_in(data: Any) -> bool:
    """Return True if a text would be read as a parameter or secret."""
    return any(parameters_in(text) or secrets_in(text) or malformed_in(text) for text in texts_of(data))
