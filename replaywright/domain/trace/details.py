"""Details of a run in Temporal's UI: Markdown in which texts of pages, plans and people are escaped.

It is written again after every step, so it is short: the budget, the steps around the current one, and the next action.
"""

import shlex
from collections.abc import Sequence

from replaywright.domain.common.text import code_span, inert, shorten, unlinked
from replaywright.domain.page.targets import Target
from replaywright.domain.run.runs import Progress, StepLine
from replaywright.domain.run.spending import money_said
from replaywright.domain.run.standing import ENDS, STATUSES
from replaywright.domain.run.views import PlanView, StepInPlan, StepState
from replaywright.domain.step.outcomes import Lookup
from replaywright.domain.task.budgets import RunLimits
from replaywright.domain.task.questions import Question, answer_command

STEPS_SHOWN = 24
"""Number of steps around the current one."""
NOTES_SHOWN = 4
"""Number of last events beside the steps."""
TITLE_LIMIT = 110
SUMMARY_LIMIT = 200
NAME_LIMIT = 40
TEXT_LIMIT = 600
SHOWN_LIMIT = 6
"""Lines of the actions that an approval allows."""

_MARKS: dict[StepState, str] = {
    "done": "✓",
    "left_out": "–",
    "current": "▶",
    "waiting": "?",
    "failed": "✗",
    "stopped": "■",
    "planned": "·",
}


def found_by(lookup: Lookup) -> str:
    """Return how an element was found: `replayed · role name`, `healed · similarity 0.93`, `named by the model`."""
    tier = lookup.tier.replace("_", " ")
    if lookup.from_model:
        return "named by the model"
    if lookup.candidate_of:
        return "candidate of another run"
    if lookup.healed:
        return f"healed · {tier} {lookup.score:.2f}"
    if lookup.hit and lookup.tier:
        return "as declared" if lookup.tier == "query" else f"replayed · {tier}"
    return ""


def how(line: StepLine) -> str:
    """Return in few words how a step was done, or why it was not."""
    if line.left_out:
        return f"left out: {line.left_out.replace('_', ' ')}"
    if line.from_ledger:
        return "done before, from the ledger"
    if line.already_done:
        return "was so already"
    return found_by(line.lookup)


def spent_so_far(progress: Progress, limits: RunLimits, seconds: float) -> list[str]:
    """Return the run's consumption with the limits."""
    usage, plans = progress.totals.usage, len(progress.revised_from)
    tokens = usage.input_tokens + usage.output_tokens
    parts = [_of(usage.calls, limits.calls, "model calls")]
    if tokens:
        parts.append(_of(tokens, limits.tokens, "tokens"))
    if usage.calls and (money := money_said(usage)):
        parts.append(money + (f" of {limits.money:g}" if limits.money is not None else ""))
    if plans or limits.plans:
        parts.append(_of(plans, limits.plans, "revised plans"))
    parts.append(f"{seconds:.0f} s" + (f" of {limits.seconds:g}" if limits.seconds is not None else ""))
    return parts


def _of(used: int, limit: int | None, what: str) -> str:
    return f"{used:,}{'' if limit is None else f' of {limit:,}'} {what}"


def details_of(progress: Progress, plan: PlanView, *, run_id: str, spent: Sequence[str], ending: str = "") -> str:
    """Return the whole text; `ending` is the reason of a failed run."""
    is_over = progress.status in ENDS
    paragraphs = [_headline(progress), _notes(progress)]
    if ending:
        paragraphs.append(_quote(ending))
    if progress.question is not None:
        paragraphs += _question(progress.question, run_id)
    elif progress.waiting_for:
        paragraphs += [_quote(progress.waiting_for), f"Go on: {code_span(answer_command(run_id, ('continue',)))}"]
    paragraphs.append(f"**Spent** {' · '.join(map(inert, spent))}")
    paragraphs += [_plan(plan), _events(progress)]
    paragraphs.append(_commands(run_id, progress, is_over=is_over))
    return "\n\n".join(filter(None, paragraphs))


def _headline(progress: Progress) -> str:
    number = min(progress.step + 1, progress.steps)
    at = f"step {number} of {progress.steps}" if progress.steps else "no plan yet"
    if progress.status == "done":
        at = f"{progress.steps} steps"
    now = f" · {_short(progress.doing)}" if progress.doing else ""
    return f"### {STATUSES[progress.status].title} · {at}{now}"


def _notes(progress: Progress) -> str:
    """Return the counts of the run in words."""
    totals = progress.totals
    counts = {
        "replayed as recorded": totals.hits,
        "healed": totals.heals,
        "learned": totals.learned - totals.fallbacks,
        "found anew by the model": totals.fallbacks,
        "left out": totals.skipped,
        "recoveries": totals.recoveries,
        "warnings": totals.warnings,
    }
    parts = [f"{count} {what}" for what, count in counts.items() if count]
    parts += [f"plan revised from step {index + 1}" for index in progress.revised_from]
    return " · ".join(parts)


def _question(question: Question, run_id: str) -> list[str]:
    paragraphs = [_quote(question.text)]
    shown = [f"- {_short(line)}" for line in question.shows[:SHOWN_LIMIT]]
    if question.url:
        shown.append(f"- page: {code_span(shorten(question.url, TITLE_LIMIT))}")
    if question.deadline is not None:
        then = "fails" if question.on_timeout == "fail" else "leaves the step out"
        shown.append(f"- until {question.deadline:%Y-%m-%d %H:%M} UTC; then the run {then}")
    if shown:
        paragraphs.append("\n".join(shown))
    paragraphs.append(f"Answer: {code_span(answer_command(run_id, question.answers))}")
    return paragraphs


def _plan(plan: PlanView) -> str:
    shown = plan.steps[:STEPS_SHOWN]
    if not shown:
        return ""
    lines = "\n".join(map(_step, shown))
    before, after = shown[0].sequence, plan.total - shown[-1].sequence - 1
    around = (f"… {before} steps before" if before else "", lines, f"… {after} steps more" if after else "")
    return "\n\n".join(filter(None, around))


def _step(step: StepInPlan) -> str:
    title = _short(step.title)
    shown = f"**{title}**" if step.state in ("current", "waiting", "failed") else title
    found = f" — {_short(step.how)}" if step.how else ""
    return f"{step.sequence + 1}. {_MARKS[step.state]} {shown}{found}"


def _events(progress: Progress) -> str:
    """Return the last events beside the steps: recalls, revisions, replacements, overrides."""
    lines = [line for line in progress.lines if line.kind != "step" or line.override]
    texts = [f"override {line.override}: {line.title}" if line.override else line.title for line in lines]
    return "\n".join(f"- {_short(text)}" for text in texts[-NOTES_SHOWN:])


def _commands(run_id: str, progress: Progress, *, is_over: bool) -> str:
    commands = [_command("report", run_id), _command("show", run_id)]
    if is_over and progress.status != "done":
        commands.append(_command("resume", run_id))
    return f"More: {' · '.join(commands)}"


def _command(name: str, run_id: str) -> str:
    return code_span(f"replaywright {name} {shlex.quote(run_id)}")


def _quote(text: str) -> str:
    return f"> {inert(shorten(' '.join(text.split()), TEXT_LIMIT))}"


def _short(text: str) -> str:
    return inert(shorten(" ".join(text.split()), TITLE_LIMIT))


# ------------------------------------------------------------------------- summaries of activities in the history


def summary(sequence: int, title: str, *parts: str) -> str:
    """Return the summary of an activity in the history: `0004 click the send button · replays button "Send"`."""
    return event_summary(" · ".join(filter(None, (f"{sequence + 1:04d} {title}", *parts))))


def event_summary(text: str) -> str:
    """Return the summary of an activity that belongs to no step."""
    return shorten(unlinked(text), SUMMARY_LIMIT)


def element_summary(target: Target) -> str:
    """Return an element in few words: `button "Send"`."""
    name = target.name or target.label or target.text
    kind = target.role or target.tag or "element"
    return f'{kind} "{shorten(" ".join(name.split()), NAME_LIMIT)}"' if name.strip() else kind
