"""`replaywright edit`: a task's steps beside its page, done one at a time and changed where they fail."""

from typing import Annotated

import typer

from replaywright.cli import output
from replaywright.cli.app import app
from replaywright.cli.completion import tasks
from replaywright.cli.options import Port, ValueOptions
from replaywright.cli.record.edit_session import edited
from replaywright.cli.record.held_run import values_of
from replaywright.cli.record.record import file_called
from replaywright.cli.runs.run import mention_secrets
from replaywright.cli.runs.starting import refuse_what_is_blocked
from replaywright.cli.servers.connect import backend_exists, open_working_backend
from replaywright.cli.tasks import taskfile
from replaywright.recording.edited_task import Draft
from replaywright.settings import load_settings
from replaywright.yaml_files import read_text


@app.command()
async def edit(
    *,
    task: Annotated[
        str, typer.Argument(metavar="TASK", help="Task file, or name of a recorded task.", autocompletion=tasks)
    ],
    given: ValueOptions,
    port: Port = 0,
) -> None:
    """Edit a task beside its page: run to a step, step, pick another element, insert, delete, save.

    The steps are done by a run without a model, in the live view; one with consequences only at your word.
    Values that are not given are those of the recording.

    Example: `replaywright edit send-mail`
    """
    file = file_called(task)
    draft = Draft(read_text(file, file), file)
    values = taskfile.read_parameters(given.param or [], given.params)
    settings = load_settings()
    refuse_what_is_blocked(settings, draft.task, values_of(draft.task, values))
    if not backend_exists(settings):
        taskfile.require_secrets(draft.task, values, settings.home)
    async with open_working_backend(settings, tell=output.print_progress) as here:
        mention_secrets(draft.task, values, here, output.print_progress)
        await edited(here, draft, values, port)
