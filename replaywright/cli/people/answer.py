"""`replaywright answer`: say to a run what it asks."""

import asyncio
import sys
from typing import Annotated, get_args

import typer

from replaywright.cli import output
from replaywright.cli.app import Command, app
from replaywright.cli.people.asking_here import lines_of
from replaywright.cli.people.updates import decide, question_of, verdict_on, who_asks
from replaywright.cli.runs.runs import Run, find_run, tell
from replaywright.cli.servers.connect import place, require_somewhere
from replaywright.domain.questions import VALUE_LIMIT, Question, Verdict
from replaywright.errors import InputInvalid
from replaywright.settings import load_settings
from replaywright.yaml_files import read_text

_SAID = {
    "abandon": "the run ends here, as failed",
    "refuse": "the run ends here, and nothing of it is done",
    "approve": "the run goes on",
    "answer": "the run goes on with it",
    "solved": "the run goes on",
    "not_done": "the run performs the step again",
    "retry": "the run performs the step again",
    "redo": "the run performs the step again",
}


@app.command(cls=Command)
def answer(
    *,
    run: Run,
    verdict: Annotated[
        str, typer.Argument(metavar="ANSWER", help="One of those that the question takes; `inbox` says which.")
    ] = "",
    value: Annotated[str, typer.Option(metavar="TEXT", help="What you say, where words are wanted.")] = "",
    value_file: Annotated[
        str, typer.Option(metavar="FILE", help="Read that from a file, or from standard input with `-`.")
    ] = "",
    why: Annotated[str, typer.Option(metavar="TEXT", help="What you saw; kept with the run.")] = "",
) -> None:
    """Answer the question that a run waits with.

    A code is never given on the command line, where the shell and other users see it: it is asked for, or read with
    `--value-file`, and leaves this command sealed, so that neither Temporal nor Redis has it.

    Example: `replaywright answer latest approve --why "the amount is right"`
    """
    if value and value_file:
        raise InputInvalid("say --value or --value-file, not both")
    asyncio.run(_answer(run, verdict, value, value_file, why))


async def _answer(run: str, wanted: str, value: str, value_file: str, why: str) -> None:
    settings = load_settings()
    require_somewhere(settings)
    async with place(settings, tell=tell) as here:
        execution = await find_run(here, run)
        question = await question_of(here, execution.id)
        verdict = _chosen(question, wanted or ("answer" if value or value_file else ""))
        text = _text(question, verdict, value, value_file)
        await decide(here, execution.id, verdict_on(execution.id, question, verdict, text, who=who_asks(), why=why))
    output.print_line(
        f"step {question.sequence + 1} answered: {_SAID.get(verdict, 'the run goes on after it')}", style="green"
    )


def _chosen(question: Question, wanted: str) -> Verdict:
    """The answer that was named; where only a value can be meant, that."""
    verdict = wanted.replace("-", "_") or ("answer" if "answer" in question.answers and sys.stdin.isatty() else "")
    found: Verdict | None = next((one for one in get_args(Verdict) if one == verdict), None)
    if found is None or found not in question.answers:
        asked = "\n".join(lines_of(question))
        raise InputInvalid(f"{wanted or 'no answer'!r}: the question takes {', '.join(question.answers)}: {asked}")
    return found


def _text(question: Question, verdict: Verdict, value: str, value_file: str) -> str:
    if verdict != "answer":
        if value or value_file:
            raise InputInvalid(f"a value belongs to the answer `answer`, not to {verdict}")
        return ""
    is_code = question.wants == "code"
    if value and is_code:
        raise InputInvalid(
            "--value: a code on the command line is seen by the shell's history and by other users; leave it out to be "
            "asked for it, or give it with --value-file"
        )
    text = value or (_read(value_file) if value_file else _prompted(question, is_code=is_code))
    if not text.strip():
        raise InputInvalid("the value is empty: nothing was sent")
    if len(text) > VALUE_LIMIT:
        raise InputInvalid(f"the value has {len(text)} characters, and may have {VALUE_LIMIT}: nothing was sent")
    return text


def _read(name: str) -> str:
    """The text of the file without the line break at its end."""
    text = read_text(name, f"--value-file {name!r}")
    return text.removesuffix("\n").removesuffix("\r")


def _prompted(question: Question, *, is_code: bool) -> str:
    if not sys.stdin.isatty():
        raise InputInvalid("there is no terminal to ask for the value: give it with --value-file")
    for line in lines_of(question):
        output.print_line(line)
    return str(typer.prompt("code" if is_code else "answer", hide_input=is_code))
