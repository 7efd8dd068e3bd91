"""Guards of browsers that wait for a run, that several runs share, that are refused, or whose TLS the gate ends."""

from tests.mutants.mutant import Mutant

_KEEPER = "tests/adapters/test_keeper.py::"
_SHARED = "tests/unit/test_context_limits.py::"
_REMOTE = "tests/adapters/test_remote_browser.py::"
_STACK = "tests/adapters/test_stack.py::"
_ATTACHING = "tests/adapters/test_attaching.py::"
_CERTIFICATES = "tests/adapters/test_client_certificates.py::"

BROWSERS = (
    Mutant(
        "successor in whatever tab there is",
        "who attaches after a worker that was lost acts in the tab of the last step",
        "Tabs.open",
        "        self._current = next(known, None) or next(shown, self.attached[0])\n",
        "        self._current = next(shown, self.attached[0])\n",
        (_ATTACHING + "test_who_attaches_later_goes_on_in_the_tab_that_the_last_step_led_to",),
    ),
    Mutant(
        "tab of a question left to the steps",
        "a tab in which a worker that was lost asked the site is closed",
        "Tabs._close_borrowed",
        "                    await tab.page.close()\n",
        "                    pass\n",
        (_ATTACHING + "test_who_attaches_after_a_worker_that_was_killed_while_asking_acts_in_the_page_of_the_run",),
    ),
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
        "ContextLimits._of_browser",
        "        if method not in _OF_TARGET and method not in _PLAIN:",
        '        if method == "Browser.crash":',
        (
            _SHARED + "test_what_is_not_for_one_context_does_not_reach_the_browser",
            _REMOTE + "test_a_worker_makes_no_context_that_goes_round_the_proxy",
        ),
    ),
    Mutant(
        "pages of another context",
        "pages of other contexts of a shared browser do not exist for a session",
        "Multiplexer._is_hidden",
        "        return self._limits is not None and not self._limits.shows(info)",
        "        return False",
        (_REMOTE + "test_sessions_in_one_browser_see_neither_each_others_pages_nor_cookies",),
    ),
    Mutant(
        "pages of another context for the keeper",
        "the keeper neither stops nor sets up pages of other contexts of a shared browser",
        "Multiplexer._is_for_keeper",
        '        if self._limits is None or "targetInfo" not in params or self._limits.shows(params["targetInfo"]):',
        '        if self._limits is None or "targetInfo" in params:',
        (_SHARED + "test_a_target_of_another_context_that_was_stopped_for_the_keeper_goes_on_and_is_left",),
    ),
    Mutant(
        "files of the browser's host",
        "nobody opens an address of a shared browser's own host",
        "ContextLimits.commands",
        '        if urlsplit(str(params.get("url", ""))).scheme.lower() not in _SCHEMES:',
        '        if urlsplit(str(params.get("url", ""))).scheme == "telnet":',
        (_SHARED + "test_what_is_not_for_one_context_does_not_reach_the_browser",),
    ),
    Mutant(
        "any file of the worker's host",
        "a page of a remote browser is given the session's own copies of files only",
        "_inside",
        "    if not file.resolve().is_relative_to(folder.resolve()):",
        "    if not file.name:",
        (_SHARED + "test_a_page_is_asked_for_nothing_outside_it",),
    ),
    Mutant(
        "download told before it is here",
        "a download of a remote browser is complete when it is on the worker's host",
        "RemoteDownloads.on_event",
        '        if event["method"] == "Browser.downloadProgress" and params["state"] == "completed":',
        '        if params.get("state") == "never":',
        ("tests/adapters/test_remote_sessions.py::test_a_download_comes_to_the_workers_host_before_its_step_ends",),
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
