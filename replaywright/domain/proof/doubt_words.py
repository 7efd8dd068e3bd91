"""Why nobody can tell if a step took effect, in words for the person who is asked."""

import re
from collections.abc import Mapping
from typing import Final

_WORDS: Final[Mapping[str, str]] = {
    # of the page
    "page_rebuilt": "the page that it acted in is gone",
    "earlier_run": "an earlier run has left it so, in another browser",
    "earlier_chain": "it was done after other steps than today's",
    "no_expectation": "it expects nothing that its page could show",
    "held_before": "what it expects held before it, too",
    "not_seen": "its page does not show what it expects",
    "unwitnessed": "its page shows what it expects, and the site has confirmed nothing",
    "server_error": "the site answered with an error",
    "unanswered": "the site did not answer",
    "in_flight": "its request is under way",
    "broke_off": "it broke off",
    "worker_lost": "its worker was lost",
    # of the ledger
    "ledger_gap": "nobody knows what its page showed before",
    "ledger_lost": "Redis has lost records since",
    # of a question to the site
    "text_missing": "it does not show the text that `reconcile` looks for",
    "none_found": "it does not show what `reconcile` looks for",
    "empty_parameter": "a value that `reconcile` looks for is empty",
    "sign_in_page": "it asks to sign in",
    "led_elsewhere": "it led to another page",
    "changed_something": "a step of `reconcile` changed something",
    "step_unmet": "a step of `reconcile` did not come to what it expects",
    "page_crashed": "the page crashed",
    "no_answer": "the page gave no answer",
    "still_loading": "the page was still loading",
    "undecided": "the page decides nothing",
    "timeout": "it took too long",
}
_CODE: Final = re.compile(r"(?:^|(?<=: )|(?<=, and ))[a-z]+(?:_[a-z]+)*(?=[,;:]|$)")
"""A code where the reason has one: words of the page or of a rule, which it may quote, are left alone."""
_STATUS: Final = re.compile(r"(?<=: )http_(\d{3})$")


def in_words(reason: str) -> str:
    """Return the reason with words for codes, such as `page_rebuilt, and the site was asked 2 times: text_missing`.

    A code without words stands as it is.
    """
    told = _CODE.sub(lambda code: _WORDS.get(code[0], code[0]), reason)
    return _STATUS.sub(r"it answered HTTP \1", told).replace("was asked 1 times", "was asked once")
