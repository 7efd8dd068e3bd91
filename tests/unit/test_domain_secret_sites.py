"""Where a secret may be entered."""

from urllib.parse import urlsplit

import pytest

from replaywright.domain.secrets.secret_sites import BoundSecret, own_site, refusal, sites_in, unbound
from replaywright.errors import InputInvalid

VARIABLE = "REPLAYWRIGHT_SECRET_PIN_DOMAINS"


def bound(text: str) -> BoundSecret:
    return BoundSecret("PIN", sites_in(text, VARIABLE))


@pytest.mark.parametrize(
    ("domains", "origin"),
    [
        ("example.com", "https://example.com"),
        ("example.com", "https://example.com:8443"),
        ("EXAMPLE.com", "https://example.com"),
        ("*.example.com", "https://a.b.example.com"),
        ("example.com:8443", "https://example.com:8443"),
        ("example.com:443", "https://example.com"),
        ("other.example,example.com", "https://example.com"),
        ("bücher.example", "https://xn--bcher-kva.example"),
        ("http://intra.example", "http://intra.example"),
        ("http://intra.example", "https://intra.example"),
        ("127.0.0.1:8025", "http://127.0.0.1:8025"),
        ("[::1]", "http://[::1]:99"),
    ],
)
def test_a_secret_may_be_entered_where_it_is_bound_to(domains: str, origin: str) -> None:
    assert bound(domains).refusal([origin]) == ""


@pytest.mark.parametrize(
    ("domains", "origin"),
    [
        ("example.com", "https://evil.example"),
        ("example.com", "https://example.com.evil.example"),
        ("example.com", "https://notexample.com"),
        ("example.com", "https://www.example.com"),
        ("*.example.com", "https://example.com"),
        ("*.example.com", "https://evilexample.com"),
        ("example.com:8443", "https://example.com"),
        ("example.com", "http://example.com"),
        ("example.com", "null"),
        ("example.com", ""),
        ("example.com", "https://example.com@evil.example"),
        ("example.com", "file:///example.com"),
        ("example.com", "data:text/html,example.com"),
        ("127.0.0.1:8025", "http://127.0.0.1:8026"),
    ],
)
def test_it_may_not_be_entered_anywhere_else(domains: str, origin: str) -> None:
    said = bound(domains).refusal([origin])

    assert said.startswith("secret-domains: secret 'PIN' may not be entered at")
    assert f"it is bound to {domains}; if it belongs there, `replaywright admin secrets bind PIN " in said


def test_every_document_around_has_to_belong_too() -> None:
    secret = bound("example.com")

    assert secret.refusal(["https://example.com", "https://example.com"]) == ""
    assert "evil.example" in secret.refusal(["https://example.com", "https://evil.example"])
    assert "evil.example" in secret.refusal(["https://example.com", "https://evil.example", "https://example.com"])


def test_where_no_document_is_known_nothing_is_entered() -> None:
    assert bound("example.com").refusal([]) != ""


def test_all_secrets_of_a_text_have_to_belong() -> None:
    other = BoundSecret("KEY", sites_in("other.example", "V"))

    assert "'KEY'" in refusal([bound("example.com"), other], ["https://example.com"])


@pytest.mark.parametrize(
    ("url", "origin", "belongs"),
    [
        ("https://shop.example/cart", "https://shop.example", True),
        ("https://shop.example/", "https://www.shop.example", True),
        ("https://www.shop.example/", "https://shop.example", True),
        ("https://shop.example/", "https://login.shop.example", True),
        ("http://shop.example/", "https://shop.example", True),
        ("http://shop.example/", "http://shop.example", True),
        ("https://shop.example/", "http://shop.example", False),
        ("https://shop.example/", "https://shop.example:8443", False),
        ("https://shop.example:8443/", "https://shop.example:8443", True),
        ("https://login.shop.example/", "https://shop.example", False),
        ("https://shop.example/", "https://evilshop.example", False),
        ("http://127.0.0.1:8025/", "http://127.0.0.1:8025", True),
        ("http://127.0.0.1:8025/", "http://127.0.0.1:8026", False),
        ("http://127.0.0.1:8025/", "http://localhost:8025", False),
    ],
)
def test_a_code_belongs_to_the_site_that_the_task_begins_at(url: str, origin: str, belongs: bool) -> None:
    assert (BoundSecret("PIN", own_site(url)).refusal([origin]) == "") is belongs


@pytest.mark.parametrize("url", ["", "about:blank", "ftp://shop.example", "https://", "https://shop.example:x"])
def test_a_task_without_a_site_enters_no_code(url: str) -> None:
    assert "bound to no host" in BoundSecret("PIN", own_site(url)).refusal(["https://shop.example"])


@pytest.mark.parametrize(
    ("url", "pattern"),
    [
        ("https://Shop.example/login?x=1", "shop.example"),
        ("https://shop.example:443/", "shop.example"),
        ("https://shop.example:8443/", "shop.example:8443"),
        ("http://shop.example/", "http://shop.example"),
        ("http://127.0.0.1:8025/", "127.0.0.1:8025"),
        ("http://[::1]:8025/", "[::1]:8025"),
    ],
)
def test_an_unbound_secret_is_refused_with_the_command_that_binds_it_to_that_very_site(url: str, pattern: str) -> None:
    origin = "{0.scheme}://{0.netloc}".format(urlsplit(url)).lower()

    assert f"`replaywright admin secrets bind PIN {pattern}`" in BoundSecret("PIN", ()).refusal([origin])
    assert BoundSecret("PIN", sites_in(pattern, "test")).refusal([origin]) == ""


@pytest.mark.parametrize("url", ["", "about:blank", "https://u:p@shop.example/", "https://a.example\\@b.example"])
def test_what_is_no_address_is_not_suggested(url: str) -> None:
    assert "secrets bind PIN HOST`" in unbound("PIN", url)


@pytest.mark.parametrize(
    "text", ["", " , ", "https://a.example/path", "a b", "*", "*.", "exa*mple.com", "a.example:0", "a.example:99999",
             "*.127.0.0.1", "[::g]", "u@a.example", "*.*.example", "-.example"],
)  # fmt: skip
def test_what_is_no_domain_is_refused_with_the_variable(text: str) -> None:
    with pytest.raises(InputInvalid, match=VARIABLE):
        sites_in(text, VARIABLE)
