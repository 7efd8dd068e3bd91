"""Templates, and how facts read in them. Everything that is not a template's own is escaped."""

import hashlib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from replaywright import __version__
from replaywright.dashboard.health import health_of
from replaywright.domain.common.text import still_lines
from replaywright.domain.run.standing import STATUSES
from replaywright.domain.task.questions import MEANS
from replaywright.domain.trace.saying import count, duration, how_found, model_name, size

HERE = Path(__file__).parent


def visible(value: object) -> object:
    """Replace invisible and direction-changing characters of a text; return any other value unchanged."""
    return still_lines(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def address(name: str, /, **parameters: object) -> str:
    """Build the link to a page; it is relative, so that the pages may be served below any path."""
    given = {key: value for key, value in parameters.items() if value not in ("", None)}
    return f"{name}?{urlencode(given)}" if given else name


def digest_of(html: str) -> str:
    """Return a digest that changes with the region."""
    return hashlib.sha256(html.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def when(moment: datetime | float | None, *, seconds: bool = False) -> Markup:
    """Render a time for people, with its machine-readable form; nothing for none."""
    if not moment:
        return Markup("")
    local = (datetime.fromtimestamp(moment, UTC) if isinstance(moment, (int, float)) else moment).astimezone()
    shown = local.strftime("%Y-%m-%d %H:%M:%S" if seconds else "%Y-%m-%d %H:%M")
    return Markup('<time datetime="{}">{}</time>').format(local.isoformat(timespec="seconds"), shown)


def percent(share: float | None) -> str:
    """Format a share, as `97 %`; a dash if it is unknown. Never 100 % if something failed."""
    if share is None:
        return "–"
    whole = round(100 * share)
    return f"{99 if whole == 100 and share < 1 else whole} %"


def number(value: int | None) -> str:
    """Format a number, as `12 345` with narrow spaces; a dash if it is unknown."""
    return "–" if value is None else f"{value:,}".replace(",", "\u202f")


@cache
def _environment() -> Environment:
    """Return the templates' environment, made once for each process."""
    environment = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: Mapping[str, Callable[..., Any]] = {
        "duration": duration,
        "when": when,
        "percent": percent,
        "number": number,
        "count": count,
        "size": size,
        "model_name": model_name,
        "digest": digest_of,
        "health": health_of,
    }
    environment.filters.update(filters)
    environment.globals.update(
        address=address, version=__version__, statuses=STATUSES, means=MEANS, how_found=how_found
    )
    return environment


def rendered(template: str, **context: Any) -> Markup:
    """Render a template."""
    return Markup(_environment().get_template(template).render(**context))  # noqa: S704 - it escapes by itself
