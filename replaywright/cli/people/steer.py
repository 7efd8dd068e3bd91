"""`replaywright pause`, `continue`, `skip`, `retry` and `abort`: steering a run that is under way."""

import asyncio
import sys
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypeVar

import typer
import yaml
from pydantic import ValidationError

from replaywright.cli import output
from replaywright.cli.app import Command, app
from replaywright.cli.people.editor import edited
from replaywright.cli.people.updates import decide, progress_or_fail, require_going, updated, who_asks
from replaywright.cli.runs.follow import handle_of
from replaywright.cli.runs.runs import Run, find_run, tell
from replaywright.cli.servers.connect import place, require_somewhere
from replaywright.cli.tasks.taskfile import read_data
from replaywright.domain.base import Record
from replaywright.domain.questions import Question, QuestionKind
from replaywright.domain.runs import PersonVerdict
from replaywright.domain.steering import EditStep, Said, SkipStep
from replaywright.errors import InputInvalid
from replaywright.settings import load_settings
from replaywright.yaml_files import parse_yaml

_ASKED = {"go_on": "continue"}
"""Commands whose update has another name."""
_EDITED = "the edited step"

_Answer = TypeVar("_Answer")

Why = Annotated[str, typer.Option(metavar="TEXT", help="The reason; kept with the run.")]
Once = Annotated[
    str, typer.Option("--id", metavar="ID", help="A name of your own for this request: repeated, it is done once.")
]


@app.command(cls=Command)
def pause(*, run: Run, why: Why = "", once: Once = "") -> None:
    """Pause a run before its next step begins, however long; its browser is given back meanwhile.

    Example: `replaywright pause latest --why "the site is being changed"`
    """
    said = asyncio.run(_steered(run, "pause", _said(why), once, str))
    output.print_line(f"{said}; `replaywright continue` lets it go on", style="yellow")


@app.command("continue", cls=Command)
def go_on(*, run: Run, why: Why = "", once: Once = "") -> None:
    """Let a paused run go on where it was.

    Example: `replaywright continue latest`
    """
    asyncio.run(_steered(run, "go_on", _said(why), once, type(None)))
    output.print_line("the run goes on", style="green")


@app.command(cls=Command)
def skip(
    *,
    run: Run,
    step: Annotated[int | None, typer.Option(min=1, help="Its number; else the failed one, or the next.")] = None,
    consequences: Annotated[
        bool, typer.Option("--consequences", help="The step has consequences, and these are to be missing.")
    ] = False,
    why: Why = "",
    once: Once = "",
) -> None:
    """Leave a step out: the one that failed and that the run asks about, or one that has not begun.

    A step with consequences is left out only with --consequences, and if it failed, not at all: say whether it is done
    (`replaywright answer RUN done`), or abort.

    Example: `replaywright skip latest --step 4 --why "the survey is gone"`
    """
    asyncio.run(_skip(run, step, consequences=consequences, why=why, once=once))


@app.command(cls=Command)
def abort(*, run: Run, why: Why = "", once: Once = "") -> None:
    """End a run as failed, with the reason `aborted`: what is under way is cancelled, the browser is closed.

    What was done on the site stays done; `replaywright resume` goes on after it.

    Example: `replaywright abort latest --why "the order was withdrawn"`
    """
    asyncio.run(_steered(run, "abort", _said(why), once, type(None)))
    output.print_line("the run ends, as aborted", style="yellow")


@app.command(cls=Command)
def retry(
    *,
    run: Run,
    edit: Annotated[bool, typer.Option("--edit", help="Change the step in $EDITOR first.")] = False,
    file: Annotated[
        str | None,
        typer.Option("--file", metavar="FILE", help="YAML or JSON with the step as it is to be."),
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="FIELD=VALUE", help="Change one field, such as instruction or target.name."),
    ] = None,
    why: Why = "",
    once: Once = "",
) -> None:
    """Perform the step that failed once more; with --edit, --file or --set as another one.

    What was done before is not done again. A changed step is checked as in a task file, and its policy and effect are
    decided anew; the task itself stays as it is.

    Example: `replaywright retry latest --set instruction="the button Place order"`
    """
    if sum((edit, file is not None, bool(changes))) > 1:
        raise InputInvalid("say one of --edit, --file and --set, or none to do the step as it is")
    asyncio.run(_retry(run, edit=edit, file=file, changes=changes or [], said=_said(why), once=once))


async def _steered(run: str, update: str, said: Record, once: str, answer: type[_Answer]) -> _Answer:
    settings = load_settings()
    require_somewhere(settings)
    async with place(settings, tell=tell) as here:
        execution = await find_run(here, run)
        await require_going(here, execution.id, _ASKED.get(update, update))
        return await updated(here, execution.id, update, said, answer, once=once)


async def _skip(run: str, step: int | None, *, consequences: bool, why: str, once: str) -> None:
    settings = load_settings()
    require_somewhere(settings)
    async with place(settings, tell=tell) as here:
        run_id = (await find_run(here, run)).id
        await require_going(here, run_id, "skip")
        progress = await progress_or_fail(here, run_id)
        question = progress.question
        if question is not None and step in (None, question.sequence + 1):
            if "skip" not in question.answers:
                raise InputInvalid(
                    f"{run_id}: step {question.sequence + 1} cannot be left out: answer {', '.join(question.answers)}"
                )
            await decide(here, run_id, _verdict(question, "skip", why))
            output.print_line(f"step {question.sequence + 1} is left out", style="green")
            return
        next_one = progress.step if progress.status == "paused" else progress.step + 1
        sequence = next_one if step is None else step - 1
        asked = SkipStep(sequence=sequence, consequences=consequences, who=who_asks(), why=why)
        await updated(here, run_id, "skip_step", asked, type(None), once=once)
    output.print_line(f"step {sequence + 1} will be left out", style="green")


async def _retry(run: str, *, edit: bool, file: str | None, changes: Sequence[str], said: Said, once: str) -> None:
    settings = load_settings()
    require_somewhere(settings)
    async with place(settings, tell=tell) as here:
        run_id = (await find_run(here, run)).id
        await require_going(here, run_id, "retry")
        question = (await progress_or_fail(here, run_id)).question
        if question is None or "retry" not in question.answers:
            raise InputInvalid(
                f"{run_id}: no step waits to be done again; `replaywright show {run_id}` says where it is"
            )
        number = question.sequence + 1
        if not (edit or file or changes):
            await decide(here, run_id, _verdict(question, "retry", said.why))
            output.print_line(f"step {number} is performed again", style="green")
            return
        if question.kind is not QuestionKind.FAILED:
            raise InputInvalid(f"{run_id}: step {number} may have taken effect: only a step that failed can be changed")
        now = await handle_of(here.client, run_id).query("step_written", question.sequence, result_type=dict[str, Any])
        text = "" if not edit else _as_yaml(now, question)
        while True:
            step = _given(now, text, file, changes, edit=edit)
            asked = EditStep(sequence=question.sequence, step=step, question=question.id, who=said.who, why=said.why)
            try:
                await updated(here, run_id, "edit_step", asked, type(None), once=once)
            except InputInvalid as exc:
                if not (edit and sys.stdin.isatty()):
                    raise
                output.say_error(str(exc))
                if not typer.confirm("change it once more?", default=True):
                    raise
                text = _as_yaml(step, question)
                continue
            output.print_line(f"step {number} is performed as you have changed it", style="green")
            return


def _given(
    now: Mapping[str, Any], text: str, file: str | None, changes: Sequence[str], *, edit: bool
) -> dict[str, Any]:
    """The step as the caller wants it."""
    if edit:
        after = edited(text, suffix=".yaml")
        if after is None:
            raise InputInvalid("nothing was changed; without --edit the step is performed as it is")
        data, source = parse_yaml(after, _EDITED), _EDITED
    elif file is not None:
        data, source = read_data(file)
    else:
        data, source = with_changes(now, changes), "--set"
    if not isinstance(data, dict) or not all(isinstance(name, str) for name in data):
        raise InputInvalid(f"{source}: expected one step, a mapping with action and instruction")
    return data


def with_changes(now: Mapping[str, Any], changes: Sequence[str]) -> dict[str, Any]:
    """The step with `field=value` pairs; `target.name=…` changes a field within a field, an empty value removes one.

    Raises:
        InputInvalid: a pair without `=`, or a value that is no YAML.
    """
    step = dict(now)
    for change in changes:
        path, equals, text = change.partition("=")
        if not equals or not path.strip():
            raise InputInvalid(f"--set {change!r}: expected field=value")
        value = parse_yaml(text, f"--set {path}")
        if isinstance(value, dict) and not text.lstrip().startswith("{"):  # a text with a colon in it
            value = text.strip()
        name, dot, inner = path.strip().partition(".")
        if dot:
            within = step.get(name)
            value = {**(within if isinstance(within, dict) else {}), inner: value}
        if value is None:
            step.pop(name, None)
        else:
            step[name] = value
    return step


def _as_yaml(step: Mapping[str, Any], question: Question) -> str:
    lines = [f"# {line}" for line in question.text.splitlines()]
    return "\n".join([*lines, "# The step as a task file has it:", yaml.safe_dump(dict(step), allow_unicode=True)])


def _verdict(question: Question, verdict: str, why: str) -> PersonVerdict:
    told = {"sequence": question.sequence, "verdict": verdict, "who": who_asks(), "why": why, "question": question.id}
    return PersonVerdict.model_validate(told)


def _said(why: str) -> Said:
    try:
        return Said(who=who_asks(), why=why)
    except ValidationError as exc:
        raise InputInvalid(f"--why has {len(why)} characters, and may have 1000") from exc
