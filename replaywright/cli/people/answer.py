"""`replaywright answer`: list what waits, show what a run waits for, and answer it."""

import asyncio
import sys
from dataclasses import dataclass
from typing import Annotated, Any, get_args

import typer

from replaywright.cli import output
from replaywright.cli.app import app
from replaywright.cli.completion import runs
from replaywright.cli.options import Once, Why
from replaywright.cli.people.asking_here import lines_of
from replaywright.cli.people.changed_step import ChangeOptions, changed
from replaywright.cli.people.inbox import ListOptions, list_waiting
from replaywright.cli.people.updates import (
    by_user,
    decide,
    nothing_asked,
    progress_or_fail,
    under_way,
    updated,
    user_name,
    verdict_on,
)
from replaywright.cli.runs.follow import handle_of
from replaywright.cli.servers.connect import Backend
from replaywright.domain.run.runs import Progress
from replaywright.domain.run.steering import EditStep, SkipStep
from replaywright.domain.task.questions import MEANS, VALUE_LIMIT, Question, QuestionKind, Verdict, answer_command
from replaywright.errors import InputInvalid
from replaywright.yaml_files import read_text


@dataclass(frozen=True)
class AnswerOptions:
    """Options that give the value of an answer."""

    value: Annotated[
        str, typer.Option("--value", metavar="TEXT", help="For `answer`: the value, where words are wanted.")
    ] = ""
    value_file: Annotated[
        str,
        typer.Option(
            "--value-file",
            metavar="FILE",
            help="For `answer`: read the value from a file, or from standard input with `-`.",
        ),
    ] = ""


@dataclass(frozen=True)
class StepOptions:
    """Options that name a step."""

    step: Annotated[
        int | None,
        typer.Option(
            "--step",
            metavar="N",
            min=1,
            help="Answer this step only. For `skip`, also one that has not begun.",
        ),
    ] = None
    consequences: Annotated[
        bool,
        typer.Option("--consequences", help="For `skip`: skip a step even if it has consequences."),
    ] = False


@app.command()
def answer(
    *,
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN",
            help="Id of the run, a unique beginning or end of it, or `latest`; without it, all that waits is listed.",
            autocompletion=runs,
        ),
    ] = "",
    answer: Annotated[
        str, typer.Argument(metavar="ANSWER", help="An answer that the run takes; without it, the question is shown.")
    ] = "",
    given: AnswerOptions,
    change: ChangeOptions,
    which: StepOptions,
    why: Why = "",
    once: Once = "",
    listing: ListOptions,
) -> None:
    """Answer the question of a run; without ANSWER, show the question; without RUN, list the runs that wait.

    The list has the question, the start, the deadline and the command to answer. Text of the site is marked as a quote:
    a page may say anything to influence a decision.

    A step in doubt takes done, not_done, retry or abandon. Look at the site first: a mail that was sent and is declared
    not_done is sent again. A failed step takes retry, done, skip or abandon; an approval takes approve or refuse; a
    paused run takes continue. `skip --step N` skips a later step. The user and the reason are recorded.

    A changed step (`retry` with --edit, --file or --set) is checked as in a task file; the task stays unchanged. A code
    is never given on the command line, where the shell and other users see it: it is prompted for, or read with
    `--value-file`, and leaves this command sealed, so that neither Temporal nor Redis has it.

    Example: `replaywright answer --pictures /tmp/waiting`

    Example: `replaywright answer latest done --step 10 --why "it is in the Sent folder"`

    Example: `replaywright answer latest retry --set instruction="the button Place order"`
    """
    if not run:
        list_waiting(listing)
        return
    if listing.is_wanted:
        raise InputInvalid("--pictures, --open, --watch and --json belong to the list of what waits: leave RUN out")
    if given.value and given.value_file:
        raise InputInvalid("say --value or --value-file, not both")
    change.check()
    wanted = answer.replace("-", "_") or ("answer" if given.value or given.value_file else "")
    if change.is_wanted and wanted != "retry":
        raise InputInvalid("--edit, --file and --set belong to the answer `retry`")
    asyncio.run(_answer(run, _Wish(wanted, given, change, which, why, once)))


@dataclass(frozen=True)
class _Wish:
    """Answer of the caller to a run."""

    answer: str
    given: AnswerOptions
    change: ChangeOptions
    which: StepOptions
    why: str
    once: str


async def _answer(run: str, wish: _Wish) -> None:
    async with under_way(run, "answer") as (here, run_id):
        progress = await progress_or_fail(here, run_id)
        question = progress.question
        is_of_question = question is not None and wish.which.step in (None, question.sequence + 1)
        if not wish.answer:
            _show(run_id, progress)
        elif wish.answer == "continue":
            await updated(here, run_id, "go_on", by_user(wish.why), type(None), once=wish.once)
            output.print_line(MEANS["continue"], style="green")
        elif wish.answer == "skip" and not is_of_question:
            await _skip(here, run_id, progress, wish)
        elif question is None:
            raise nothing_asked(run_id, progress)
        elif not is_of_question:
            raise InputInvalid(f"--step {wish.which.step}: {run_id} waits at step {question.sequence + 1}")
        elif wish.change.is_wanted:
            await _change(here, run_id, question, wish)
        else:
            await _decide(here, run_id, question, wish)


def _show(run_id: str, progress: Progress) -> None:
    """Print the question of the run and its possible answers."""
    question = progress.question
    answers: tuple[str, ...]
    if question is not None:
        lines, answers = lines_of(question), question.answers
    elif progress.status == "paused":
        lines, answers = [progress.waiting_for], ("continue", "skip")
    else:
        raise nothing_asked(run_id, progress)
    for line in lines:
        output.print_line(line)
    for each in answers:
        output.print_line(f"  {each:<9} {MEANS[each]}")
    output.print_line(answer_command(run_id, answers), style="dim")


async def _decide(here: Backend, run_id: str, question: Question, wish: _Wish) -> None:
    verdict = chosen(question, wish.answer)
    text = _text(question, verdict, wish.given)
    await decide(here, run_id, verdict_on(run_id, question, verdict, text, who=user_name(), why=wish.why))
    output.print_line(f"step {question.sequence + 1} answered: {MEANS[verdict]}", style="green")


async def _skip(here: Backend, run_id: str, progress: Progress, wish: _Wish) -> None:
    """Skip a step that has not begun."""
    next_one = progress.step if progress.status == "paused" else progress.step + 1
    sequence = next_one if wish.which.step is None else wish.which.step - 1
    asked = SkipStep(sequence=sequence, consequences=wish.which.consequences, **by_user(wish.why).model_dump())
    await updated(here, run_id, "skip_step", asked, type(None), once=wish.once)
    output.print_line(f"step {sequence + 1} will be left out", style="green")


async def _change(here: Backend, run_id: str, question: Question, wish: _Wish) -> None:
    """Retry the failed step with the user's changes."""
    chosen(question, "retry")
    number = question.sequence + 1
    if question.kind is not QuestionKind.FAILED:
        raise InputInvalid(f"{run_id}: step {number} may have taken effect: only a step that failed can be changed")
    author = by_user(wish.why).model_dump()
    now = await handle_of(here.client, run_id).query("step_written", question.sequence, result_type=dict[str, Any])

    async def take(step: dict[str, Any]) -> None:
        asked = EditStep(sequence=question.sequence, step=step, question=question.id, **author)
        await updated(here, run_id, "edit_step", asked, type(None), once=wish.once)

    await changed(now, question, wish.change, take)
    output.print_line(f"step {number} is performed as you have changed it", style="green")


def chosen(question: Question, wanted: str) -> Verdict:
    """Return the named answer.

    Raises:
        InputInvalid: the question does not accept it; says which answers it takes.
    """
    found: Verdict | None = next((one for one in get_args(Verdict) if one == wanted), None)
    if found is None or found not in question.answers:
        asked = "\n".join(lines_of(question))
        raise InputInvalid(f"{wanted!r}: the question takes {', '.join(question.answers)}: {asked}")
    return found


def _text(question: Question, verdict: Verdict, given: AnswerOptions) -> str:
    is_code, is_given = question.wants == "code", bool(given.value or given.value_file)
    if verdict == "answer" and given.value and is_code:
        raise InputInvalid(
            "--value: a code on the command line is seen by the shell's history and by other users; leave it out to be "
            "asked for it, or give it with --value-file"
        )
    if verdict == "answer" and not is_given:
        return checked_value(verdict, _prompted(question, is_code=is_code))
    return checked_value(verdict, given.value or (_read(given.value_file) if given.value_file else ""))


def checked_value(verdict: Verdict, text: str) -> str:
    """Return the value that goes with an answer.

    Raises:
        InputInvalid: it is missing, too long, or belongs to no such answer.
    """
    if verdict != "answer":
        if text:
            raise InputInvalid(f"a value belongs to the answer `answer`, not to {verdict}")
        return ""
    if not text.strip():
        raise InputInvalid("the value is empty: nothing was sent")
    if len(text) > VALUE_LIMIT:
        raise InputInvalid(f"the value has {len(text)} characters, and may have {VALUE_LIMIT}: nothing was sent")
    return text


def _read(name: str) -> str:
    """Read the file without the line break at its end."""
    text = read_text(name, f"--value-file {name!r}")
    return text.removesuffix("\n").removesuffix("\r")


def _prompted(question: Question, *, is_code: bool) -> str:
    if not sys.stdin.isatty():
        raise InputInvalid("there is no terminal to ask for the value: give it with --value-file")
    for line in lines_of(question):
        output.print_line(line)
    return str(typer.prompt("code" if is_code else "answer", hide_input=is_code))
