"""One task of an application, written before it was ever run: its steps, its values, and who judges it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bench.park.place import Place
from bench.wob.oracle import Pick
from bench.wob.spec import Do, Values, learned
from demo.stage import PASSWORD_SECRET
from replaywright.domain.common.templates import fill
from replaywright.domain.task.tasks import Task, parse_task

UPLOADS: Mapping[str, bytes] = {
    "first.csv": b"name,city\nAda,Oslo\nBob,Riga\n",
    "second.csv": b"name,city\nEve,Pisa\n",
    "first.txt": b"first file\n",
    "second.txt": b"second file\n",
}
"""Files that tasks upload, in the worker's upload root."""

PASSWORD = "secret-of-ada"  # noqa: S105  known to nobody but applications that are gone after the run
"""Of every account; tasks write `{{secret:PASSWORD}}`."""


@dataclass(frozen=True)
class Seen:
    """What a judge may look at: the application's own store, and what the run brought back."""

    place: Place
    """The files, the databases and the server's own API."""
    values: Values
    extracted: Mapping[str, Any]
    files: Mapping[str, bytes]
    """Downloaded files, by name."""


Judge = Callable[[Seen], str]
"""Says in a few words what is not as it was to be; empty when all is right."""


@dataclass(frozen=True)
class Job:
    """One task."""

    name: str
    steps: tuple[Do, ...]
    values: Values
    """What it is learned with."""
    new: Values
    """What it is replayed with as well: other values of the same names."""
    judge: Judge
    verify: tuple[Mapping[str, Any], ...]
    """What a person would look for on the page at the end."""
    start: str = "/"
    """Path where it begins."""
    rules: Mapping[str, Mapping[str, Pick]] = field(default_factory=dict)
    """What the stand-in is told in another edition, by its name and by instruction, where it is not the same."""
    other_flow: frozenset[str] = frozenset()
    """Editions in which this takes other steps: a replay has to stop there, and is no pair."""

    def task(self, app: str, *, described: bool = False) -> Task:
        """Return the task file; `described`: elements that a role and a name tell are given by both, no model."""
        names = ["site", *self.values]
        data = {
            "task": f"{app}-{self.name}{'-described' if described else ''}",
            "url": f"{{{{site}}}}{self.start}",
            "parameters": {name: {"type": "text"} for name in names},
            "secrets": [PASSWORD_SECRET] if self.signs_in else [],
            "steps": [_described(do) if described else dict(do.step) for do in self.steps],
            "verify": list(self.verify),
        }
        return parse_task(data, self.name)

    @property
    def signs_in(self) -> bool:
        """True if a step enters the password."""
        return any(f"{{{{secret:{PASSWORD_SECRET}}}}}" in str(do.step.get("value")) for do in self.steps)

    def told(self, values: Values, edition: str = "") -> dict[str, Pick]:
        """Return what the stand-in has to know, by instruction."""
        others = self.rules.get(edition, {})
        return {
            fill(do.step["instruction"], values): others.get(do.step["instruction"], do.pick).filled(values)
            for do in self.steps
            if do.pick is not None
        }


def _described(do: Do) -> dict[str, Any]:
    step, pick = dict(do.step), do.pick
    if pick is not None and pick.role and "|" not in pick.role and pick.name and not (pick.says or pick.nth):
        step["target"] = {"role": pick.role, "name": pick.name}
    return step


def job(
    name: str,
    *steps: Do,
    judge: Judge,
    values: Values,
    new: Values,
    verify: Mapping[str, Any] | tuple[Mapping[str, Any], ...],
    **others: Any,
) -> Job:
    """Return a task."""
    wanted = verify if isinstance(verify, tuple) else (verify,)
    return Job(name, steps, values, new, judge, wanted, **others)


def goto(path: str, **fields: Any) -> Do:
    """Open a page of the application."""
    return Do({"action": "goto", "url": f"{{{{site}}}}{path}", **fields})


def text(contains: str) -> dict[str, str]:
    """Return the predicate that the page shows this."""
    return {"text_contains": contains}


def click(role: str, name: str, instruction: str = "", says: str = "", *, nth: int = 0, **fields: Any) -> Do:
    """Click what has this role and name; `instruction` only if they do not say which."""
    words = instruction or f"the {name} {role}"
    return learned("click", words, Pick(role, name or None, says, nth), **fields)


def saved(role: str, name: str, *expect: Mapping[str, Any], instruction: str = "", says: str = "") -> Do:
    """Click what stores something: it must not be done twice."""
    return click(role, name, instruction, says, effect="commit", expect=list(expect))


def enter(
    name: str, value: str, instruction: str = "", says: str = "", *, role: str = "textbox", nth: int = 0, **fields: Any
) -> Do:
    """Fill in the field of this name."""
    pick = Pick(role, name or None, says, nth)
    return learned("fill", instruction or f"the {name} field", pick, value=value, **fields)


def choose(name: str, value: str, instruction: str = "", says: str = "", **fields: Any) -> Do:
    """Choose an option of the list of this name."""
    pick = Pick("combobox", name or None, says)
    return learned("select_option", instruction or f"the {name} list", pick, value=value, **fields)


def in_row(role: str, name: str, row: str, *, action: str = "click", **fields: Any) -> Do:
    """Click what has this role and name in the row with this text: each value means another element."""
    target = {"role": role, **({"name": name} if name else {}), "within": {"role": "row", "text": row}}
    words = " ".join(filter(None, ("the", name, role, "in the row of", row)))
    return Do({"action": action, "instruction": words, "target": target, **fields})


def read(field: str, take: str, target: Mapping[str, Any], instruction: str) -> Do:
    """Read a value of the page, for the judge."""
    fields = {field: {"take": take}}
    return Do({"action": "extract", "instruction": instruction, "target": dict(target), "fields": fields})


def uploaded(name: str) -> list[tuple[str, ...]]:
    """Return the rows of an uploaded CSV file, without its head."""
    return [tuple(line.split(",")) for line in UPLOADS[name].decode().splitlines()[1:]]
