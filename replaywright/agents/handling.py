"""What each tool does, by the functions of the commands."""

from dataclasses import dataclass, replace
from functools import partial

from pydantic import JsonValue

from replaywright.agents import calls
from replaywright.agents.following import Report, followed
from replaywright.agents.permissions import AgentGrant, require_permitted
from replaywright.agents.requests import begun, run_id_of
from replaywright.agents.results import Result, as_data, question_facts, report_of, standing
from replaywright.cli.evidence.run_facts import view_of
from replaywright.cli.people.answer import checked_value, chosen
from replaywright.cli.people.asking_here import lines_of
from replaywright.cli.people.cancel import end_run
from replaywright.cli.people.inbox import waiting_in
from replaywright.cli.people.updates import decide, question_of, user_name, verdict_on
from replaywright.cli.runs.finding import exact_run, scope_of
from replaywright.cli.runs.options import RunOptions
from replaywright.cli.runs.resume import Wish, newest, planned
from replaywright.cli.runs.starting import Order, order_of, start
from replaywright.cli.servers.connect import Backend
from replaywright.cli.servers.running import RunningBackend
from replaywright.cli.servers.store import open_store
from replaywright.cli.skills.recall import recalled, require_recallable
from replaywright.cli.skills.skill_run import runnable_at
from replaywright.cli.tasks.goal import task_of_sentence
from replaywright.cli.tasks.taskfile import task_of_text
from replaywright.domain.skill.skills import SkillRef, SkillStatus
from replaywright.domain.task.tasks import GivenTexts, bind_parameters
from replaywright.errors import InputInvalid, RunExists

_Arguments = dict[str, JsonValue] | None


@dataclass(frozen=True)
class Handling:
    """Handlers of all tools for one tenant."""

    running: RunningBackend
    grants: frozenset[AgentGrant] = frozenset()
    """Questions of which the agent may decide."""

    async def call(self, tool: str, arguments: _Arguments, report: Report) -> Result:
        """Do what a tool does.

        Raises:
            ReplaywrightError: it cannot be done; nothing was started.
        """
        here = await self.running.here()
        if tool in calls.TOOLS:
            return await self._call(here, tool, calls.parsed(calls.TOOLS[tool][0], tool, arguments), report)
        return await self._started(here, tool, calls.parsed(calls.RunSkill, tool, arguments), report)

    async def _call(self, here: Backend, tool: str, call: calls.ToolCall, report: Report) -> Result:
        match call:
            case calls.StartingCall():
                return await self._started(here, tool, call, report)
            case calls.FindSkill():
                return await _found(here, call)
            case calls.RunStatus():
                return await self._status(here, _one_id(here, call), call.wait_s, report)
            case calls.RunReport():
                return report_of(await view_of(here, await exact_run(here, call.run_id)))
            case calls.ListWaiting():
                return await self._waiting(here)
            case calls.AnswerQuestion():
                return await self._answered(here, call, report)
            case calls.CancelRun():
                message, _ = await end_run(here, (await exact_run(here, call.run_id)).id, why=call.why)
                return Result({"runId": call.run_id, "message": message})
            case calls.ResumeRun():
                return await self._resumed(here, call, report)
            case _:
                raise AssertionError(f"{tool} has no handler")

    async def _started(self, here: Backend, tool: str, call: calls.StartingCall, report: Report) -> Result:
        run_id, is_new = await begun(here, tool, call, partial(order_of_call, here, tool, call))
        found = await self._status(here, run_id, call.wait_s, report)
        return replace(found, facts=found.facts | {"startedNow": is_new})

    async def _status(self, here: Backend, run_id: str, wait_s: float, report: Report) -> Result:
        return standing(run_id, await followed(here, run_id, wait_s, report), self.grants)

    async def _waiting(self, here: Backend) -> Result:
        waiting: list[JsonValue] = []
        for item in await waiting_in(here):
            asked = as_data([f"task {item.task}", *lines_of(item.question)])
            waiting.append(question_facts(item.run_id, item.question, self.grants) | {"fromPages": asked})
        return Result({"waiting": waiting})

    async def _answered(self, here: Backend, call: calls.AnswerQuestion, report: Report) -> Result:
        run_id = (await exact_run(here, call.run_id)).id
        question = await question_of(here, run_id)
        if question.id != call.question:
            raise InputInvalid(f"{run_id} does not ask {call.question!r} any more: run_status tells what it asks now")
        verdict = chosen(question, call.answer)
        require_permitted(question, verdict, self.grants)
        value = checked_value(verdict, call.value)
        who = f"an agent of {user_name()}"
        await decide(here, run_id, verdict_on(run_id, question, verdict, value, who=who, why=call.why))
        return await self._status(here, run_id, 0, report)

    async def _resumed(self, here: Backend, call: calls.ResumeRun, report: Report) -> Result:
        """Resume the run that was named, and no later one: a repeated call finds what the first one has started."""
        named = await exact_run(here, call.run_id)
        _, lineage = await scope_of(here, named)
        latest, _ = await newest(here, named, lineage)
        if latest.id != named.id:
            found = await self._status(here, latest.id, call.wait_s, report)
            return replace(found, facts=found.facts | {"startedNow": False})
        task = task_of_text(call.task, "task") if call.task else None
        wish = Wish(named.id, task, _values(call.values), manner=RunOptions(), who=f"an agent of {user_name()}")
        order = (await planned(here, wish)).order
        try:
            await start(here, order)
            is_new = True
        except RunExists:  # by the same call, at the same time
            is_new = False
        found = await self._status(here, order.run_id, call.wait_s, report)
        return replace(found, facts=found.facts | {"startedNow": is_new})


def _one_id(here: Backend, call: calls.RunStatus) -> str:
    if bool(call.run_id) == bool(call.request_id):
        raise InputInvalid("run_status: give run_id or request_id, one of them")
    return call.run_id or run_id_of(here.settings.tenant, call.request_id)


def _values(given: calls.Values) -> dict[str, str]:
    return {name: value if isinstance(value, str) else GivenTexts(value) for name, value in given.items()}


async def order_of_call(here: Backend, tool: str, call: calls.StartingCall, run_id: str) -> Order:
    """Make the order of a run."""
    match call:
        case calls.RunTask():
            task = task_of_text(call.task, "task")
            values = bind_parameters(task, _values(call.values), place="values.")
            return order_of(task, values, run_id, RunOptions(call.mode))
        case calls.LearnTask():
            task = task_of_sentence(call.sentence, url=call.url, secrets=call.secrets)
            return replace(order_of(task, {}, run_id, RunOptions()), fresh=call.fresh)
        case calls.RunSkill():
            skill = await runnable_at(here, tool)
            if skill.status is not SkillStatus.ACTIVE:
                raise InputInvalid(f"skill {tool!r} is {skill.status.value}: active skills are tools, no others")
            values = bind_parameters(skill.task, _values(call.values), place="values.")
            return order_of(skill.task, values, run_id, RunOptions(), SkillRef(name=tool, version=skill.version))
        case _:
            raise AssertionError(f"{tool} starts no run")


async def _found(here: Backend, call: calls.FindSkill) -> Result:
    require_recallable(call.sentence, call.url)
    async with open_store(here.settings) as store:
        found = await recalled(store, call.sentence, call.url, call.secrets)
    considered: list[JsonValue] = [{"tool": one.name, "reason": one.reason} for one in found.considered]
    facts: dict[str, JsonValue] = {
        "decision": found.decision,
        "reason": found.reason,
        "tool": None if found.skill is None else found.skill.name,
        "values": {**found.values},
        "considered": considered,
        "next": "call the tool with these values"
        if found.skill is not None
        else "learn_task has the sentence learned, if that is wanted; run_task takes the steps, if you know them",
    }
    return Result(facts)
