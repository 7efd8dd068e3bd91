"""Evaluation of override rules on a page, by one call to each of its frames."""

import math
import time
from collections.abc import Sequence

from replaywright.browser.devtools.cdp import CdpFailed
from replaywright.browser.devtools.channel import Tab, script_for
from replaywright.browser.reading.named_frames import named
from replaywright.browser.step.attempt import joined
from replaywright.domain.page.observed import AssertionContext, Probe, ProbeResult
from replaywright.domain.predicate.predicates import probes_of
from replaywright.domain.step.overrides import OverrideRule, due_in

ANSWER_S = 0.25
"""A frame that has not answered by then has no say. It answers in a few milliseconds unless a script keeps it busy."""
FRAMES_LIMIT = 50
"""Limit of frames that are asked, outer ones first."""
_FIRST_AGAIN_S = 0.25
"""Wait before override rules are evaluated a second time; it doubles each time."""


async def due(tab: Tab, rules: Sequence[OverrideRule]) -> tuple[OverrideRule, ...]:
    """Return the `rules` whose `when` holds in `tab`; none while the top document does not answer."""
    probes = probes_of(rule.when for rule in rules if rule.when is not None)
    answers = await _answers(tab, probes) if probes else ()
    if answers is None:
        return ()
    context = AssertionContext(url=tab.url, title=tab.title, probes=tuple(zip(probes, answers, strict=True)))
    return due_in(rules, context)


async def _answers(tab: Tab, probes: Sequence[Probe]) -> tuple[ProbeResult, ...] | None:
    frames = tab.worlds()[:FRAMES_LIMIT]
    script = script_for("probe", [probe.model_dump(by_alias=True, exclude_none=True) for probe in probes])
    answers = await tab.call_all(frames, script, timeout_s=ANSWER_S)
    if tab.main not in frames or isinstance(answers[frames.index(tab.main)], CdpFailed):
        return None
    parts = {
        frame.id: answer for frame, answer in zip(frames, answers, strict=True) if not isinstance(answer, CdpFailed)
    }
    found: list[ProbeResult] = []
    for number, probe in enumerate(probes):
        meant = await named(tab, probe.frame) if probe.frame else parts.keys()
        found.append(joined([ProbeResult.model_validate(part[number]) for key, part in parts.items() if key in meant]))
    return tuple(found)


class RuleSchedule:
    """Schedule of override rules for a covered or missing element: at once, then with growing intervals.

    A cover or its frame may load content without any message to the attempt.
    """

    def __init__(self) -> None:
        self._stuck: object = None
        self._next = math.inf
        self._wait = _FIRST_AGAIN_S

    def pause(self) -> float:
        """Return the seconds until the next evaluation."""
        return max(0.0, self._next - time.monotonic())

    def are_due_to_be_asked(self, stuck: object) -> bool:
        """Return whether to evaluate now; `stuck` identifies the obstacle, None without one."""
        now = time.monotonic()
        if stuck is None:
            self._stuck, self._next = None, math.inf
            return False
        if stuck != self._stuck:
            self._stuck, self._next, self._wait = stuck, now, _FIRST_AGAIN_S
        if now < self._next:
            return False
        self._next, self._wait = now + self._wait, self._wait * 2
        return True
