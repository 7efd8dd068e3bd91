"""Where a secret may be entered."""

import pytest

from replaywright.domain.secret_sites import BoundSecret, own_site, refusal, sites_in
from replaywright.errors import InputInvalid

VARIABLE = "REPLAYWRIGHT_SECRET_PIN_DOMAINS"


def bound(text: str) -> BoundSecret:
    return BoundSecret("PIN", sites_in(text, VARIABLE), declared=True)


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
    assert said.endswith(f"add the domain to {VARIABLE}")


def test_every_document_around_has_to_belong_too() -> None:
    secret = bound("example.com")

    assert secret.refusal(["https://example.com", "https://example.com"]) == ""
    assert "evil.example" in secret.refusal(["https://example.com", "https://evil.example"])
    assert "evil.example" in secret.refusal(["https://example.com", "https://evil.example", "https://example.com"])


def test_where_no_document_is_known_nothing_is_entered() -> None:
    assert bound("example.com").refusal([]) != ""


def test_all_secrets_of_a_text_have_to_belong() -> None:
    other = BoundSecret("KEY", sites_in("other.example", "V"), declared=True)

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
def test_without_a_binding_it_belongs_to_the_tasks_own_site(url: str, origin: str, belongs: bool) -> None:
    assert (BoundSecret("PIN", own_site(url)).refusal([origin]) == "") is belongs


@pytest.mark.parametrize("url", ["", "about:blank", "ftp://shop.example", "https://", "https://shop.example:x"])
def test_a_task_without_a_site_enters_no_secret_that_is_not_bound(url: str) -> None:
    said = BoundSecret("PIN", own_site(url)).refusal(["https://shop.example"])

    assert "the task's own site (none)" in said


@pytest.mark.parametrize(
    "text", ["", " , ", "https://a.example/path", "a b", "*", "*.", "exa*mple.com", "a.example:0", "a.example:99999",
             "*.127.0.0.1", "[::g]", "u@a.example", "*.*.example", "-.example"],
)  # fmt: skip
def test_what_is_no_domain_is_refused_with_the_variable(text: str) -> None:
    with pytest.raises(InputInvalid, match=VARIABLE):
        sites_in(text, VARIABLE)
