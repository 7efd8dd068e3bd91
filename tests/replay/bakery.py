"""A shop with one form, and the tasks that are recorded on it: few steps, so that the histories are small."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from replaywright.domain.task.tasks import Task, parse_task
from tests.e2e.plain_site import Answer, Asked, led_to, serving

FORM = """<title>Bakery</title><h1>Your order</h1><form method=post action=/order>
<label>Name <input name=name></label><button>Place order</button></form>"""
NEWS = """<title>Bakery</title><h1>We have moved</h1><p>Our shop is now in Mill Lane.</p><a href=/form>Continue</a>"""
LATE = """<title>Bakery</title><button onclick="setTimeout(() => document.body.append('Noted'), 2000)">Note</button>"""
PAGES = {"/thanks": "<title>Bakery</title><h1>Thank you</h1>", "/late": LATE}


@dataclass
class Bakery:
    """Shows its form at once, or after a page of news."""

    url: str = ""
    """Address, while it is served."""
    has_news: bool = False

    @contextlib.contextmanager
    def served(self) -> Iterator[None]:
        """Answer until the block ends."""
        with serving(self._answer) as self.url:
            yield

    def _answer(self, asked: Asked) -> Answer:
        if asked.method == "POST":
            return led_to("/thanks")
        return Answer(PAGES.get(asked.path, NEWS if self.has_news and asked.path == "/" else FORM))

    def ordered(self, name: str, *after: dict[str, Any], on_failure: str = "fail") -> Task:
        """An order under this name, and what comes after it; elements are declared, so that no model is needed."""
        field = {"role": "textbox", "name": "Name"}
        steps = [
            {"action": "goto", "url": f"{self.url}/"},
            {"action": "fill", "instruction": "the name field", "value": name, "target": field},
            {**pressed("Place order"), "effect": "commit", "expect": [{"url_contains": "/thanks"}]},
            *after,
        ]
        data = {"task": "cake", "steps": steps, "on_failure": on_failure}
        return parse_task({**data, "verify": [{"url_contains": self.url}]}, "recording")

    def asked_for(self) -> Task:
        """The same with words only, for a model to find and a planner to mend."""
        steps = [
            {"action": "fill", "instruction": "the name field", "value": "Ada", "timeout_ms": 1500},
            {
                "action": "click",
                "instruction": "the place order button",
                "effect": "commit",
                "expect": [{"url_contains": "/thanks"}],
            },
        ]
        data = {"task": "cake", "goal": "Order a cake for Ada", "url": self.url, "steps": steps}
        return parse_task({**data, "verify": [{"text_contains": "Thank you"}]}, "recording")

    def noted(self) -> Task:
        """A click of which the page shows the effect two seconds later."""
        late = {**pressed("Note"), "expect": [{"text_contains": "Noted", "within_ms": 300}], "timeout_ms": 5000}
        data = {"task": "note", "url": f"{self.url}/late", "steps": [late]}
        return parse_task({**data, "verify": [{"text_contains": "Noted"}]}, "recording")


def pressed(name: str) -> dict[str, Any]:
    """A click on a button that is declared."""
    return {
        "action": "click",
        "instruction": f"the {name} button",
        "target": {"role": "button", "name": name},
        "timeout_ms": 1500,
    }
