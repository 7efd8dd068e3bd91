"""A site that cannot be believed: it says "Saved!" when nothing is, changes its mind, and forgets who is signed in."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

DESK = """<!doctype html><title>Desk</title>
<style>.pressed { color: red } .tip { position: absolute }</style>
<h1>Desk</h1><p>It is <time id="clock">10:00:00</time></p>
<p id="say" role="status">Nothing new</p><ul id="rows"></ul><div id="toasts"></div>
<button data-save="500">Save by script</button>
<form method="post" action="/form?status=500"><button>Save by form</button></form>
<button data-save="422">Save what is refused</button>
<button data-save="as it likes" data-ms="700" data-early>Save early</button>
<button data-save="500" data-counted>Save and be counted</button>
<button data-save="break">Save on a broken line</button>
<button id="regret">Save and regret</button>
<button data-save="200">Save in earnest</button>
<button data-save="200" data-times="2">Save twice over</button>
<label>Remark <input id="remark"></label> <label>Stubborn <input id="stubborn"></label>
<button id="late">Get ready</button>
<button id="nothing">Do nothing</button>
<button id="down">Act when it goes down</button> <button id="up">Act when it goes up</button>
<label>Checked <input id="checked"></label>
<button id="slow">Save once, then show slowly</button>
<button id="ripple">Only ripple</button>
<button id="tip">Only show a tooltip</button>
<button id="count">Only count the visit</button>
<button id="beacon">Only tell the counter</button>
<button id="counted">Say saved and be counted</button>
<a href="/loop">Round and round</a> <a href="/form?status=500">Broken page</a> <a href="/orders">Orders</a>
<form method="post" action="/orders"><button>Order by form</button></form>
<button data-save="401">Order by script</button>
<script>
  const by = id => document.getElementById(id), say = text => by("say").textContent = text;
  const toast = text => {
    by("toasts").innerHTML = '<p role="alert">' + text + "</p>";
    by("rows").innerHTML = "";
    say("Nothing new");
  };
  const saved = () => { say("Saved!"); by("rows").innerHTML = "<li>Mail to Ada</li>"; };
  by("down").onpointerdown = by("up").onmouseup = event => say("It went: " + event.type);
  by("checked").onblur = () => say("Checked: that is no number");
  let shown = 0;
  by("slow").onclick = async () => {
    if (shown++) setTimeout(() => say("Shown"), 1200);
    else await fetch("/save?status=200", { method: "POST" }).then(saved);
  };
  let ticks = 0;
  setInterval(() => by("clock").textContent = "10:00:0" + ++ticks % 10, 100);
  for (const button of document.querySelectorAll("[data-save]")) button.onclick = async () => {
    const { save, ms = 0, early, counted, times = 1 } = button.dataset;
    for (let more = 1; more < times; more++) fetch(`/save?status=${save}&ms=${ms}`, { method: "POST" });
    if (early !== undefined) saved();
    if (counted !== undefined) await fetch("/visit", { method: "POST" });
    const answer = await fetch(`/save?status=${save}&ms=${ms}`, { method: "POST" }).catch(() => ({ ok: true }));
    if (early === undefined) saved();
    else if (!answer.ok || await answer.text() !== "yes") toast("Could not be saved");
  };
  by("regret").onclick = () => { saved(); setTimeout(() => toast("Could not be saved"), 700); };
  by("late").onclick = () => setTimeout(() => say("Here it is"), 2000);
  by("ripple").onpointerdown = ({ target }) => {
    const ripple = document.createElement("span");
    target.classList.add("pressed");
    target.append(ripple);
    setTimeout(() => { ripple.remove(); target.classList.remove("pressed"); }, 80);
  };
  by("tip").onfocus = ({ target }) => {
    target.insertAdjacentHTML("afterend", '<span class="tip" role="tooltip">Shows a tooltip</span>');
  };
  by("count").onclick = () => {
    const script = document.createElement("script");
    script.src = "/count.js";
    document.head.append(script);
  };
  by("remark").oninput = () => {
    navigator.sendBeacon("/beacon", "typed");
    fetch("/save?status=500", { method: "POST" });
  };
  by("stubborn").oninput = ({ target }) => {
    navigator.sendBeacon("/beacon", "typed");
    target.value = "what I like";
  };
  by("counted").onclick = () => { saved(); fetch("/visit", { method: "POST", body: "a press" }); };
  by("beacon").onclick = () => navigator.sendBeacon("/beacon", "one more");
</script>"""
LOGIN = "<!doctype html><title>Sign in</title><h1>Sign in</h1><label>Name <input name='name'></label>"
ORDERS = "<!doctype html><title>Orders</title><h1>Orders</h1><a href='/desk'>Back to the desk</a>"


@dataclass
class LyingSite:
    """What came to it, and whether its visitor is signed in."""

    port: int = 0
    signed_in: bool = True
    likes: tuple[int, str] = (200, "yes")
    """Status and text of the answer where the site chooses."""
    posts: list[str] = field(default_factory=list)
    """Paths of the POST requests that came."""

    def url(self, page: str = "desk") -> str:
        return f"http://127.0.0.1:{self.port}/{page}"


def _handler(site: LyingSite) -> type[BaseHTTPRequestHandler]:  # noqa: C901 - one handler, several answers
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            path = urlsplit(self.path).path
            match path:
                case "/loop":
                    self.answer(302, "", "/loop")
                case "/form":
                    self.answer(self.asked("status", 200), "<title>Broken</title><h1>Saved!</h1>")
                case "/orders":
                    self.orders()
                case "/login":
                    self.answer(200, LOGIN)
                case "/count.js":
                    self.answer(200, "window.visits = 1")
                case _:
                    self.answer(200, DESK)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            path = urlsplit(self.path).path
            site.posts.append(path)
            if path == "/orders":
                self.orders()
                return
            time.sleep(self.asked("ms", 0) / 1000)
            status = self.query("status", "200")
            if status == "break":
                self.close_connection = True
            elif status == "as it likes":
                self.answer(*site.likes)
            else:
                self.answer(int(status), "<title>Saved</title><h1>Saved!</h1>" if path == "/form" else "yes")

        def orders(self) -> None:
            if site.signed_in:
                self.answer(200, ORDERS)
            else:
                self.answer(302, "", "/login")

        def query(self, name: str, default: str) -> str:
            return parse_qs(urlsplit(self.path).query).get(name, [default])[0]

        def asked(self, name: str, default: int) -> int:
            return int(self.query(name, str(default)))

        def answer(self, status: int, text: str, location: str = "") -> None:
            self.send_response(status)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(text.encode())))
            if location:
                self.send_header("Location", location)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

    return Handler


@contextmanager
def serving() -> Iterator[LyingSite]:
    site = LyingSite()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(site))
    server.daemon_threads = True
    site.port = server.server_port
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
