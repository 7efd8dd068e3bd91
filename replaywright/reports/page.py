"""Puts the page together: templates with autoescape, and a content security policy that lets nothing else run."""

import base64
import hashlib
from functools import cache
from importlib import resources
from urllib.parse import urlsplit

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from replaywright.domain.trace.run_view import RunView
from replaywright.reports import chart, words
from replaywright.reports.figures import Gallery
from replaywright.reports.loading import Loaded

FULL_STEPS = 2_000
"""Steps that are shown in full at most; of a longer run, those beyond that did not go well, and the rest as a line."""


def rendered(view: RunView, loaded: Loaded) -> str:
    """Render the report of a run as one HTML document. Texts of the view are escaped."""
    environment = _environment()
    style, script = _text("report.css"), _text("report.js")
    gallery = Gallery(loaded)
    body = environment.get_template("body.html").render(
        view=view,
        facts=view.facts,
        loaded=loaded,
        gallery=gallery,
        charts=chart.charts_of(view),
        runs=chart.compared(view),
        strip=chart.strip_of(view.steps, words.step_tone),
        run_tone=words.run_text(view)[0],
        run_words=words.run_text(view)[1],
        full_steps=FULL_STEPS,
        opened=words.opened_of(view),
        link=safe_link(view.facts.url),
    )
    return environment.get_template("page.html").render(
        title=f"{view.facts.task} – {words.run_text(view)[1]} – run report",
        policy=policy_of(style, script),
        style=Markup(style),  # noqa: S704 - ours, from the package
        script=Markup(script),  # noqa: S704 - ours, from the package
        body=Markup(body),  # noqa: S704 - what the template above has escaped
        symbols=gallery.symbols,
    )


def policy_of(style: str, script: str) -> str:
    """Return the content security policy: nothing is loaded or sent; only our own style and script apply."""
    return (
        f"default-src 'none'; img-src data:; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def policy() -> str:
    """Return the content security policy of every report, for servers of reports."""
    return policy_of(_text("report.css"), _text("report.js"))


def safe_link(url: str) -> str:
    """Return the address if it is one of HTTP; else nothing."""
    return url if urlsplit(url).scheme in ("http", "https") else ""


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@cache
def _text(name: str) -> str:
    return (resources.files("replaywright.reports") / "templates" / name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("replaywright.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=words.clean,
    )
    environment.filters.update(words.FILTERS)
    return environment
