"""Guards of browsers that wait for a run, that several runs share, that are refused, or whose TLS the gate ends."""

from tests.mutants.mutant import Mutant

_KEEPER = "tests/adapters/test_keeper.py::"
_SHARED = "tests/unit/test_context_filter.py::"
_REMOTE = "tests/adapters/test_remote_browser.py::"
_STACK = "tests/adapters/test_stack.py::"
_CERTIFICATES = "tests/adapters/test_client_certificates.py::"

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
    Mutant(
        "headless shell by its name",
        "a headless shell, which lets WebRTC round the policy, is not used",
        "chromium_version",
        "    if _HEADLESS_SHELL.search(path.name) or _HEADLESS_SHELL.search(path.resolve().name):",
        "    if not path.name:",
        (_STACK + "test_a_headless_shell_is_refused_and_doctor_says_why",),
    ),
    Mutant(
        "headless shell behind a script",
        "a headless shell that calls itself one is not used, whatever started it",
        "ChromiumProcess.wait_until_debuggable",
        '        if str(version["product"]).startswith(_HEADLESS_SHELL):',
        '        if not version["product"]:',
        (_KEEPER + "test_a_browser_that_calls_itself_a_headless_shell_is_refused",),
    ),
    Mutant(
        "TLS past the gate",
        "where TLS ends in the gate, what is sent to the site waits for the gate",
        "TlsEnd._send",
        "                await self._admit(len(data))",
        "                pass",
        (
            _CERTIFICATES + "test_nothing_reaches_a_site_that_the_gate_holds_back",
            _CERTIFICATES + "test_a_request_in_an_open_tunnel_is_held_like_any_other",
        ),
    ),
    Mutant(
        "site of a client certificate unverified",
        "a site is shown a client certificate only when its own was verified",
        "_towards_sites",
        "    context = ssl.create_default_context()\n",
        "    context = ssl._create_unverified_context()\n",
        (_CERTIFICATES + "test_a_site_whose_certificate_cannot_be_verified_is_sent_nothing",),
    ),
    Mutant(
        "TLS of every site ended",
        "TLS ends in the gate for hosts that are named, not for all",
        "ClientCertificate._are_named",
        '        if any(pattern.strip().partition(":")[0] == "*" for pattern in patterns):',
        "        if not patterns:",
        (_CERTIFICATES + "test_hosts_of_a_certificate_are_named",),
    ),
    Mutant(
        "TLS of hosts that are not named",
        "hosts that no client certificate is for keep the browser's own TLS",
        "ClientCertificates.tls_for",
        "if covers(hosts, host, port)), None)",
        "if hosts), None)",
        (_CERTIFICATES + "test_hosts_that_are_not_named_keep_the_browsers_own_tls",),
    ),
    Mutant(
        "secret options in a file",
        "passwords and keys of a keeper's options are in no file",
        "_written",
        "options.model_dump_json(exclude=SECRET_OPTIONS)",
        "options.model_dump_json()",
        ("tests/adapters/test_upstream_proxy.py::test_no_file_of_a_keeper_ever_has_the_password",),
    ),
)
