"""A site that shows the password of whoever signed in, in every way that a page can."""

import base64
import html
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, quote, urlsplit

LOGIN = """<!doctype html><title>Sign in</title><h1>Sign in</h1><form method=post action=/login>
<label>User <input name=user></label><label>Password <input type=password name=password></label>
<label>Again <input name=again></label><button>Sign in</button></form>"""


@dataclass
class EchoSite:
    """Where it is, and what it was told."""

    url: str = ""
    passwords: list[str] = field(default_factory=list)
    is_redesigned: bool = False


def home_of(password: str, *, is_redesigned: bool) -> str:
    """The page after signing in: the password as text, in attributes, in scripts, split and encoded."""
    shown, literal = html.escape(password), json.dumps(password).replace("<", "\\u003c")
    spread = "".join(f"<span>{html.escape(one)}</span>" for one in password)
    blocks = "".join(f"<div>{html.escape(one)}</div>" for one in password)
    cells = "".join(f"<td>{html.escape(one)}</td>" for one in password)
    items = "".join(f"<li>{html.escape(one)}" for one in password)
    buttons = "".join(f"<button>{html.escape(one)}</button>" for one in password[:20])
    ask = (
        f"<div class=new><button data-way=ask title='{shown}' onclick='ask()'>Ask me</button></div>"
        if is_redesigned
        else f"<p><button id=ask title='{shown}' onclick='ask()'>Ask me</button>"
    )
    return f"""<!doctype html><title>Welcome {shown}</title><h1>Your password is {shown}</h1>
<p id=attributes title="{shown}" data-value="{shown}" aria-label="Password {shown}">Attributes</p>
<p id=spread>{spread}</p><p id=spaced>{html.escape(" ".join(password))}</p>
<p id=invisible>{html.escape(chr(0x200B).join(password))}</p><p id=upper>{html.escape(password.upper())}</p>
<p id=reversed>{html.escape(password[::-1])}</p><p id=base64>{base64.b64encode(password.encode()).decode()}</p>
<p id=url>{html.escape(quote(password, safe=""))}</p><p id=json>{html.escape(json.dumps(password))}</p>
<section>{blocks}</section><table><tr>{cells}</table><ul id=items>{items}</ul><nav>{buttons}</nav>
<label>Kept <input id=kept value="{shown}"></label><textarea id=area>{shown}</textarea>
<select aria-label=Choice><option>{shown}</select>
{ask}<p><a href="/file/{quote(password, safe="")}" id=download>Download</a>
<p><a href="/broken?password={quote(password, safe="")}" id=broken>Go on</a><p id=said></p>
<script>
  const password = {literal};
  history.replaceState(null, "", "/home?password=" + encodeURIComponent(password) + "#" + encodeURIComponent(password));
  console.log("log " + password); console.error(new Error("error " + password));
  console.log({{ password, letters: [...password] }});
  localStorage.setItem("password", password); sessionStorage.setItem(password, "x");
  fetch("/missing?password=" + encodeURIComponent(password)).catch(() => 0);
  function ask() {{
    alert("Your password is " + password);
    document.querySelector("#said").textContent = "Asked " + prompt("Is it " + password + "?", password);
  }}
</script>"""


@contextmanager
def served() -> Iterator[EchoSite]:
    """The site, while the block lasts."""
    site = EchoSite()

    class Handler(BaseHTTPRequestHandler):
        def answer(self, status: int, body: str, **headers: str) -> None:
            self.send_response(status)
            for name, value in {"Content-Type": "text/html; charset=utf-8", **headers}.items():
                self.send_header(name.replace("_", "-"), value)
            self.send_header("Content-Length", str(len(body.encode())))
            self.end_headers()
            self.wfile.write(body.encode())

        def do_GET(self) -> None:
            path = urlsplit(self.path).path
            password = site.passwords[-1] if site.passwords else ""
            if path == "/home":
                self.answer(200, home_of(password, is_redesigned=site.is_redesigned))
            elif path.startswith("/file/"):
                name = f"attachment; filename*=UTF-8''{quote('password ' + password + '.txt', safe='')}"
                self.answer(200, "a file without anything in it", Content_Disposition=name)
            elif path in ("/broken", "/missing"):
                shown = html.escape(password)
                self.answer(500, f"<!doctype html><title>Error {shown}</title><h1>No such user: {shown}</h1>")
            else:
                self.answer(200, LOGIN)

        def do_POST(self) -> None:
            form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            site.passwords.append(form["password"][0])
            cookie = f"password={quote(site.passwords[-1], safe='')}; Path=/"
            where = f"/home?password={quote(site.passwords[-1], safe='')}"
            self.answer(303, "", Location=where, Set_Cookie=cookie)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        site.url = f"http://127.0.0.1:{server.server_port}"
        yield site
        server.shutdown()
        thread.join()
