"""The shop at which the mistakes are made; it sells lunch, and one path of it answers with the site's own fault."""

import shutil
import subprocess
from pathlib import Path
from urllib.parse import parse_qs

from tests.e2e.plain_site import Answer, Asked

_HEAD = "<!doctype html><html lang=en><title>Lunch</title><main><h1>Lunch</h1>"
_ORDER = """<form method=post action=order>
<label>Your name <input name=name maxlength=20></label>
<label>Dish <select name=dish><option>Soup<option>Curry<option>Salad</select></label>
<label>Member number <input name=member value=4711 readonly></label>
<label>Voucher <input type=file name=voucher></label>
<button>Order</button> <button type=button disabled>Pay</button></form>"""
_LIST = """<table>{rows}</table><p role=status></p><script>
document.querySelectorAll("button").forEach((one) => one.onclick = () => {{
  if (!one.dataset.asks || confirm("Remove " + one.dataset.of + "?"))
    document.querySelector("[role=status]").textContent = "Removed " + one.dataset.of;
}});
</script>"""
_ROW = "<tr><td>{of}</td><td><button data-of={of}>Remove</button></td></tr>"
_PAGES = {
    "shop": _ORDER,
    "list": _LIST.format(rows="".join(_ROW.format(of=of) for of in ("Tea", "Cake"))),
    "asking": _LIST.format(rows="<tr><td><button data-of=Tea data-asks=1>Remove</button></td></tr>"),
    "covered": _ORDER + "<div id=news style='position:fixed;inset:0;background:white'>News for you</div>",
}


def _ordered(body: str) -> str:
    given = {name: values[0] for name, values in parse_qs(body, keep_blank_values=True).items()}
    if given.get("name") == "Mallory":
        return "<p role=alert>Sorry, this guest has been locked out.</p>" + _ORDER
    return f"<ul><li>{given.get('name')}: {given.get('dish')}</li></ul><p>Thank you, {given.get('name')}</p>"


def answer(asked: Asked) -> Answer:
    """Answer with one of the shop's pages, by the last part of its address."""
    name = asked.path.rpartition("/")[2]
    if name == "broken":
        return Answer(_HEAD + "<p>The kitchen is closed.</p>", 503)
    if name == "order":
        return Answer(_HEAD + _ordered(asked.body))
    if name in _PAGES:
        return Answer(_HEAD + _PAGES[name])
    return Answer(_HEAD + "<p>There is no such page.</p>", 404)


def made_certificate(folder: Path) -> Path:
    """Make a certificate that nobody knows, with its key, in one file."""
    path = folder / "shop.pem"
    kind = ("-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1")
    files = ("-keyout", str(path), "-out", f"{path}.crt")
    subprocess.run(
        [shutil.which("openssl") or "openssl", "req", "-x509", *kind, *files], check=True, capture_output=True
    )
    path.write_text(path.read_text() + Path(f"{path}.crt").read_text())
    return path
