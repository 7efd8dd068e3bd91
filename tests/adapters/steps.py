"""Steps as the activities hand them to the browser, and what is asked of their reports."""

from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter

from replaywright.browser.session import ChromiumSession
from replaywright.domain.page.targets import ElementQuery, Target
from replaywright.domain.predicate.predicates import Predicate
from replaywright.domain.task.steps import Step
from replaywright.ports.browser import Report, Work
from tests.adapters.browser_site import Site

STEP: TypeAdapter[Step] = TypeAdapter(Step)
PREDICATE: TypeAdapter[Predicate] = TypeAdapter(Predicate)


def work(
    action: str, target: Mapping[str, Any] | Target | None = None, *, text: str | None = None, **more: Any
) -> Work:
    """A step as the activities hand it over: declared by a query, or recorded as a target."""
    options = {key: more.pop(key) for key in tuple(more) if key in Work.__dataclass_fields__ and key != "expect"}
    expect = tuple(PREDICATE.validate_python(one) for one in more.pop("expect", ()))
    fields: dict[str, Any] = {"action": action, "expect": expect, **more}
    if target is not None or action in ("click", "double_click", "hover", "fill", "type", "select_option", "check"):
        fields.setdefault("instruction", "the element")
    if text is not None:
        fields["value"] = "what is entered"
    return Work(
        step=STEP.validate_python(fields),
        text=text or "",
        target=target if isinstance(target, Target) else None,
        query=None if target is None or isinstance(target, Target) else ElementQuery.model_validate(target),
        expect=expect,
        **options,
    )


async def opened(session: ChromiumSession, site: Site, page: str) -> None:
    await session.perform(work("goto", url=site.url(page)))
    # Playwright's driver may learn of the new document later than the session.
    await session.tabs.current.page.wait_for_url(lambda url: url == session.url, wait_until="commit")


def button(name: str) -> dict[str, str]:
    return {"role": "button", "name": name}


def link(name: str) -> dict[str, str]:
    return {"role": "link", "name": name}


def says(text: str) -> dict[str, Any]:
    return {"text_contains": text}


def holds(report: Report) -> bool:
    return report.lookup.hit and all(verdict.passed for verdict in report.after)
