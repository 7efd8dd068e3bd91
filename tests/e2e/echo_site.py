"""A site that shows the password of whoever signed in, in every way that a page can."""

import base64
import html
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import parse_qs, quote

from tests.e2e.plain_site import Answer, Asked, led_to, serving

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

    def answer(asked: Asked) -> Answer:
        if asked.method == "POST":
            site.passwords.append(parse_qs(asked.body)["password"][0])
            given = f"password={quote(site.passwords[-1], safe='')}"
            return led_to(f"/home?{given}", **{"set-cookie": f"{given}; Path=/"})
        password = site.passwords[-1] if site.passwords else ""
        if asked.path == "/home":
            return Answer(home_of(password, is_redesigned=site.is_redesigned))
        if asked.path.startswith("/file/"):
            name = f"attachment; filename*=UTF-8''{quote('password ' + password + '.txt', safe='')}"
            return Answer("a file without anything in it", headers={"content-disposition": name})
        if asked.path in ("/broken", "/missing"):
            shown = html.escape(password)
            return Answer(f"<!doctype html><title>Error {shown}</title><h1>No such user: {shown}</h1>", 500)
        return Answer(LOGIN)

    with serving(answer) as site.url:
        yield site
