"""Runs for reports, made of lines as traces have them."""

import hashlib
import struct
import zlib
from typing import Any

from replaywright.domain.run.runs import Totals
from replaywright.domain.run.scope import Usage
from replaywright.domain.skill.skills import SkillRef
from replaywright.domain.step.outcomes import StepOutcome
from replaywright.domain.trace.run_reading import run_view
from replaywright.domain.trace.run_view import Event, RunFacts, RunNumbers, RunView
from replaywright.reports import Loaded

COMPOSE = "http://127.0.0.1:8025/compose"
START = 1_763_800_000.0


def png(width: int = 640, height: int = 400, shade: int = 230) -> bytes:
    """A grey picture."""
    rows = b"".join(b"\0" + bytes([shade]) * width for _ in range(height))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def step_of(sequence: int, title: str, *, at: float, ms: float = 420.0, **fields: Any) -> dict[str, Any]:
    """A line of a step, flat."""
    outcome = StepOutcome.model_validate({"status": "done", "costs": {"totalMs": ms}, **fields.pop("outcome", {})})
    told = outcome.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    return {"kind": "step", "at": at, "runId": "send-mail-1", "sequence": sequence, "title": title, **fields, **told}


def picture_of(sequence: int, shade: int, *, at: float) -> tuple[dict[str, Any], bytes]:
    """A line of a picture, and the picture."""
    data = png(shade=shade)
    view = {"x": 0, "y": 0, "width": 1280, "height": 800}
    line = {"kind": "picture", "at": at, "runId": "send-mail-1", "sequence": sequence, "view": view}
    return {**line, "digest": digest_of(data)}, data


def sample(**changes: Any) -> tuple[RunView, Loaded]:
    """A run that learned, healed, asked a person and failed at its last step, with earlier runs."""
    usage = {"calls": 1, "inputTokens": 1840, "outputTokens": 22, "model": "openai:gpt-5-mini", "costUsd": 0.0005}
    usage["priced"] = 1
    box = {"x": 980, "y": 40, "width": 180, "height": 44}
    role = {"hit": True, "tier": "role_name", "score": 0.97, "runnerUp": 0.41, "evidence": ["same name", "same role"]}
    healed = {"hit": True, "tier": "similarity", "healed": True, "score": 0.91, "runnerUp": 0.62, "candidates": 3}
    pictures = [picture_of(number, 250 - 8 * number, at=START + 2 + number) for number in range(4)]
    diff = b'+ alert "Mailbox full"\n- status "Sent"\n~ button "Send": disabled\n'
    screenshot = png(900, 1700, 200)
    expected = [{"url_contains": "/sent"}, {"exists": {"role": "status", "name": "Sent to {{to}}"}}]
    actual = [
        {
            "passed": False,
            "reason": "url_differs",
            "details": {"url": COMPOSE, "want": "/sent"},
        },
        {"passed": False, "reason": "none_found", "details": {"count": 0, "nearest": ['alert "Mailbox full"']}},
        {"passed": True, "reason": "holds", "required": False},
    ]
    missed = {"status": "missed", "lookup": {"reason": "no_entry"}}
    approved = {"reason": "person", "message": "Ada approved it"}
    why = {"failed": True, "why": "full"}
    adopted = Event(at=START + 4.8, title="The live browser was adopted", lines=("its worker was lost",))
    lines: list[dict[str, Any]] = [
        {"kind": "recall", "at": START + 0.5, "decision": "accept", "skill": "send-mail", "version": 3},
        step_of(0, "goto {{base_url}}/", at=START + 2, ms=810, input={"step": {"action": "goto"}}),
        pictures[0][0],
        step_of(
            1,
            "fill the To field = {{to}}",
            at=START + 3,
            input={
                "step": {"action": "fill", "instruction": "the To field", "value": "{{to}}"},
                "parameters": ["to"],
            },
            outcome={"lookup": role, "box": box, "effect": "idempotent", "url": COMPOSE},
        ),
        pictures[1][0],
        step_of(
            2,
            "fill the subject = {{subject}}",
            at=START + 4,
            outcome={"lookup": healed, "box": {**box, "y": 120}, "effect": "idempotent"},
            input={"step": {"action": "fill", "instruction": "the subject"}},
        ),
        pictures[2][0],
        step_of(3, "fill the body = {{body}}", at=START + 4.2, outcome=missed),
        {"kind": "propose", "at": START + 4.5, "sequence": 3, "why": "no_entry", "elementId": "e14", "usage": usage},
        step_of(
            3,
            "fill the body = {{body}}",
            at=START + 5,
            attempt="model",
            usage=usage,
            outcome={"lookup": {"hit": True, "fromModel": True}, "effect": "idempotent", "box": {**box, "y": 300}},
        ),
        pictures[3][0],
        step_of(4, "approve the mail to {{to}}", at=START + 6, outcome=approved),
        step_of(
            5,
            "click the send button",
            at=START + 7,
            ms=5100,
            input={"step": {"action": "click", "instruction": "the send button", "expect": expected}},
            outcome={
                "status": "unmet",
                "reason": "url_differs",
                "message": "the page shows something else than what is expected",
                "effect": "commit",
                "lookup": {**role, "tier": "attributes"},
                "predicates": actual,
                "url": COMPOSE,
                "evidence": {"requests": [{"method": "POST", "url": "http://127.0.0.1:8025/send", "status": 507}]},
                "artifacts": {"screenshot": digest_of(screenshot), "diff": digest_of(diff), "console": "c" * 64},
                "artifactsMissing": {"dom": "the document could not be read in time"},
            },
        ),
        {"kind": "person", "at": START + 8, "sequence": 5, "verdict": "abandon", "who": "ada", **why},
    ]
    earlier = tuple(
        RunNumbers(
            run_id=f"send-mail-0{number}",
            started=START - 90_000 + number * 9_000,
            seconds=seconds,
            status="failed" if number == 4 else "done",
            steps=6,
            calls=calls,
            tokens=calls * 1900,
        )
        for number, (seconds, calls) in enumerate([(31.0, 7), (4.1, 0), (4.0, 0), (5.2, 1), (9.0, 0), (3.9, 0)])
    )
    facts = RunFacts(
        run_id="send-mail-1",
        task="send_mail",
        status="failed",
        started=START,
        ended=START + 12.4,
        now=START + 60,
        site="http://127.0.0.1:8025",
        lineage="send-mail-1",
        lineage_runs=("send-mail-1",),
        mode="auto",
        heal="auto",
        version="0.1.0",
        steps_planned=6,
        totals=Totals(steps=5, hits=1, heals=1, learned=1, usage=Usage.model_validate(usage)),
        reason="abandoned",
        message="ada abandoned the step that failed: full",
        failed_step=5,
        skill=SkillRef(name="send-mail", version=3),
        url="http://127.0.0.1:8233/namespaces/default/workflows/send-mail-1",
        history=(adopted,),
        earlier=earlier,
    )
    data = {digest_of(kept): kept for kept in (diff, screenshot, *(kept for _, kept in pictures))}
    return run_view(facts.model_copy(update=changes), lines), Loaded(data=data)
