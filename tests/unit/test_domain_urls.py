"""Addresses of pages: read as browsers read them, refused where two readers could differ."""

import pytest
from ada_url import URL
from hypothesis import given
from hypothesis import strategies as st

from replaywright.domain.common.urls import canonical_name, origin_of, web_address
from replaywright.errors import InputInvalid


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://shop.example", "https://shop.example:443"),
        ("HTTP://Shop.Example:8080/a?b#c", "http://shop.example:8080"),
        ("  https://shop.example/search?q=a b&path=C:\\x  ", "https://shop.example:443"),
        ("https://shop.example/@user", "https://shop.example:443"),
        ("https://shop.example./", "https://shop.example:443"),
        ("https://Bücher.example/", "https://xn--bcher-kva.example:443"),
        ("https://xn--bcher-kva.example/", "https://xn--bcher-kva.example:443"),
        ("https://straße.example/", "https://xn--strae-oqa.example:443"),
        ("http://127.0.0.1:8000/", "http://127.0.0.1:8000"),
        ("http://[::1]:8000/", "http://[::1]:8000"),
        ("http://[0:0:0:0:0:0:0:1]/", "http://[::1]:80"),
        ("http://my_host/", "http://my_host:80"),
    ],
)
def test_an_address_is_known_by_what_a_browser_makes_of_it(url: str, origin: str) -> None:
    assert web_address(url).origin == origin


REFUSED = {
    "file:///etc/passwd": "only http and https",
    "view-source:http://shop.example/": "only http and https",
    "data:text/html,<h1>x": "only http and https",
    "blob:http://shop.example/1": "only http and https",
    "javascript:alert(1)": "only http and https",
    "chrome://version": "only http and https",
    "devtools://devtools/bundled/inspector.html": "only http and https",
    "ftp://shop.example/": "only http and https",
    "about:blank": "only http and https",
    "shop.example": "write the whole address",
    "//shop.example/": "write the whole address",
    "http:shop.example": "write the whole address",
    "http:/shop.example": "write the whole address",
    "http:///shop.example": "names no host",
    "http://": "names no host",
    "": "write the whole address",
    "http://user@shop.example/": "user name or a password",
    "http://shop.example:80@evil.example/": "user name or a password",
    "http://shop.example\\@evil.example/": "slashes",
    "http:\\\\shop.example/": "only http and https",
    "http://shop.example/a\\b": "slashes",
    "http://evil。example/": "dots of another script",
    "http://evil．example/": "dots of another script",
    "http://evil｡example/": "dots of another script",
    "http://sh\top.example/": "control characters",
    "http://shop.example/a\nb": "control characters",
    "http://shop.example/\x7f": "control characters",
    "\x00http://shop.example/": "control characters",
    "http://2130706433/": "browsers read its host as 127.0.0.1",
    "http://0x7f000001/": "browsers read its host as 127.0.0.1",
    "http://0177.0.0.1/": "browsers read its host as 127.0.0.1",
    "http://127.1/": "browsers read its host as 127.0.0.1",
    "http://127.0.0.1./": "browsers read its host as 127.0.0.1",
    "http://１２７.0.0.1/": "browsers read its host as 127.0.0.1",
    "http://ｓhop.example/": "browsers read its host as shop.example",
    "http://sh\u00adop.example/": "browsers read its host as shop.example",
    "http://sh\u200bop.example/": "browsers read its host as shop.example",
    "http://①.example/": "browsers read its host as 1.example",
    "http://shop%2eexample/": "percent-encoded",
    "http://shop..example/": "no name",
    "http://" + "a" * 64 + ".example/": "no name",
    "http://" + "a." * 127 + "example/": "no name",
    "http://shop!.example/": "no name",
    "http://256.1.1.1/": "no address that a browser opens",
    "http://shop.example:65536/": "no address that a browser opens",
    "http://shop.example:0/": "no port 0",
    "http://shop.example:1a/": "no address that a browser opens",
    "http://[::1/": "no address that a browser opens",
    "http://[fe80::1%25eth0]/": "percent-encoded",
    "http://sh op.example/": "no address that a browser opens",
    "http://shop.example|evil/": "no address that a browser opens",
}


@pytest.mark.parametrize("url", REFUSED)
def test_an_address_that_could_be_read_in_two_ways_is_refused(url: str) -> None:
    with pytest.raises(InputInvalid) as refused:
        web_address(url, "steps[0].url")

    assert str(refused.value).startswith("steps[0].url: ")
    assert REFUSED[url] in str(refused.value)
    assert origin_of(url) == ""


def test_a_refusal_repeats_neither_password_nor_query() -> None:
    with pytest.raises(InputInvalid) as refused:
        web_address("https://ada:hunter2@shop.example/a?token=s3cret")

    assert "hunter2" not in str(refused.value)
    assert "s3cret" not in str(refused.value)
    assert "@shop.example/a" in str(refused.value)


hosts = st.text("ab1.-_%@:[]/\\?#\t\u3002\uff0eéß\u200d0x", max_size=20)


@given(st.one_of(st.text(max_size=40), hosts.map("http://{}/".format), hosts.map("https://shop.example{}".format)))
def test_whatever_is_accepted_a_browser_reads_just_so_and_everything_else_is_a_clear_refusal(url: str) -> None:
    refusal, address = "url: ", None
    try:
        address = web_address(url)
    except InputInvalid as exc:
        refusal = str(exc)
    assert refusal.startswith("url: ")
    if address is None:
        return
    browsers = URL(url)
    assert browsers.hostname.strip("[]").rstrip(".") == address.host
    assert browsers.username == browsers.password == ""
    assert browsers.href == address.url
    assert web_address(address.url) == address


@given(st.text(max_size=40))
def test_a_name_is_canonical_or_none(host: str) -> None:
    name = canonical_name(host)

    assert name is None or (name.isascii() and name == canonical_name(name) == name.lower())
