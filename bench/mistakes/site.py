"""The shop at which the mistakes are made; it sells lunch, and one path of it answers with the site's own fault."""

import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs

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


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        name = self.path.partition("?")[0].rpartition("/")[2]
        body = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
        if name == "broken":
            self._answer(503, _HEAD + "<p>The kitchen is closed.</p>")
        elif name == "order":
            self._answer(200, _HEAD + _ordered(body))
        elif name in _PAGES:
            self._answer(200, _HEAD + _PAGES[name])
        else:
            self._answer(404, _HEAD + "<p>There is no such page.</p>")

    def do_POST(self) -> None:
        self.do_GET()

    def _answer(self, status: int, page: str) -> None:
        content = page.encode()
        self.send_response(status)
        self.send_header("content-type", "text/html; charset=utf-8")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def serving(folder: Path | None = None) -> Iterator[str]:
    """Serve the shop on a free port; with a `folder`, under TLS with a certificate that nobody knows."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    host = f"127.0.0.1:{server.server_port}"
    if folder is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(_certificate(folder))
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield host
    finally:
        server.shutdown()
        server.server_close()


def _certificate(folder: Path) -> Path:
    path = folder / "shop.pem"
    kind = ("-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1")
    files = ("-keyout", str(path), "-out", f"{path}.crt")
    subprocess.run(
        [shutil.which("openssl") or "openssl", "req", "-x509", *kind, *files], check=True, capture_output=True
    )
    path.write_text(path.read_text() + Path(f"{path}.crt").read_text())
    return path
