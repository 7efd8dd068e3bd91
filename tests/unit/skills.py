"""Skills for tests."""

from typing import Any

from replaywright.domain.skill.entries import ActionCacheEntry, EntryStatus
from replaywright.domain.skill.skills import Skill, SkillRun
from replaywright.domain.step.fingerprints import content_key, site_scope
from replaywright.domain.task.actions import Effect
from replaywright.domain.task.steps import Step, action_of
from replaywright.domain.task.tasks import parse_task

SITE = "http://mail.example"

OWNER = "send-mail"
"""The task that recordings belong to."""


def skill(name: str = "send-mail", **fields: Any) -> Skill:
    """A skill that fills and sends a form of `SITE`."""
    task = parse_task(
        {
            "task": name,
            "goal": "send a mail to {{to}}",
            "url": f"{SITE}/compose",
            "parameters": {"to": {"type": "email"}, "copy": {"default": "007"}},
            "secrets": ["PASSWORD"],
            "steps": [
                {"action": "fill", "instruction": "the password", "value": "{{secret:PASSWORD}}"},
                {"action": "fill", "target": {"role": "textbox", "name": "To"}, "value": "{{to}}", "instruction": "To"},
                {
                    "action": "click",
                    "instruction": "Send",
                    "effect": "commit",
                    "expect": [{"not_": {"exists": {"role": "alert"}}}],
                },
            ],
            "verify": [{"text_contains": "{{to}}"}],
        },
        "the test",
    )
    given = {"site": SITE, "label": "Send a mail", "patterns": ("send a mail to {{to}}", "给 {{to}} 发邮件")}
    return Skill.model_validate({"name": name, "task": task, **given, **fields})


def run(run_id: str = "r1", version: int = 1, *, succeeded: bool = True, **fields: Any) -> SkillRun:
    """A run that did all three steps."""
    return SkillRun.model_validate(
        {"run_id": run_id, "version": version, "succeeded": succeeded, "steps_done": 3, **fields}
    )


def learned(
    step: Step, url: str, *, name: str = "Password", tenant: str = "default", owner: str = OWNER
) -> ActionCacheEntry:
    """What a verified run has learned of a step on the page `url`."""
    return ActionCacheEntry(
        tag="input",
        role="textbox",
        name=name,
        attributes={"id": "field"},
        content_key=content_key(tenant, url, step, owner),
        owner=owner,
        status=EntryStatus.ACTIVE,
        site=site_scope(url),
        instruction=step.instruction,
        action_type=action_of(step),
        effect=Effect.IDEMPOTENT,
        run_id="r1",
        origin="model",
    )
