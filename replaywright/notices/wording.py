"""Deliveries in words, and as JSON."""

from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urljoin

from replaywright.domain.notice.notices import Notice
from replaywright.domain.notice.outbox import Told

_TITLE_LIMIT = 200
_LINE_LIMIT = 300


def as_title(told: Sequence[Told]) -> str:
    """Return the subject of a delivery."""
    if len(told) == 1:
        return _cut(_counted(told[0]), _TITLE_LIMIT)
    return f"Replaywright: {len(told)} notices"


def as_text(told: Sequence[Told], dashboard: str | None) -> str:
    """Return the body of a delivery: plain text."""
    return "\n\n".join("\n".join(_lines(one, dashboard, is_only=len(told) == 1)) for one in told)


def as_markdown(told: Sequence[Told], dashboard: str | None, escape: Callable[[str], str]) -> str:
    """Return a delivery with its subject as Markdown: a paragraph for each line, and links that lead somewhere."""
    links = {link_of(one.notice, dashboard) for one in told}
    lines = filter(None, as_text(told, dashboard).splitlines())
    said = (f"[{line}]({line})" if line in links else escape(line) for line in lines)
    return "\n\n".join((f"**{escape(as_title(told))}**", *said))


def as_data(told: Sequence[Told], tenant: str, dashboard: str | None) -> dict[str, Any]:
    """Return a delivery for programs."""
    notices = [
        one.notice.model_dump(mode="json", by_alias=True, exclude={"cause", "page"})
        | {"times": one.times, "link": link_of(one.notice, dashboard)}
        for one in told
    ]
    return {"type": "replaywright.notices", "tenant": tenant, "notices": notices}


def link_of(notice: Notice, dashboard: str | None) -> str:
    """Return the address of the notice's page on the dashboard; empty where nobody said where that is."""
    return urljoin(dashboard.rstrip("/") + "/", notice.page) if dashboard and notice.page else ""


def _lines(told: Told, dashboard: str | None, *, is_only: bool) -> list[str]:
    notice, link = told.notice, link_of(told.notice, dashboard)
    lines = [] if is_only and len(_counted(told)) <= _TITLE_LIMIT else [_counted(told)]
    lines += [_cut(line, _LINE_LIMIT) for line in notice.lines]
    lines += [f"Run: {notice.run_id}"] if notice.run_id else []
    lines += [link] if link else []
    return lines + ([notice.command] if notice.command else [])


def _counted(told: Told) -> str:
    return told.notice.title + (f" (and {told.times - 1} more like it)" if told.times > 1 else "")


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
