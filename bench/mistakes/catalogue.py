"""The mistakes: what was typed or written, what the message has to say of it, and what is typed or written instead."""

import copy
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

Data = dict[str, Any]
RIGHT: Final[Data] = {
    "task": "lunch",
    "url": "http://{shop}/{path}/shop",
    "parameters": {
        "name": {"type": "text", "example": "Ada"},
        "dish": {"type": "choice", "choices": ["Soup", "Curry", "Salad"], "example": "Soup"},
    },
    "steps": [
        {"action": "fill", "instruction": "the name", "target": {"label": "Your name"}, "value": "{{name}}"},
        {"action": "select_option", "instruction": "the dish", "target": {"label": "Dish"}, "value": "{{dish}}"},
        {
            "action": "click",
            "instruction": "the order button",
            "target": {"role": "button", "name": "Order"},
            "effect": "idempotent",
            "expect": [{"text_contains": "Thank you, {{name}}"}],
            "timeout_ms": 3000,
        },
    ],
    "verify": [{"exists": {"role": "listitem", "text": "{{name}}: {{dish}}"}}],
}
VALUES: Final = ("--param", "name=Ada", "--param", "dish=Curry")


@dataclass(frozen=True)
class Typed:
    """What a person has in a file, and types."""

    words: Sequence[str]
    """The command's; `{task}` is the file."""
    task: str = ""
    """Content of the file."""
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Mistake:
    """One mistake, and the way out of it."""

    name: str
    made: Typed
    mended: Typed
    says: Sequence[str]
    """Patterns of the true cause and of the remedy; each is in what the command prints."""
    code: int
    """Exit status: 1 where the run fails, 2 where the input is wrong."""


def _task(change: Callable[[Data], object] = lambda _: None) -> str:
    data = copy.deepcopy(RIGHT)
    change(data)
    return yaml.safe_dump(data, sort_keys=False)


def _run(task: str, *more: str, values: Sequence[str] = VALUES) -> Typed:
    return Typed(("run", "{task}", *values, *more), task)


def _set(*place: str | int, to: object) -> Callable[[Data], object]:
    """Return a change that sets a field of the task."""

    def change(data: Any) -> None:
        for part in place[:-1]:
            data = data[part]
        data[place[-1]] = to

    return change


def _written(name: str, change: Callable[[Data], object], *says: str) -> Mistake:
    """A mistake in the task file that is told before anything is started."""
    return Mistake(name, _run(_task(change)), _run(_task()), says, 2)


def _typed(name: str, made: Sequence[str], mended: Sequence[str], *says: str) -> Mistake:
    """A mistake on the command line."""
    return Mistake(name, _run(_task(), values=made), _run(_task(), values=mended), says, 2)


def _ran(
    name: str, change: Callable[[Data], object], mended: Callable[[Data], object], *says: str, code: int = 1
) -> Mistake:
    """A mistake that shows on the page."""

    def typed(of: Callable[[Data], object]) -> Typed:
        task = _task(of)
        return _run(task, values=VALUES if "parameters:" in task else ())

    return Mistake(name, typed(change), typed(mended), says, code)


def _unchanged(_data: Data) -> None:
    pass


def _without(*place: str | int) -> Callable[[Data], object]:
    def change(data: Any) -> None:
        for part in place[:-1]:
            data = data[part]
        del data[place[-1]]

    return change


def _at(page: str, *steps: Data, verify: Data | None = None) -> Callable[[Data], object]:
    """Return a change to a task on another page of the shop, with other steps."""

    def change(data: Data) -> None:
        data |= {"url": f"http://{{shop}}/{{path}}/{page}", "steps": list(steps)}
        data["verify"] = [verify or {"exists": {"role": "heading", "name": "Lunch"}}]
        del data["parameters"]

    return change


def _also(*steps: Data) -> Callable[[Data], object]:
    """Return a change that puts steps before the order is sent."""

    def change(data: Data) -> None:
        data["steps"][2:2] = steps

    return change


_REMOVE: Final[Data] = {
    "action": "click",
    "instruction": "remove the tea",
    "target": {"role": "button", "name": "Remove"},
    "effect": "idempotent",
    "expect": [{"text_contains": "Removed Tea"}],
    "timeout_ms": 3000,
}
_VOUCHER: Final[Data] = {
    "action": "upload",
    "instruction": "the voucher",
    "target": {"label": "Voucher"},
    "files": ["voucher.txt"],
    "timeout_ms": 3000,
}

IN_FILES: Final = (
    _written(
        "role", _set("steps", 2, "target", "role", to="buton"), "buton", r"\bbutton\b", r"steps\W+2\W+target\W+role"
    ),
    _written("yes", _set("steps", 0, "instruction", to=True), "instruction", "quote"),
    _written("action", _set("steps", 2, "action", to="clik"), "clik", r"\bclick\b"),
    _written("field", _set("steps", 0, "instrucion", to="the name"), "instrucion", r"\binstruction\b"),
    _written("target field", _set("steps", 0, "target", to={"lable": "Your name"}), "lable", r"\blabel\b"),
    _written("no url", _without("url"), r"\burl\b", "missing|required"),
    _written("url without scheme", _set("url", to="{shop}/{path}/shop"), r"\burl\b", "http://"),
    _written("undeclared parameter", _set("steps", 0, "value", to="{{nmae}}"), "nmae", r"\bname\b"),
    _written("no value", _without("steps", 0, "value"), "value", r"steps\W+0"),
    _written(
        "predicate", _set("steps", 2, "expect", to=[{"text_contain": "Thank you"}]), "text_contain", "text_contains"
    ),
    _written("effect", _set("steps", 2, "effect", to="comit"), "comit", "commit"),
    _written("undeclared secret", _set("steps", 0, "value", to="{{secret:PIN}}"), "PIN", "secrets"),
    _written(
        "time limit in words", _set("steps", 2, "timeout_ms", to="2s"), "timeout_ms", "2s", "whole number|integer"
    ),
    _written("type", _set("parameters", "name", "type", to="txt"), "txt", r"\btext\b"),
    Mistake("tab", _run(_task().replace("  name:", "\tname:", 1)), _run(_task()), (r"tab\.yaml:4:", "spaces"), 2),
    Mistake("empty file", _run("# later\n"), _run(_task()), ("empty|nothing", r"\btask\b"), 2),
    _written(
        "two at once",
        lambda data: (data["steps"][0].update(instrucion="x"), data["steps"][2].update(effect="comit")),
        "instrucion",
        "comit",
        r"\.yaml:\d+: steps\[0\].*\.yaml:\d+: steps\[2\]",
    ),
)
ON_COMMANDS: Final = (
    Mistake(
        "no such file",
        Typed(("run", "lnch.yaml")),
        _run(_task()),
        (r"lnch\.yaml", "no such file"),
        2,
    ),
    _typed("no value for a parameter", VALUES[:2], VALUES, r"\bdish\b", "--param dish="),
    _typed("parameter", ("--param", "nmae=Ada", *VALUES[2:]), VALUES, "nmae", r"\bname\b"),
    _typed("choice", (*VALUES[:3], "dish=Pizza"), VALUES, "Pizza", "Soup", "Salad"),
    _typed("parameter without a value", ("--param", "name", *VALUES[2:]), VALUES, "name", "NAME=VALUE|="),
    _typed("mode", (*VALUES, "--mode", "reply"), VALUES, "reply", "replay"),
    _typed(
        "option", (*VALUES, "--max-second", "60"), (*VALUES, "--max-seconds", "60"), "--max-second", "--max-seconds"
    ),
    Mistake("skill", Typed(("skills", "show", "lnuch")), Typed(("skills", "list")), ("lnuch", "skills list|lunch"), 2),
    Mistake("run", Typed(("report", "no-such-run")), Typed(("runs",)), ("no-such-run", "replaywright runs"), 2),
    Mistake("command", Typed(("rnu", "x.yaml")), Typed(("run", "--help")), ("rnu", r"\brun\b"), 2),
    Mistake(
        "nothing waits",
        Typed(("answer", "no-such-run", "approve")),
        Typed(("answer",)),
        ("no-such-run", "replaywright runs"),
        2,
    ),
)
AT_ADDRESSES: Final = (
    _ran(
        "nothing listens",
        _set("url", to="http://127.0.0.1:{closed}/shop"),
        _unchanged,
        "nothing listens|refused",
        "{closed}",
    ),
    _ran(
        "host not allowed",
        _set("url", to="http://127.0.0.1:{strange}/shop"),
        _unchanged,
        "admin hosts allow 127.0.0.1:{strange}",
        code=5,
    ),
    _ran(
        "name unknown",
        _set("url", to="http://shop.invalid/shop"),
        _unchanged,
        r"shop\.invalid",
        "name is not known",
    ),
    _ran(
        "TLS where there is none",
        _set("url", to="https://{shop}/{path}/shop"),
        _unchanged,
        "TLS|SSL|certificate",
        "http:",
    ),
    _ran(
        "unknown certificate",
        _set("url", to="https://{tls}/{path}/shop"),
        _unchanged,
        "certificate",
        "trust|authority|self-signed",
    ),
    _ran("the site's own fault", _set("url", to="http://{shop}/{path}/broken"), _unchanged, "503"),
    _ran("no such page", _set("url", to="http://{shop}/{path}/shoop"), _unchanged, "404"),
)
ON_PAGES: Final = (
    _ran(
        "name of a button", _set("steps", 2, "target", "name", to="Send"), _unchanged, 'button "Send"', 'button "Order"'
    ),
    _ran("label of a field", _set("steps", 0, "target", "label", to="Surname"), _unchanged, "Surname", "Your name"),
    _ran(
        "two of one name",
        _at("list", _REMOVE),
        _at("list", {**_REMOVE, "target": {**_REMOVE["target"], "nth": 1}}),
        r"\b2\b|two|ambiguous",
        "Tea.*Cake",
        "nth",
    ),
    _ran(
        "disabled",
        _at("shop", {**_REMOVE, "target": {"role": "button", "name": "Pay"}}),
        _unchanged,
        "disabled",
        "wait_for",
    ),
    _ran(
        "covered",
        lambda data: data.update(url="http://{shop}/{path}/covered"),
        _unchanged,
        "News for you|news",
        "cover",
    ),
    Mistake(
        "refused by the site",
        _run(_task(), values=("--param", "name=Mallory", *VALUES[2:])),
        _run(_task()),
        ("Sorry, this guest has been locked out",),
        1,
    ),
    _ran(
        "a dialog",
        _at("asking", _REMOVE),
        _at("asking", {**_REMOVE, "dialog": "accept"}),
        "Remove Tea",
        "dialog: accept",
    ),
    _ran("option of a list", _set("steps", 1, "value", to="Pizza"), _unchanged, "Pizza", "Soup", "Curry"),
    _ran("read only", _set("steps", 0, "target", "label", to="Member number"), _unchanged, "read.?only"),
    _ran(
        "cut value",
        _set("steps", 0, "value", to="A name of more than twenty letters"),
        _unchanged,
        "A name of more than",
        "holds|shows|cut|20",
    ),
    _ran(
        "expected text",
        _set("steps", 2, "expect", to=[{"text_contains": "Thanks a lot"}]),
        _unchanged,
        "Thanks a lot",
        "Thank you, Ada|the page",
    ),
    _ran(
        "a value of before",
        _set("steps", 2, "expect", to=[{"text_contains": "Ada: Soup"}]),
        _set("steps", 2, "expect", to=[{"text_contains": "Ada: {{dish}}"}]),
        "expect names 'Soup', and the parameter dish is 'Curry'",
        r"what to do: .*write \{\{dish\}\} there",
    ),
    _ran(
        "final check",
        _set("verify", to=[{"exists": {"role": "listitem", "text": "Bob"}}]),
        _unchanged,
        "verif",
        "Bob",
        "Ada: Curry",
    ),
    _ran("no target", _without("steps", 0, "target"), _unchanged, "the name", "target", "REPLAYWRIGHT_MODEL"),
    Mistake(
        "no model for a sentence",
        Typed(("run", "--url", "http://{shop}/{path}/shop", "order a curry for Ada")),
        _run(_task()),
        ("before anything was opened", "no model is configured", "REPLAYWRIGHT_MODEL", "task file"),
        1,
    ),
    _ran("no upload folder", _also(_VOUCHER), _unchanged, "before anything was opened", "admin uploads allow"),
    _ran(
        "never comes",
        _also({"action": "wait_for", "expect": [{"text_contains": "Dessert"}], "timeout_ms": 1500}),
        _unchanged,
        "Dessert",
    ),
)
MISTAKES: Final = (*IN_FILES, *ON_COMMANDS, *AT_ADDRESSES, *ON_PAGES)
ALSO_NEVER: Final = tuple(
    map(re.compile, (r"Traceback", r"\{'", r"\[\{", r"<class ", r"pydantic", r"RPCError", r"net::ERR_\w+\s*$"))
)
"""What no message has: structures and names of the program."""
