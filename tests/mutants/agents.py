"""Guards of the server for agents: what an agent decides, starts, is told, and who is served."""

from tests.mutants.mutant import Mutant

_AGENTS = "tests/unit/test_agents.py::"
_CLIENTS = "tests/e2e/test_agents.py::"
_TRIGGERS = "tests/e2e/test_triggers.py::"

AGENTS = (
    Mutant(
        "approvals by agents",
        "an agent decides what it was granted, and no more",
        "permitted",
        '    if granted and question.wants != "code":',
        "    if True:",
        (
            _AGENTS + "test_codes_and_captchas_cannot_be_granted",
            _AGENTS + "test_a_refusal_names_the_grant_that_would_allow_it",
        ),
    ),
    Mutant(
        "codes by agents",
        "no grant is for a code",
        "permitted",
        ' and question.wants != "code":',
        ":",
        (_AGENTS + "test_a_code_is_for_a_person_whatever_asks_for_it",),
    ),
    Mutant(
        "another request's run",
        "an id that another request has used is refused",
        "_is_there",
        "    if await memo_of(execution, REQUEST) != digest:",
        "    if False:",
        (_CLIENTS + "test_a_task_is_run_with_progress_and_a_repeated_request_starts_nothing",),
    ),
    Mutant(
        "answers to a later question",
        "an agent answers the question that it was told",
        "Handling._answered",
        "        if question.id != call.question:",
        "        if False:",
        (_CLIENTS + "test_what_a_person_has_to_approve_is_not_approved_by_the_agent_unless_it_was_granted",),
    ),
    Mutant(
        "runs resumed again",
        "a run that was resumed is not resumed again by the same call",
        "Handling._resumed",
        "        if latest.id != named.id:",
        "        if False:",
        (_CLIENTS + "test_a_run_is_cancelled_and_resumed_once_however_often_it_is_asked",),
    ),
    Mutant(
        "agents without the token",
        "HTTP is served to whoever has the token",
        "TokenGuard.__call__",
        "            if not hmac.compare_digest(given, self._expected):",
        "            if False:",
        (_AGENTS + "test_only_the_token_opens_the_server",),
    ),
    Mutant(
        "webhooks of anybody",
        "a webhook starts a run only with its signature",
        "Triggers._verified",
        "            hook.verify(body, headers)",
        "            pass",
        (_TRIGGERS + "test_a_webhook_starts_a_run_once_and_only_with_its_signature",),
    ),
    Mutant(
        "page text outside of its fence",
        "what may come from a page is fenced",
        "as_data",
        "sections({'page': told})",
        "told",
        (_AGENTS + "test_what_pages_say_cannot_leave_its_fence",),
    ),
)
