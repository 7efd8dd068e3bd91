"""Calls that an agent may make, as models: each is the schema of a tool, and checks its arguments."""

from typing import Annotated, Any, Literal, TypeAlias, TypeVar

from pydantic import Field, JsonValue, ValidationError

from replaywright.domain.common.base import Authored
from replaywright.domain.common.elsewhere import TASK_LIMIT
from replaywright.domain.run.scope import Mode
from replaywright.domain.task.mistakes import mistakes_of
from replaywright.domain.task.questions import VALUE_LIMIT
from replaywright.yaml_files import checked

WAIT_S = 45.0
"""Default time that a call waits for its run: clients give up after 60 seconds, as a rule."""
_WAIT_LIMIT_S = 3_600.0

_Call = TypeVar("_Call", bound="ToolCall")
RunId: TypeAlias = Annotated[str, Field(min_length=1, max_length=255, description="`runId` of an earlier result.")]
WaitS: TypeAlias = Annotated[
    float,
    Field(
        ge=0,
        le=_WAIT_LIMIT_S,
        description="Seconds to wait for the end of the run, or for a question. Then the call returns, the run goes "
        "on, and run_status takes it up again.",
    ),
]
Secrets: TypeAlias = Annotated[
    tuple[Annotated[str, Field(max_length=100)], ...],
    Field(
        max_length=50, description="Names of secrets that may be entered. Never a value: the operator has set those."
    ),
]
Values: TypeAlias = Annotated[
    dict[str, str | tuple[str, ...]], Field(description="Values of the task's parameters, by name.")
]
Why: TypeAlias = Annotated[str, Field(max_length=1_000, description="The reason; it is kept.")]


class ToolCall(Authored):
    """Arguments of a tool."""


class StartingCall(ToolCall):
    """Arguments of a tool that starts a run."""

    request_id: str = Field(
        min_length=1,
        max_length=200,
        description="An id of your own for this request, such as an order number or a new UUID. A call that is "
        "repeated with it never starts a second run: it takes up the first one.",
    )
    wait_s: WaitS = WAIT_S


class RunSkill(StartingCall):
    """Replay a skill. Its tool's schema has the parameters of the skill."""

    values: Values = Field(default_factory=dict)


class AskedSkill(ToolCall):
    """Input of the Nexus operation `run`: a skill by its name."""

    skill: str = Field(min_length=1, max_length=200)
    request_id: str = Field(min_length=1, max_length=190)
    """Shorter than a call's, which says in addition where it came from."""
    values: Values = Field(default_factory=dict)


class RunTask(StartingCall):
    """Run a task file. Elements without a `target` are found by a model once and then remembered.

    Write one where no skill does what is wanted and the steps are known; the guide (resource `replaywright://guide`)
    says how.
    """

    task: str = Field(min_length=1, max_length=TASK_LIMIT, description="Text of the task file, YAML or JSON.")
    values: Values = Field(default_factory=dict)
    mode: Mode = Field(
        Mode.AUTO, description="auto: recordings, then healing, then a model. replay: never a model. learn: model only."
    )


class LearnTask(StartingCall):
    """Have a sentence done: replayed with a skill that means it, else learned by a model, which then is a new skill.

    What was learned and verified is a tool of its own afterwards. A press with consequences that a model chose waits
    for a person.
    """

    sentence: str = Field(
        min_length=1, max_length=VALUE_LIMIT, description="One task in one sentence, with all its values, in quotes."
    )
    url: str = Field(max_length=2_000, description="Address of the page that the task starts on.")
    secrets: Secrets = ()
    fresh: bool = Field(False, description="True: learn it, whatever skill there is.")


class FindSkill(ToolCall):
    """Find the skill that a sentence means, with the values that it names. Nothing is run, no model is asked."""

    sentence: str = Field(min_length=1, max_length=VALUE_LIMIT, description="The task, in any language.")
    url: str = Field(max_length=2_000, description="Address of the page that the task would start on.")
    secrets: Secrets = ()


class RunStatus(ToolCall):
    """Tell how a run stands, or wait for its end: takes up a call that was cut off, by either id."""

    run_id: str = Field("", max_length=255, description="`runId` of an earlier result.")
    request_id: str = Field("", max_length=200, description="Or the `request_id` that it was started with.")
    wait_s: WaitS = 0.0


class RunReport(ToolCall):
    """Tell what each step of a run did and how its element was found, with addresses of the pictures."""

    run_id: RunId


class ListWaiting(ToolCall):
    """List the runs that wait for an answer, with the question and the answers that may be given here."""


class AnswerQuestion(ToolCall):
    """Answer the question of a run. What only a person may decide is refused: ask one, and tell them the run's id."""

    run_id: RunId
    question: str = Field(min_length=1, max_length=100, description="`id` of the question that is answered.")
    answer: str = Field(min_length=1, max_length=20, description="One of the question's answers.")
    value: str = Field("", max_length=VALUE_LIMIT, description="For `answer`: what is said. Never a password or code.")
    why: Why = ""


class CancelRun(ToolCall):
    """End a run. What was done on the site stays; the result names what was sent and what is in doubt."""

    run_id: RunId
    why: Why = ""


class ResumeRun(ToolCall):
    """Go on after a run that failed, was cancelled or timed out. Steps that were done are not done again.

    Repeated for the same run, it takes up the run that it started the first time.
    """

    run_id: RunId
    task: str = Field(
        "", max_length=TASK_LIMIT, description="Corrected task file of the same name; empty: the task of the run."
    )
    values: Values = Field(default_factory=dict)
    wait_s: WaitS = WAIT_S


Change: TypeAlias = Literal["reads", "acts", "ends"]
"""`reads`: changes nothing. `acts`: may change something on the site. `ends`: takes something away."""

TOOLS: dict[str, tuple[type[ToolCall], Change]] = {
    "find_skill": (FindSkill, "reads"),
    "run_task": (RunTask, "acts"),
    "learn_task": (LearnTask, "acts"),
    "run_status": (RunStatus, "reads"),
    "run_report": (RunReport, "reads"),
    "list_waiting": (ListWaiting, "reads"),
    "answer_question": (AnswerQuestion, "acts"),
    "cancel_run": (CancelRun, "ends"),
    "resume_run": (ResumeRun, "acts"),
}
"""Tools beside the skills. Each name has an underscore, which no skill's name has."""


def parsed(model: type[_Call], tool: str, arguments: dict[str, JsonValue] | None) -> _Call:
    """Return the arguments of a call.

    Raises:
        InputInvalid: all that is wrong with them.
    """
    try:
        return model.model_validate(checked(arguments or {}, tool))
    except ValidationError as exc:
        raise mistakes_of(exc, model, tool, whole="the arguments") from exc


def schema_of_call(model: type[ToolCall]) -> dict[str, Any]:
    """Return the schema of a tool's arguments, without what a reader of the tool is told elsewhere."""
    schema: dict[str, Any] = _untitled(model.model_json_schema())
    schema.pop("description", None)
    return schema


def _untitled(schema: Any) -> Any:
    match schema:
        case dict():
            return {
                name: _untitled(each) for name, each in schema.items() if name != "title" or not isinstance(each, str)
            }
        case list():
            return [_untitled(each) for each in schema]
        case _:
            return schema
