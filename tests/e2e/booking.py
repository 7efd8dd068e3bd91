"""A small site of somebody's own: a form that books a table, a list of what was booked, and a redesign."""

import html
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import parse_qs

from tests.e2e.plain_site import Answer, Asked, serving

_FORMS = {
    "": """
<form method="post" action="/book">
<p><label for="who">Guest</label> <input id="who" name="who" required></p>
<p><label for="day">Day</label> <input id="day" name="day" placeholder="2026-12-24" required></p>
<p><label for="size">Party size</label>
<select id="size" name="size"><option>2</option><option>4</option><option>6</option></select></p>
<p><button id="go">Reserve</button> <a href="/list">All reservations</a></p>
</form>""",
    "renamed": """
<section><form method="post" action="/book">
<div><input name="party" placeholder="Who is coming?" aria-label="Company"></div>
<div><input name="when" aria-label="Evening"></div>
<div><button type="button">Cancel</button><input type="submit" value="Off we go"></div>
</form></section>""",
}
"""As it is, and as nothing that was recorded can be found again."""


@dataclass
class Booking:
    """The site while it is served."""

    url: str = ""
    booked: list[dict[str, str]] = field(default_factory=list)
    """What the server took, in its order."""
    look: str = ""

    def page(self, body: str) -> Answer:
        """A whole page; one without a body is not there."""
        page = f"<!doctype html><html lang='en'><title>Tables</title><body><h1>Tables</h1>{body}</body></html>"
        return Answer(page, 200 if body else 404)

    def listed(self) -> str:
        """What was booked."""
        rows = "".join(f"<li>{html.escape(each['who'])}, {html.escape(each['day'])}</li>" for each in self.booked)
        return f"<h2>Reservations</h2><ul>{rows}</ul><p><a href='/'>Back</a></p>"


@contextmanager
def served() -> Iterator[Booking]:
    """The site on a free port of this machine."""
    site = Booking()

    def answer(asked: Asked) -> Answer:
        if asked.method == "GET":
            return site.page({"/": _FORMS[site.look], "/list": site.listed()}.get(asked.path, ""))
        each = {name: values[0] for name, values in parse_qs(asked.body).items()}
        site.booked.append({"who": "", "day": "", **each})
        return site.page(f"<p role='status'>Booked for {html.escape(each.get('who', ''))}</p>{site.listed()}")

    with serving(answer) as site.url:
        yield site
