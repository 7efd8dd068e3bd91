"""Guards of browsers that were started before a run asks for one, and of those that several runs share."""

from tests.mutants.mutant import Mutant

_KEEPER = "tests/adapters/test_keeper.py::"
_SHARED = "tests/unit/test_context_filter.py::"
_REMOTE = "tests/adapters/test_remote_browser.py::"

BROWSERS = (
    Mutant(
        "spare browser used as it is",
        "nobody drives a spare browser that was not taken for a session, with the session's policy",
        "Keeper._hand_over",
        "            case AttachRequest() | LendRequest() if self._is_spare:",
        "            case AttachRequest() | LendRequest() if self._is_spare is None:",
        (_KEEPER + "test_a_spare_browser_reaches_nothing_and_lets_nobody_attach_before_it_is_taken",),
    ),
    Mutant(
        "spare browser without the session's policy",
        "a spare browser that is taken gets the policy of its session",
        "Keeper._take",
        "        self._guard.begin(request.network)\n",
        "",
        (_KEEPER + "test_a_spare_browser_reaches_nothing_and_lets_nobody_attach_before_it_is_taken",),
    ),
    Mutant(
        "session ended as a spare",
        "who makes room ends no browser that is a session's by now",
        "Keeper._handle",
        "                if request.only_spare and not self._is_spare:",
        "                if request.only_spare and self._is_spare is None:",
        (_KEEPER + "test_a_spare_browser_reaches_nothing_and_lets_nobody_attach_before_it_is_taken",),
    ),
    Mutant(
        "command for a whole shared browser",
        "a session of a shared browser commands what is in its context only",
        "ContextFilter.filter_command",
        "        elif method not in _OF_TARGET and method not in _PLAIN:",
        '        elif method == "Browser.crash":',
        (
            _SHARED + "test_what_is_not_for_one_context_does_not_reach_the_browser",
            _REMOTE + "test_a_worker_makes_no_context_that_goes_round_the_proxy",
        ),
    ),
    Mutant(
        "pages of another context",
        "pages of other contexts of a shared browser do not exist for a session",
        "ContextFilter.filter_message",
        '            case "Target.attachedToTarget" if not self._is_ours(params["targetInfo"]):',
        '            case "Target.attachedToTarget" if not params["targetInfo"]:',
        (
            _SHARED + "test_a_target_of_another_context_goes_on_and_is_not_shown",
            _REMOTE + "test_sessions_in_one_browser_see_neither_each_others_pages_nor_cookies",
        ),
    ),
    Mutant(
        "remote browser past the proxy",
        "a remote browser that does not come to the proxy is not used",
        "Keeper._context_of",
        " await asyncio.wait_for(knocked, KNOCK_S))",
        " knocked.done())",
        (_REMOTE + "test_a_browser_that_does_not_come_to_the_proxy_is_not_used",),
    ),
    Mutant(
        "remote browser that sends datagrams",
        "a remote browser whose pages can send datagrams past the proxy is not used",
        "RemoteChromium.refuse_datagrams",
        "        if heard.any:",
        "        if heard is None:",
        (_REMOTE + "test_a_browser_whose_pages_send_datagrams_past_the_proxy_is_not_used",),
    ),
)
