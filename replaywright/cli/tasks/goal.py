"""`replaywright run` with a sentence instead of a task file."""

from collections.abc import Sequence
from pathlib import Path

from replaywright.cli.tasks import taskfile
from replaywright.domain.common.urls import origin_of
from replaywright.domain.plan.goal_runs import SkillUse
from replaywright.domain.task.tasks import Task, parse_task
from replaywright.errors import InputInvalid

_FILE_ENDINGS = (".yaml", ".yml", ".json")
_MESSAGES = {
    "recalled": "replayed the skill {name}, version {version}",
    "learned": "learned the skill {name}, version {version}",
    "relearned": "learned the skill {name} again: version {version}",
}


def task_or_goal(given: str, *, url: str | None, secrets: Sequence[str]) -> Task:
    """Read the task of a file, or make one of a sentence.

    Raises:
        InputInvalid: an unreadable file; a sentence without a page to start on; options that a file has no use for.
    """
    if is_file(given):
        option = "--url" if url is not None else "--secret" if secrets else ""
        if option:
            raise InputInvalid(f"{option}: {given!r} is a task file, which says so itself; it belongs to a sentence")
        return taskfile.read_task(given)
    if not given.strip():
        raise InputInvalid("TASK is empty: name a task file, or say what to do")
    if url is None:
        raise InputInvalid(
            f"there is no file {given[:80]!r}; to have a sentence done, say with --url where the task starts"
        )
    return task_of_sentence(given, url=url, secrets=secrets)


def task_of_sentence(sentence: str, *, url: str, secrets: Sequence[str]) -> Task:
    """Make the task of a sentence.

    Raises:
        InputInvalid: it has braces, or does not begin on a page.
    """
    if not origin_of(url):
        raise InputInvalid(f"--url {url!r}: expected the address of a page, such as http://127.0.0.1:8025")
    if any(brackets in sentence for brackets in ("{{", "}}")):
        raise InputInvalid(
            f"{sentence[:80]!r} has {{{{ or }}}}, which belong to task files: write the values themselves"
        )
    return parse_task({"task": "goal", "goal": sentence.strip(), "url": url, "secrets": list(secrets)}, "the sentence")


def is_file(given: str) -> bool:
    """Tell whether the argument of `run` names a file."""
    return given == "-" or given.lower().endswith(_FILE_ENDINGS) or _exists(given)


def refuse_for_steps(task: Task, *, fresh: bool, no_wait: bool) -> None:
    """Check that options about learning are given only for a task without steps.

    Raises:
        InputInvalid: the task lists its steps.
    """
    option = "--fresh" if fresh else "--no-wait" if no_wait else ""
    if task.steps and option:
        raise InputInvalid(f"{option}: task {task.task!r} lists its steps, so that nothing is recalled or learned")


def told(skill: SkillUse) -> str:
    """Describe the run's use of its skill."""
    return _MESSAGES[skill.how].format(name=skill.name, version=skill.version)


def _exists(given: str) -> bool:
    try:
        return Path(given).is_file()
    except OSError:  # longer than a path may be
        return False
