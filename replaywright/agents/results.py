"""Results of calls: few facts in words of ours, and all that may come from a page fenced as data.

What pages, models and tasks say stands in `fromPages` alone, between the markers that prompts of models use, too.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote

from pydantic import JsonValue

from replaywright.agents.permissions import AgentGrant, permitted
from replaywright.cli.people.asking_here import lines_of
from replaywright.cli.runs.follow import Ending
from replaywright.cli.runs.watching import failure_lines
from replaywright.domain.common.text import plain, shorten
from replaywright.domain.run.remedies import remedy_of, shows_steps
from replaywright.domain.run.runs import Progress, RunResult, Totals
from replaywright.domain.task.questions import Question
from replaywright.domain.trace.run_view import RunView
from replaywright.domain.trace.saying import how_found
from replaywright.llm.prompts import DATA_IN_PAGE, fenced, sections
from replaywright.reports.loading import pictures_of

SCHEME = "replaywright://"
_LINE_LIMIT = 500
_PAGE_LIMIT = 8_000
"""Characters of what comes from pages in one result."""
_STEPS_TOLD = 60
_PICTURES_TOLD = 8


@dataclass(frozen=True)
class ResourceLink:
    """Address of a resource."""

    uri: str
    name: str
    mime_type: str


@dataclass(frozen=True)
class Result:
    """Result of a call."""

    facts: dict[str, JsonValue]
    """In words of ours, but for `fromPages`."""
    links: tuple[ResourceLink, ...] = ()
    from_pages: Sequence[str] = field(default=())
    """Lines that may hold text of pages, tasks and models."""

    @property
    def data(self) -> dict[str, JsonValue]:
        """The facts, with the lines as one fenced text."""
        return self.facts | ({"fromPages": as_data(self.from_pages)} if self.from_pages else {})

    @property
    def text(self) -> str:
        """The same as JSON."""
        return json.dumps(self.data, ensure_ascii=False)


def as_data(lines: Iterable[str]) -> str:
    """Fence lines, so that a reader takes them for data: one line each, of limited length, none of them a marker."""
    told = shorten("\n".join(shorten(plain(line), _LINE_LIMIT) for line in lines), _PAGE_LIMIT)
    return f"{DATA_IN_PAGE}\n{sections({'page': told})}"


def refusal(message: str) -> dict[str, JsonValue]:
    """Make the result of a call that was refused; a name or title in the message cannot open or end a fence."""
    return {"status": "refused", "message": fenced(plain(message))}


def run_uri(run_id: str, *parts: str) -> str:
    """Return the address of a resource of a run."""
    return SCHEME + "/".join(("runs", quote(run_id, safe=""), *parts))


def report_link(run_id: str) -> ResourceLink:
    """Return the address of the report."""
    return ResourceLink(run_uri(run_id, "report"), "report, HTML for a person: it shows what pages showed", "text/html")


def picture_link(run_id: str, digest: str, name: str) -> ResourceLink:
    """Return the address of a picture."""
    return ResourceLink(run_uri(run_id, "pictures", digest), name, "image/png")


def standing(run_id: str, now: Ending | Progress | None, grants: frozenset[AgentGrant]) -> Result:
    """Tell how a run stands; see `following.followed`."""
    match now:
        case None:
            remedy = "no worker answers: `replaywright up` starts one, and the run goes on; run_status takes it up"
            return Result({"runId": run_id, "status": "silent", "next": remedy})
        case Progress():
            facts = _counts(run_id, now.status, now.totals) | {"step": now.step, "steps": now.steps}
            paused = "a person paused it; only a person lets it go on" if now.status == "paused" else ""
            going = "the run goes on; run_status with `wait_s` waits for its end"
            return Result(facts | {"next": paused or going}, from_pages=[now.doing] if now.doing else ())
        case Ending(status="waiting", progress=Progress(question=Question() as question)):
            return _asking(run_id, now.result.totals, question, grants)
        case Ending():
            return _ended(run_id, now)


def question_facts(run_id: str, question: Question, grants: frozenset[AgentGrant]) -> dict[str, JsonValue]:
    """Return what is ours of a question: kind, answers, times."""
    may: list[JsonValue] = [*permitted(question, grants)]
    by_person: list[JsonValue] = [answer for answer in question.answers if answer not in may]
    return {
        "runId": run_id,
        "question": {
            "id": question.id,
            "kind": question.kind.value,
            "step": question.sequence + 1,
            "answers": may,
            "answersOfPersons": by_person,
            "since": question.since.isoformat(),
            "deadline": None if question.deadline is None else question.deadline.isoformat(),
        },
        "next": f"a person decides: `replaywright answer {run_id}`; then run_status takes the run up"
        if by_person
        else "answer_question takes one of `answers`, if you know it; else ask a person",
    }


def _asking(run_id: str, totals: Totals, question: Question, grants: frozenset[AgentGrant]) -> Result:
    links = (picture_link(run_id, question.picture, "the page as it is asked"),) if question.picture else ()
    facts = _counts(run_id, "waiting", totals) | question_facts(run_id, question, grants)
    return Result(facts, links, lines_of(question))


def _ended(run_id: str, ending: Ending) -> Result:
    result = ending.result
    facts = _counts(run_id, ending.status, result.totals)
    lines = [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in result.extracted.items()]
    lines += [f"file {file.name}: {file.size} bytes" for file in result.files]
    if result.skill is not None:
        facts["skill"] = {"tool": result.skill.name, "version": result.skill.version, "how": result.skill.how}
    if result.succeeded:
        facts["verified"] = bool(result.verification) and all(check.passed for check in result.verification)
        lines += [result.note, *result.warnings]
    else:
        facts |= {
            "failedStep": None if result.failed_step is None else result.failed_step + 1,
            "reason": result.rule or result.reason,
            "commits": [str(line) for line in result.commits],
            "next": "; ".join(filter(None, (remedy_of(result.reason, result.message, shows_steps(run_id)), _GO_ON))),
        }
        lines += failure_lines(result)
    return Result(facts, (report_link(run_id),), [line for line in lines if line])


_GO_ON = "resume_run goes on where it stopped: what was done is not done again"


def _counts(run_id: str, status: str, totals: Totals) -> dict[str, JsonValue]:
    return {
        "runId": run_id,
        "status": status,
        "stepsDone": totals.steps,
        "heals": totals.heals,
        "modelCalls": totals.usage.calls,
    }


def report_of(view: RunView) -> Result:
    """Tell the steps of a run, the last ones if there are many, with addresses of report and pictures."""
    facts, lines = view.facts, []
    left = max(0, len(view.steps) - _STEPS_TOLD)
    for step in view.steps[left:]:
        last = step.last
        found = how_found(last.lookup, from_ledger=last.from_ledger, already_done=last.already_done)
        lines.append(
            f"{step.number}. {step.title}: {last.status.value}{f' ({found})' if found else ''}"
            f"{f': {last.message or last.reason}' if last.message or last.reason else ''}"
        )
    digests = list(dict.fromkeys(pictures_of(view)))[:_PICTURES_TOLD]
    pictures = [
        picture_link(facts.run_id, digest, f"picture {number} of {len(digests)}")
        for number, digest in enumerate(digests, 1)
    ]
    told: dict[str, JsonValue] = _counts(facts.run_id, facts.status, view.totals) | {
        "seconds": round(view.seconds, 1),
        "stepsLeftOut": left,
        "missing": [fenced(plain(line)) for line in facts.missing],
    }
    failed = RunResult(succeeded=False, **{name: getattr(facts, name) for name in ("failed_step", "message", "reason")})
    lines += failure_lines(failed) if facts.reason else []
    return Result(told, (report_link(facts.run_id), *pictures), lines)
