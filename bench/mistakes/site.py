"""The shop at which the mistakes are made; it sells lunch, and one path of it answers with the site's own fault."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import parse_qs

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

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
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    made = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    signed = made.not_valid_before(now).not_valid_after(now + timedelta(days=1)).sign(key, hashes.SHA256())
    kept = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path = folder / "shop.pem"
    path.write_bytes(kept + signed.public_bytes(Encoding.PEM))
    return path
