"""The judge: a site in a process of its own that syncs every send to disk, is slow at random and shows it late.

    python -m bench.chaos.judge --log FILE --seed TEXT

It is the only source of truth about duplicates and losses, and knows nothing of what is tested. Times are drawn from
the seed and the nonce, so that a run that is repeated meets the same site.
"""

import argparse
import asyncio
import html
import random
import time
from pathlib import Path
from urllib.parse import urlencode

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from bench.chaos.log import Log, Sent
from demo.serving import serve

_PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>
<body><h1>{title}</h1>{body}</body></html>"""
_COMPOSE = """<form id="form" method="post" action="/send">
<p><label>Subject <input name="subject" autocomplete="off"></label></p>
<p><label>Message <textarea name="body"></textarea></label></p>
<p><button>Send</button> <output id="said" role="status"></output></p></form>
<script>
  const asked = new URLSearchParams(location.search);
  const form = document.querySelector("#form");
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    setTimeout(async () => {
      if (asked.get("by") !== "fetch") { form.submit(); return; }
      const answer = await fetch("/send", {
        method: "POST", body: new URLSearchParams(new FormData(form)), headers: {"x-by": "fetch"},
      });
      document.querySelector("#said").textContent = (await answer.json()).said;
    }, Number(asked.get("delay")));
  });
</script>"""
_OUTBOX = """<p id="state" role="status">Looking for it …</p><p>Reference: <span data-testid="reference"></span></p>
<script>
  const look = async () => {
    const answer = await fetch("/outbox.json" + location.search, {cache: "no-store"});
    const mail = await answer.json();
    if (!mail.subject) { setTimeout(look, 100); return; }
    document.querySelector("#state").textContent = mail.subject + " is in the outbox";
    document.querySelector("[data-testid=reference]").textContent = mail.reference;
  };
  look();
</script>"""
_STEPS = """<p><label>Note <input name="note" autocomplete="off"></label></p>"""


class _Site:
    def __init__(self, log: Path, seed: str) -> None:
        self._log = Log(log)
        self._log.begin()
        self._seed = seed
        self._sent: dict[str, list[Sent]] = {}

    def _drawn(self, what: str, most_s: float) -> float:
        return random.Random(f"{self._seed}/{what}").uniform(0, most_s)

    async def compose(self, _request: Request) -> Response:
        return HTMLResponse(_PAGE.format(title="New message", body=_COMPOSE))

    async def steps(self, _request: Request) -> Response:
        return HTMLResponse(_PAGE.format(title="Steps", body=_STEPS))

    async def send(self, request: Request) -> Response:
        """Accept a message: wait, write it to disk, wait, answer."""
        form = await request.form()
        subject, body = str(form.get("subject", "")), str(form.get("body", ""))
        await asyncio.sleep(self._drawn(f"{subject}/before", 0.15))
        mails = self._sent.setdefault(subject, [])
        reference = f"R{len(mails) + 1}-{subject[-12:]}"
        mail = Sent(subject=subject, body=body, reference=reference, at=time.time())
        self._log.add(mail)
        mails.append(mail)
        await asyncio.sleep(self._drawn(f"{subject}/after", 0.5))
        if request.headers.get("x-by") == "fetch":
            return JSONResponse({"said": f"Sent {subject}"})
        return RedirectResponse(f"/sent?{urlencode({'subject': subject})}", 303)

    async def sent(self, request: Request) -> Response:
        """What the sender is shown."""
        mails = self._sent.get(request.query_params.get("subject", ""), [])
        said = f"Sent {mails[-1].subject}" if mails else "No such message"
        return HTMLResponse(_PAGE.format(title="Message sent", body=f'<p role="status">{html.escape(said)}</p>'))

    async def outbox(self, _request: Request) -> Response:
        return HTMLResponse(_PAGE.format(title="Outbox", body=_OUTBOX))

    async def outbox_json(self, request: Request) -> Response:
        """The message of a subject, once it has become visible."""
        visible = self._visible(request)
        return JSONResponse({} if not visible else visible[-1].model_dump(mode="json"))

    async def search(self, request: Request) -> Response:
        """What is visible of a subject now, on a page that does not change any more."""
        visible = self._visible(request)
        said = f"{visible[-1].subject} is in the outbox" if visible else "Nothing found"
        return HTMLResponse(_PAGE.format(title="Search", body=f"<p>{html.escape(said)}</p>"))

    def _visible(self, request: Request) -> list[Sent]:
        subject = request.query_params.get("subject", "")
        lag = self._drawn(f"{subject}/lag", 1.5)
        return [mail for mail in self._sent.get(subject, []) if time.time() - mail.at >= lag]


def create_app(log: Path, seed: str) -> Starlette:
    """The site; what it accepts is appended to `log`."""
    site = _Site(log, seed)
    return Starlette(
        routes=[
            Route("/compose", site.compose),
            Route("/steps", site.steps),
            Route("/send", site.send, methods=["POST"]),
            Route("/sent", site.sent),
            Route("/outbox", site.outbox),
            Route("/outbox.json", site.outbox_json),
            Route("/search", site.search),
        ]
    )


def main() -> None:
    """Serve until SIGTERM."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--log", type=Path, required=True, help="what was sent, one JSON object a line")
    parser.add_argument("--seed", default="", help="decides how slow it is (default: the same for all)")
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    given = parser.parse_args()
    serve(create_app(given.log, given.seed), "127.0.0.1", given.port)


if __name__ == "__main__":
    main()
