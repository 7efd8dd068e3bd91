"""`replaywright admin policy`: what runs may reach and do, and what a task would do against it. Needs no stack."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from rich.text import Text

from replaywright.cli import output
from replaywright.cli.app import admin
from replaywright.cli.command import Exit
from replaywright.cli.completion import tasks
from replaywright.cli.options import Json, ValueOptions
from replaywright.cli.tasks import taskfile
from replaywright.domain.common.templates import SECRET_PREFIX
from replaywright.domain.policy.effective import Effective, before_start, judged
from replaywright.domain.policy.policy_hosts import NamedAddress, named
from replaywright.domain.session.guard import Refusal
from replaywright.domain.task.actions import Effect, effect_of
from replaywright.domain.task.policy import Policy
from replaywright.domain.task.steps import Goto, Step, action_of
from replaywright.domain.task.tasks import Task, checked_value
from replaywright.errors import InputInvalid
from replaywright.grants import granted_hosts
from replaywright.policy_files import SETTING, operators_policy, read_policy
from replaywright.settings import load_settings

policy_app = admin.group(
    "policy",
    "What runs may reach and do: the operator's file (`REPLAYWRIGHT_POLICY`) and what tasks ask for.",
    "replaywright admin policy check demo/send_mail.yaml",
)

TaskFile = Annotated[
    str,
    typer.Argument(metavar="TASK", help="Task file, YAML or JSON; `-` is standard input.", autocompletion=tasks),
]
PolicyFile = Annotated[
    str | None,
    typer.Option("--policy", metavar="FILE", help="The operator's policy. (default: `REPLAYWRIGHT_POLICY`)"),
]


@dataclass(frozen=True)
class _Row:
    """Step in the output."""

    place: str
    step: Step
    effect: Effect
    refusal: Refusal | None


@dataclass(frozen=True)
class _Found:
    """Findings about a task."""

    rows: tuple[_Row, ...]
    hosts: tuple[NamedAddress, ...]
    beyond: Refusal | None
    """The amount that the plan is certainly beyond; None also where a step of its own is blocked."""

    @property
    def blocks(self) -> bool:
        """Return True if anything is blocked."""
        refusals = (*(row.refusal for row in self.rows), *(each.refusal for each in self.hosts), self.beyond)
        return any(refusal is not None for refusal in refusals)


@policy_app.command("check")
def check(
    *,
    task: TaskFile,
    policy: PolicyFile = None,
    given: ValueOptions,
    json: Json = False,
) -> None:
    """Show the steps and hosts of a task, and the rules that block them. Nothing is opened and nothing is done.

    A step whose target or address is not known yet is decided when it is performed. A run follows the policy of its
    worker.

    Exit status: 0 allowed, 2 bad input, 5 blocked.

    Example: `replaywright admin policy check demo/send_mail.yaml --policy policy.yaml -p base_url=http://127.0.0.1:8025`
    """
    wanted = taskfile.read_task(task)
    values = _known_values(wanted, taskfile.read_parameters(given.param or [], given.params))
    holds = Effective(operator_of(policy), wanted.policy)
    found = _found(holds, wanted, values)
    status = Exit.BLOCKED if found.blocks else Exit.DONE
    if json:
        output.print_json(_as_json(holds, wanted, found, status))
    else:
        _print(holds, wanted, found)
    raise typer.Exit(status)


@policy_app.command("show")
def show(
    task: Annotated[
        str | None,
        typer.Argument(metavar="TASK", help="Show what both this task and the operator allow.", autocompletion=tasks),
    ] = None,
    policy: PolicyFile = None,
    json: Json = False,
) -> None:
    """Show the policy: the operator's file, and the policy of a task.

    Example: `replaywright admin policy show demo/send_mail.yaml`
    """
    wishes = None if task is None else taskfile.read_task(task).policy
    holds = Effective(operator_of(policy), wishes)
    payload = {who: rules.model_dump(mode="json", exclude_defaults=True) for who, rules in holds.authors}
    if json:
        output.print_json({"policy": payload})
        return
    if not payload:
        message = (
            f"no policy: {SETTING} is not set, and no task says any; a run reaches its own site, with every action"
        )
        output.print_line(message)
    for who, fields in payload.items():
        output.print_line(who, style="bold")
        for name, value in _flat(fields):
            output.print_line(f"  {name}: {value}")
        if set(fields) <= {"name"}:
            output.print_line("  limits nothing")


def operator_of(path: str | None) -> Policy | None:
    """Read the operator's policy from this file, else from the one that the settings name.

    Raises:
        InputInvalid: it is wrong, or not there.
    """
    return operators_policy(load_settings().policy) if path is None else read_policy(path)


def _known_values(task: Task, given: Mapping[str, str]) -> dict[str, str]:
    """Return the values that are given or have defaults; leave the others open.

    Raises:
        InputInvalid: unknown name, or a value that is not of the declared type.
    """
    for name in given:
        if name not in task.parameters:
            known = ", ".join(sorted(task.parameters)) or "none"
            raise InputInvalid(f"--param {name}: task {task.task!r} has no such parameter; it has: {known}")
    values: dict[str, str] = {}
    for name, parameter in task.parameters.items():
        value = given.get(name, parameter.default)
        if value is not None:
            values[name] = checked_value(name, parameter, value)
    return values


def _rows(holds: Effective, task: Task, values: Mapping[str, str]) -> Iterator[_Row]:
    if task.url and not (task.steps and isinstance(task.steps[0], Goto)):
        first = Goto(action="goto", url=task.url)
        yield _Row("url", first, effect_of(action_of(first), None, None), holds.on_step(first, values))
    for each in judged(holds, task.steps, values):
        effect = effect_of(action_of(each.step), each.step.effect, None)
        yield _Row(each.place, each.step, effect, each.refusal)


def _found(holds: Effective, task: Task, values: Mapping[str, str]) -> _Found:
    granted = granted_hosts(load_settings().home)
    rows, hosts = tuple(_rows(holds, task, values)), tuple(named(holds, task, task.steps, values, granted))
    beyond = None
    if all(row.refusal is None for row in rows):
        outer = [row.step for row in rows if "." not in row.place]
        first = before_start(holds, outer, values)
        beyond = None if first is None else first[1]
    return _Found(rows, hosts, beyond)


def _as_json(holds: Effective, task: Task, found: _Found, status: Exit) -> dict[str, Any]:
    return {
        "status": "blocked" if status is Exit.BLOCKED else "allowed",
        "exitStatus": int(status),
        "task": task.task,
        "policies": [who for who, _ in holds.authors],
        "steps": [
            {"place": row.place, "title": row.step.title, "action": row.step.action, "effect": row.effect.value}
            | _verdict(row.refusal)
            for row in found.rows
        ],
        "hosts": [
            {"place": each.place, "url": each.url, "host": each.host} | _verdict(each.refusal) for each in found.hosts
        ],
        "secrets": list(task.secrets),
        "amounts": {name: {"limit": most.value, "rule": most.rule} for name, most in holds.amounts.items()},
        "beyond": None if found.beyond is None else _verdict(found.beyond),
    }


def _verdict(refusal: Refusal | None) -> dict[str, Any]:
    if refusal is None:
        return {"allowed": True, "rule": "", "reason": ""}
    return {"allowed": False, "rule": refusal.rule, "reason": refusal.reason}


def _print(holds: Effective, task: Task, found: _Found) -> None:
    who = ", ".join(name for name, _ in holds.authors) or "no policy: every action, on the task's own site"
    output.print_line(f"task {task.task} against {who}", style="bold")
    steps = [(row.place, row.step.title, row.effect.value, *_verdict_cells(row.refusal)) for row in found.rows]
    output.print_table(("step", "what", "effect", "", "rule"), steps)
    if not task.steps:
        output.print_line("its steps are worked out by the run, and each is decided then")
    if found.hosts:
        hosts = [
            (each.place, each.host or f"decided when it is opened: {each.url}", *_verdict_cells(each.refusal))
            for each in found.hosts
        ]
        output.print_table(("address", "host", "", "rule"), hosts)
    if task.secrets:
        output.print_line(f"secrets: {', '.join(SECRET_PREFIX + name for name in task.secrets)}")
    for name, most in holds.amounts.items():
        output.print_line(f"at most {most.value:g} {name} ({most.rule})")
    if found.beyond is not None:
        output.print_line(f"blocked: {found.beyond.message}", style="magenta")


def _verdict_cells(refusal: Refusal | None) -> tuple[Text, str]:
    if refusal is None:
        return Text("allowed", "green"), ""
    return Text("blocked", "magenta"), refusal.message


def _flat(fields: Mapping[str, Any], within: str = "") -> Iterator[tuple[str, str]]:
    for name, value in fields.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{within}{name}.")
        elif within or name != "name":
            yield f"{within}{name}", ", ".join(map(str, value)) or "none" if isinstance(value, list) else str(value)
